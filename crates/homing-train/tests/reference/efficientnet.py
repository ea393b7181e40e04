"""Golden numbers for the EfficientNets, computed with the modules of torchvision and timm.

    python efficientnet.py efficientnet_lite0.safetensors > efficientnet.json

This script needs torch, torchvision, timm and safetensors. Images and random weights come from formulas (`noise`,
`weights`), which the Rust tests repeat.
"""

import json
import math
import sys

import numpy as np
import safetensors.torch
import timm
import torch
import torchvision

torch.manual_seed(0)


def fnv(text):
    """FNV-1a hash, 64 bits."""
    hash = 0xCBF29CE484222325
    for byte in text.encode():
        hash = (hash ^ byte) * 0x100000001B3 % 2**64
    return hash


def noise(name, count):
    """Returns numbers from -1 to 1: the low half of the name's hash plus the position, mixed with lowbias32."""
    x = np.uint32(fnv(name) % 2**32) + np.arange(count, dtype=np.uint32) * np.uint32(2654435761)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    x = x ^ (x >> np.uint32(16))
    return x.astype(np.float64) / 2**31 - 1


def weights(shapes):
    """Returns random weights by name: norms near the identity, other layers with variance 2 / inputs."""
    tensors = {}
    for name, shape in shapes.items():
        u = noise(name, math.prod(shape))
        if name.endswith("running_var"):
            values = 1 + 0.5 * u
        elif len(shape) == 1:
            one = name.endswith("weight")
            values = (1 if one else 0) + 0.1 * u
        else:
            values = math.sqrt(6 / math.prod(shape[1:])) * u
        tensors[name] = torch.tensor(values.astype(np.float32).reshape(shape))
    return tensors


def image():
    """Returns 3 x 224 x 224 pixels from 0 to 255: waves and some noise."""
    c, y, x = np.meshgrid(np.arange(3), np.arange(224), np.arange(224), indexing="ij")
    waves = np.sin(0.05 * (c + 1) * x) + np.cos(0.03 * (c + 2) * y)
    grain = noise("image", 3 * 224 * 224).reshape(3, 224, 224)
    return np.floor(127.5 + 50 * waves + 20 * grain).astype(np.float32)


def shapes(model):
    return {name: list(t.shape) for name, t in model.state_dict().items() if "num_batches" not in name}


def names_hash(model):
    """Returns a hash of all names and shapes, against which the tests check their table of names."""
    lines = sorted(f"{name} {'x'.join(map(str, shape))}\n" for name, shape in shapes(model).items())
    return f"{fnv(''.join(lines)):016x}"


def figures(features, logits):
    """Returns the five largest logits with their positions, every 97th logit and every 1,601st feature."""
    logits, features = logits.flatten().double(), features.flatten().double()
    top = torch.topk(logits, 5)
    return {
        "top": [[int(i), float(v)] for i, v in zip(top.indices, top.values)],
        "logits": [float(v) for v in logits[::97]],
        "features": [float(v) for v in features[::1601]],
    }


@torch.no_grad()
def run(model, before_last, x):
    kept = []
    hook = before_last.register_forward_hook(lambda module, inputs, output: kept.append(output))
    logits = model(x)
    hook.remove()
    return figures(kept[0], logits)


def lite0(path, x):
    """Runs timm's tf_efficientnet_lite0 with the renamed weights of the file and inputs (x - 127) / 128."""
    model = timm.create_model("tf_efficientnet_lite0", pretrained=False).eval()
    given = safetensors.torch.load_file(path)
    layers = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier"}
    block = 0
    for stage, blocks in enumerate(model.blocks):
        for repeat in range(len(blocks)):
            to = f"blocks.{stage}.{repeat}."
            parts = {"_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2"}
            parts |= {"_project_conv": "conv_pwl", "_bn2": "bn3"}
            if block == 0:
                parts = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
            layers |= {f"_blocks.{block}.{a}": to + b for a, b in parts.items()}
            block += 1
    renamed = {}
    for name, tensor in given.items():
        layer, part = name.rsplit(".", 1)
        if part != "num_batches_tracked":
            renamed[f"{layers[layer]}.{part}"] = tensor
    missing, unexpected = model.load_state_dict(renamed, strict=False)
    assert not unexpected and all("num_batches" in name for name in missing), (missing, unexpected)
    return run(model, model.blocks, (x - 127) / 128)


def b0(model, before_last, x):
    """Runs a B0 with random weights; inputs are scaled with the mean and deviation of ImageNet."""
    model.load_state_dict(weights(shapes(model)), strict=False)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    x = (x / 255 - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
    return run(model.eval(), before_last, x) | {"names": names_hash(model)}


if __name__ == "__main__":
    x = torch.tensor(image())[None]
    vision = torchvision.models.efficientnet_b0(weights=None)
    symmetric = timm.create_model("efficientnet_b0", pretrained=False)
    same = timm.create_model("tf_efficientnet_b0", pretrained=False)
    versions = f"torch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}"
    golden = {
        "source": f"efficientnet.py, {versions}",
        "image": [float(v) for v in x.flatten()[::15013]],
        "lite0": lite0(sys.argv[1], x),
        "b0 torchvision": b0(vision, vision.features[7], x),
        "b0 timm": b0(symmetric, symmetric.blocks, x),
        "b0 timm tf": b0(same, same.blocks, x),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items()]
    print("{\n" + ",\n".join(lines) + "\n}")
