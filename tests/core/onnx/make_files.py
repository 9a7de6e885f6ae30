# SPDX-License-Identifier: MIT
"""Writes tests/core/onnx/files: networks by PyTorch's two exporters, with an input and what PyTorch makes of it.

PYTHON tests/core/onnx/make_files.py      with torch, onnx and onnxscript of PyPI
"""
import os
import warnings

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

FOLDER = os.path.join(os.path.dirname(__file__), "files")


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(4),
                                      nn.Conv2d(4, 4, 3, stride=2, groups=2, bias=False), nn.GELU(), nn.AvgPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))

    def forward(self, x):
        return F.log_softmax(self.classifier(self.features(x)), dim=1)


class Block(nn.Module):
    """A transformer's block, written out: linear layers of rows of rows, views, products of batches, layer norm."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.table = nn.Parameter(torch.randn(5, 8))

    def forward(self, x):  # (N, 5, 8)
        n, t, c = x.shape
        x = x + self.table
        q, k, v = (part.reshape(n, t, 2, c // 2).transpose(1, 2) for part in self.qkv(self.norm(x)).split(8, dim=2))
        scores = torch.softmax(q @ k.transpose(-2, -1) / 2.0, dim=-1)
        y = (scores @ v).transpose(1, 2).reshape(n, t, c)
        return F.gelu(self.out(y), approximate="tanh") + x


class Shapes(nn.Module):
    def forward(self, x):  # (N, 4, 6)
        first, second = x.chunk(2, dim=2)
        y = torch.cat([first, second * 2, x[:, :, 1::2]], dim=2)
        y = torch.where(y > 0.1, y, y.clamp(-0.5, 0.25)).permute(0, 2, 1)
        y = y.mean(dim=1, keepdim=True) + y.max(dim=2, keepdim=True).values - y.sum(dim=(1, 2), keepdim=True)
        picked = torch.index_select(y, 2, torch.tensor([0, 3, 3]))[:, 0].unsqueeze(-1).expand(-1, -1, 2)
        return torch.stack([picked[:, 0], picked[:, 1].abs().sqrt()], dim=1).view(x.size(0), -1)


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.head = nn.Linear(6, 3, bias=False)

    def forward(self, x):  # (N, 4), int64
        return self.head(self.embedding(x).mean(dim=1)).argmax(dim=1, keepdim=True)


def strip(path):
    """Takes out what an exporter notes of the machine that it ran on."""
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    for part in [graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
    model.ClearField("metadata_props")
    onnx.save(model, path)


def save(name, model, x, dynamo, opset, batch=True, external=False):
    path = os.path.join(FOLDER, name + ".onnx")
    options = {"dynamo": dynamo, "opset_version": opset, "input_names": ["x"], "output_names": ["y"]}
    if dynamo:
        options |= {"external_data": external, "verbose": False}
        options |= {"dynamic_shapes": ({0: torch.export.Dim.DYNAMIC},)} if batch else {}
    else:
        options |= {"dynamic_axes": {"x": {0: "N"}, "y": {0: "N"}}} if batch else {}
    torch.onnx.export(model, (x,), path, **options)
    strip(path)
    np.save(path[:-5] + ".x.npy", x.numpy())
    np.save(path[:-5] + ".y.npy", model(x).detach().numpy())


def main():
    torch.manual_seed(4)
    os.makedirs(FOLDER, exist_ok=True)
    networks = {
        "cnn": (Cnn(), torch.randn(3, 1, 20, 20)),
        "block": (Block(), torch.randn(3, 5, 8)),
        "shapes": (Shapes(), torch.randn(3, 4, 6)),
        "tokens": (Tokens(), torch.randint(0, 20, (3, 4))),
    }
    with torch.no_grad():
        cnn = networks["cnn"][0].train()  # running statistics of its own
        for _ in range(3):
            cnn(torch.randn(16, 1, 20, 20))
    for name, (model, x) in networks.items():
        model.eval()
        for dynamo, opset in ((False, 11), (False, 17), (True, 18), (True, 20)):
            save(f"{name}_{'dynamo' if dynamo else 'script'}_{opset}", model, x, dynamo, opset)
    save("cnn_fixed", *networks["cnn"], True, 20, batch=False)
    save("cnn_beside", *networks["cnn"], True, 20, external=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
