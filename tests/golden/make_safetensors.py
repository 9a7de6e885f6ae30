#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weights saved by PyTorch, for Ferry to load; and the check of those saved by Ferry.

    pip install safetensors==0.4.5                          # beside Debian's python3-torch
    python3 tests/golden/make_safetensors.py                # writes pytorch_*.safetensors beside this file
    python3 tests/golden/make_safetensors.py FILE...        # loads FILE... with PyTorch and shows what is in them
"""
import os
import sys
import torch
import torch.nn as nn
from safetensors import safe_open
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def make():
    torch.manual_seed(7)
    model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(3 * 4 * 4, 5))
    x = torch.randn(4, 1, 8, 8)
    model(x)  # the running statistics are no longer zeros and ones
    model.eval()
    y = model(x).detach()
    save_file(model.state_dict(), os.path.join(HERE, "pytorch_model.safetensors"), metadata={"format": "pt"})
    values = torch.tensor([[1.5, -2.0, 0.25], [3.0, 0.0, -0.5]])
    tensors = {"x": x, "y": y, "double": values.double(), "half": values.half(), "bfloat16": values.bfloat16(),
               "long": values.long(), "int": values.int(), "byte": values.abs().byte(), "bool": values > 0,
               "number": torch.tensor(2.5), "nothing": torch.zeros(0, 3)}
    save_file(tensors, os.path.join(HERE, "pytorch_values.safetensors"))


def show(path):
    with safe_open(path, "pt") as file:
        print(path, file.metadata())
    for name, tensor in load_file(path).items():
        print("  %-24s %-16s %s" % (name, tensor.dtype, list(tensor.shape)))


if len(sys.argv) > 1:
    for path in sys.argv[1:]:
        show(path)
else:
    make()
