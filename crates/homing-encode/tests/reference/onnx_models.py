"""Exports some of the small models in `models/` to ONNX files beside them, as `onnx/model.onnx`.

    pip install torch transformers onnx onnxscript
    python tests/reference/onnx_models.py

Their outputs must be those in `models/golden.json`, which PyTorch computed from the same weights.
"""

import json
from pathlib import Path

import onnx
import torch
from transformers import AutoModel

HERE = Path(__file__).parent / "models"


class Texts(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class Images(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixel_values):
        return self.model(pixel_values=pixel_values).last_hidden_state


def export(name, wrapper, inputs, input_names, dynamic):
    model = AutoModel.from_pretrained(HERE / name, dtype=torch.float32, attn_implementation="eager").eval()
    path = HERE / name / "onnx/model.onnx"
    path.parent.mkdir(exist_ok=True)
    torch.onnx.export(
        wrapper(model).eval(), inputs, str(path), input_names=input_names, output_names=["last_hidden_state"],
        dynamic_shapes=dynamic, dynamo=True, external_data=False, opset_version=18,
    )
    strip(path)
    print(name, path.stat().st_size)


def strip(path):
    """Removes what the exporter writes about the source code."""
    model = onnx.load(path)
    del model.metadata_props[:]
    del model.graph.metadata_props[:]
    model.doc_string = model.graph.doc_string = ""
    del model.graph.value_info[:]
    parts = [model.graph.node, model.graph.initializer, model.graph.input, model.graph.output]
    parts += [part for function in model.functions for part in (function.node, [function])]
    for part in parts:
        for item in part:
            item.doc_string = ""
            if hasattr(item, "metadata_props"):
                del item.metadata_props[:]
    onnx.save(model, path)


if __name__ == "__main__":
    batch, length = torch.export.Dim("batch", min=1, max=4096), torch.export.Dim("length", min=2, max=40)
    ids, mask = torch.full((2, 7), 5), torch.tensor([[1] * 5 + [0] * 2, [1] * 7])
    by_token = {0: batch, 1: length}
    for name in ["bert", "roberta"]:
        # Two tensors: the exporter would take one tensor for one input.
        export(name, Texts, (ids, mask), ["input_ids", "attention_mask"], (by_token, by_token))
    golden = json.loads((HERE / "golden.json").read_text())
    side = golden["vit"]["side"]
    export("vit", Images, (torch.zeros(2, 3, side, side),), ["pixel_values"], ({0: batch},))
