"""Makes small random models of each family in `models/`, and embeds texts and images with PyTorch in `models/golden.json`.

    pip install torch transformers tokenizers safetensors pillow numpy
    python tests/reference/models.py

Weights are stored in half precision, and the reference is computed from the stored weights in single precision.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig, BertModel, CLIPImageProcessorPil, CLIPVisionConfig, CLIPVisionModelWithProjection, ConvNextConfig, ConvNextModel,
    Dinov2Config, Dinov2Model, DistilBertConfig, DistilBertModel, MPNetConfig, MPNetModel, ResNetConfig, ResNetModel,
    RobertaConfig, RobertaModel, SiglipVisionConfig, SiglipVisionModel, ViTConfig, ViTModel, XLMRobertaConfig, XLMRobertaModel,
)

HERE = Path(__file__).parent / "models"
TEXTS = [
    "My parcel is lost!", "reset my password", "", "Wörter, größer: naïve café", "the tyre is flat and the engine makes a strange noise "
    "whenever I drive faster than thirty miles an hour", "a", "平 tyre",
]
CORPUS = TEXTS + ["where is the parcel that I ordered", "I forgot the password", "change the delivery address of my parcel"]
GOLDEN = {}


def randomize(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
        if tensor.dtype not in (torch.float32,):
            continue
        random = torch.randn(tensor.shape, generator=generator)
        is_scale = tensor.ndim == 1 and name.endswith("weight") or "lambda" in name or "layer_scale" in name
        if name.endswith("running_var"):
            tensor.data = 0.5 + random.abs()
        elif is_scale:
            tensor.data = 1 + 0.2 * random
        else:
            tensor.data = random * (0.2 if tensor.ndim < 2 else 1.3 / tensor[0].numel() ** 0.5)
    return model.eval()


def save(model, name, seed):
    """Saves a model with random weights in half precision, and gives it these weights."""
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model = randomize(model, seed)
    model.save_pretrained(folder)
    path = folder / "model.safetensors"
    tensors = {key: value.half() if value.dtype == torch.float32 else value for key, value in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})
    for tensor in list(model.parameters()) + list(model.buffers()):
        if tensor.dtype == torch.float32:
            tensor.data = tensor.data.half().float()
    for extra in ("generation_config.json",):
        (folder / extra).unlink(missing_ok=True)
    return folder, model


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def wordpiece(folder, special):
    first, last, unknown, pad = special
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=110, special_tokens=[first, pad, last, unknown], show_progress=False))
    finish(tokenizer, folder, first, last)
    return tokenizer


def finish(tokenizer, folder, first, last):
    pairs = [(first, tokenizer.token_to_id(first)), (last, tokenizer.token_to_id(last))]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", pair=f"{first} $A {last} $B {last}", special_tokens=pairs)
    # As saved by some models: the padding must be ignored.
    tokenizer.enable_padding(length=40)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.no_padding()


def unigram(folder):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=110, special_tokens=special, unk_token="<unk>", show_progress=False))
    finish(tokenizer, folder, "<s>", "</s>")
    return tokenizer


def bytes_bpe(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=290, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    finish(tokenizer, folder, "<s>", "</s>")
    return tokenizer


@torch.no_grad()
def embed(model, tokenizer, most, pool, prompt=""):
    """Embeds each text in a batch of its own."""
    out = []
    tokenizer.enable_truncation(most)
    for text in TEXTS:
        ids = torch.tensor([tokenizer.encode(prompt + text).ids])
        out.append(pool(model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]))
    return torch.stack(out)


def texts(name, seed, model, make, most, pool, prompt=""):
    folder, model = save(model, name, seed)
    embeddings = embed(model, make(folder), most, pool, prompt)
    GOLDEN[name] = {"embeddings": np.round(embeddings.double().numpy(), 6).tolist()}
    return folder


def length_one(vector):
    return vector / vector.norm()


def sentence_encoder(folder, pooling, *, normalize=False, dense=False):
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 16, **pooling})
    if dense:
        modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    if normalize:
        modules.append({"idx": len(modules), "name": "n", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"})
    write(folder / "modules.json", modules)


small = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=40)
bert_tokens = lambda folder: wordpiece(folder, ("[CLS]", "[SEP]", "[UNK]", "[PAD]"))
sentence_tokens = lambda folder: wordpiece(folder, ("<s>", "</s>", "[UNK]", "<pad>"))

# Without modules.json: the mean, normalised; texts are cut at the model's 40 positions.
texts("bert", 1, BertModel(BertConfig(vocab_size=110, **small), add_pooling_layer=False), bert_tokens, 40, lambda rows: length_one(rows.mean(0)))

# The first token and a dense layer, cut after 9 tokens.
dense = torch.nn.Linear(16, 6)
randomize(dense, 20)
dense.load_state_dict({key: value.half().float() for key, value in dense.state_dict().items()})
folder = texts("bert-dense", 2, BertModel(BertConfig(vocab_size=110, hidden_act="gelu_new", **small), add_pooling_layer=False), bert_tokens, 9,
               lambda rows: torch.tanh(dense(rows[0])))
sentence_encoder(folder, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, dense=True)
write(folder / "sentence_bert_config.json", {"max_seq_length": 9, "do_lower_case": False})
write(folder / "2_Dense/config.json", {"in_features": 16, "out_features": 6, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"})
save_file({f"linear.{key}": value.half() for key, value in dense.state_dict().items()}, folder / "2_Dense/model.safetensors")

# Two poolings side by side, normalised, with a prompt.
folder = texts("xlm-roberta", 3, XLMRobertaModel(XLMRobertaConfig(vocab_size=110, pad_token_id=1, **small), add_pooling_layer=False), unigram, 38,
               lambda rows: length_one(torch.cat([rows.max(0).values, rows.mean(0)])), "query: ")
sentence_encoder(folder, {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True}, normalize=True)
write(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": "query"})

folder = texts("roberta", 4, RobertaModel(RobertaConfig(vocab_size=290, pad_token_id=1, **small), add_pooling_layer=False), bytes_bpe, 20,
               lambda rows: rows[-1])
sentence_encoder(folder, {"pooling_mode": "lasttoken"})
write(folder / "tokenizer_config.json", {"model_max_length": 20})

texts("distilbert", 5, DistilBertModel(DistilBertConfig(vocab_size=110, dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=40)),
      bert_tokens, 40, lambda rows: length_one(rows.mean(0)))
texts("mpnet", 6, MPNetModel(MPNetConfig(vocab_size=110, pad_token_id=1, **small), add_pooling_layer=False), sentence_tokens, 38,
      lambda rows: length_one(rows.mean(0)))


def image(number, width, height):
    """The same pixels as in the tests."""
    y, x, channel = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    wave = np.sin(x / 5.0 + number) + np.cos(y / 3.0 + channel)
    return np.floor(127.5 + 60 * wave).astype(np.uint8)


@torch.no_grad()
def images(name, seed, model, side, pool, preprocessing, mean=(0.5, 0.5, 0.5), deviation=(0.25, 0.5, 0.75)):
    folder, model = save(model, name, seed)
    write(folder / "preprocessor_config.json", {
        "do_resize": True, "size": {"height": side, "width": side}, "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255,
        "do_normalize": True, "image_mean": list(mean), "image_std": list(deviation), **preprocessing})
    out = []
    for number in range(3):
        pixels = (torch.tensor(image(number, side, side)).float() / 255 - torch.tensor(mean)) / torch.tensor(deviation)
        out.append(length_one(pool(model(pixels.permute(2, 0, 1)[None]))))
    GOLDEN[name] = {"side": side, "embeddings": np.round(torch.stack(out).double().numpy(), 6).tolist()}
    return folder


tiny = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=4)
images("vit", 11, ViTModel(ViTConfig(**tiny), add_pooling_layer=False), 16, lambda out: out.last_hidden_state[0, 0], {})
# Positions for 24 pixels, images of 20.
images("dinov2", 12, Dinov2Model(Dinov2Config(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, image_size=24, patch_size=4)),
       20, lambda out: out.pooler_output[0], {})
images("clip", 13, CLIPVisionModelWithProjection(CLIPVisionConfig(projection_dim=8, **tiny)), 16, lambda out: out.image_embeds[0],
       {"size": {"shortest_edge": 16}, "resample": 3, "do_center_crop": True, "crop_size": {"height": 16, "width": 16}, "image_processor_type": "CLIPImageProcessor"})
images("siglip", 14, SiglipVisionModel(SiglipVisionConfig(**tiny)), 16, lambda out: out.pooler_output[0], {})
images("convnext", 15, ConvNextModel(ConvNextConfig(hidden_sizes=[8, 12], depths=[1, 2], num_stages=2)), 32, lambda out: out.pooler_output[0],
       {"size": {"height": 32, "width": 32}})
images("resnet", 16, ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[16, 24], depths=[1, 2], layer_type="bottleneck")), 33,
       lambda out: out.pooler_output[0, :, 0, 0], {})
images("resnet-basic", 17, ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic", downsample_in_first_stage=True)), 32,
       lambda out: out.pooler_output[0, :, 0, 0], {})

# The steps before the network: images of other sizes are resized and cropped.
for width, height in [(40, 30), (21, 50)]:
    processor = CLIPImageProcessorPil.from_pretrained(HERE / "clip")
    pixels = processor(Image.fromarray(image(5, width, height)), return_tensors="np").pixel_values[0]
    GOLDEN[f"clip {width}x{height}"] = {"pixels": np.round(pixels.transpose(1, 2, 0).reshape(-1), 4).astype(float).tolist()}

(HERE / "golden.json").write_text(json.dumps(GOLDEN) + "\n")
