"""The GPT of chapters/gpt.c in PyTorch: trains it for the steps of a file that `34_fast_gpt --export FILE` wrote.

usage: gpt_in_torch.py FILE
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional as F

HEADS = 2


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, HEADS, C // HEADS).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, context, layers, width):
        super().__init__()
        self.token_table = nn.Parameter(torch.empty(vocabulary, width))
        self.position_table = nn.Parameter(torch.empty(context, width))
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = F.embedding(tokens, self.token_table) + self.position_table[: tokens.shape[1]]
        return F.linear(self.norm(self.blocks(x)), self.token_table)


def load(path):
    """The tensors of a safetensors file by name."""
    data = open(path, "rb").read()
    begin = 8 + int.from_bytes(data[:8], "little")
    types = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            part = bytearray(data[begin + first : begin + end])
            tensors[name] = torch.frombuffer(part, dtype=types[entry["dtype"]]).view(entry["shape"])
    return tensors


state = load(sys.argv[1])
tokens, targets = state.pop("tokens"), state.pop("targets")
vocabulary, width = state["token_table"].shape
layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("blocks."))
gpt = Gpt(vocabulary, len(state["position_table"]), layers, width)
gpt.load_state_dict(state)
optimizer = torch.optim.AdamW(gpt.parameters(), lr=5e-3)
for step in range(len(tokens)):
    loss = F.cross_entropy(gpt(tokens[step]).flatten(0, 1), targets[step])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}", end="\n" if step % 5 == 4 else "  ")
