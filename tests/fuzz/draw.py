# SPDX-License-Identifier: MIT
"""Draws random programs. A program is run in PyTorch while it is drawn, so that each call is drawn for the tensors that
are there: shapes that fit, mostly; awkward ones on purpose."""

import random

import torch

from kinds import Kinds
from oracle import Oracle
from shapes import FLOATS, INTS, LIMIT, accepts, product, short, size_text
from table import ROWS, Statement


class Draw(Kinds):
    """One program: the methods of Kinds draw its arguments."""

    def __init__(self, seed, style=None, only=None):
        r = self.r = random.Random(seed)
        # Alike on every device, on the CPU alone (with indices out of range, which end a CUDA device), or on several devices.
        self.style = style or r.choices(("single", "cpu", "mixed"), (12, 1, 6))[0]
        self.places = r.choice((["cpu", "cuda:0"], ["cuda:0", "cuda:1"], ["cpu", "cuda:0", "cuda:1"])) \
            if self.style == "mixed" else [{"single": "dev", "cpu": "cpu"}[self.style]]
        self.device = {"single": "dev", "cpu": "cpu", "mixed": "none"}[self.style]
        self.streams = r.random() < {"single": 0.25, "cpu": 0, "mixed": 0.35}[self.style]
        self.oracle = Oracle(self.device)
        self.program = []
        self.counts = {"t": 0, "m": 0, "o": 0}
        self.depth = 0
        self.main = r.choices(FLOATS, (9, 8, 1, 2))[0]
        self.mean = r.random() < 0.12  # nasty numbers here and there
        self.shapes = [self.shape() for _ in range(r.randint(1, 3))]
        self.only = only

    # -- statements

    def new_name(self, letter):
        self.counts[letter] += 1
        return "%s%d" % (letter, self.counts[letter] - 1)

    def emit(self, name, args, outputs=(), values=None):
        s = Statement(list(outputs), name, args, values)
        self.oracle.index = len(self.program)
        error = self.oracle.run(len(self.program), s)
        self.program.append(s)
        return error

    def tensors(self):
        return [(n, t) for n, t in self.oracle.vars.items() if n[0] == "t" and t is not None]

    def pick(self, accept, new=0.15, recent=True):
        """The name of a variable that will do, or None."""
        if self.r.random() < new:
            return None
        found = [n for n, t in self.tensors() if accepts(accept, n, t)]
        if not found:
            return None
        if recent and self.r.random() < 0.6:
            found = found[-3:]
        return self.r.choice(found)

    def of(self, name):
        return self.oracle.vars[name]

    # -- shapes and numbers

    def extent(self):
        return self.r.choices((0, 1, 2, 3, 4, 5, 7), (1, 6, 8, 8, 4, 2, 1))[0]

    def shape(self):
        while True:
            dims = [self.extent() for _ in range(self.r.choices((0, 1, 2, 3, 4), (2, 5, 8, 4, 1))[0])]
            if product(dims) <= LIMIT // 3:
                return tuple(dims)

    def some_shape(self):
        shape = list(self.r.choice(self.shapes))
        if self.r.random() < 0.3:  # one that broadcasts against it
            shape = shape[self.r.randint(0, len(shape)):]
            shape = [1 if self.r.random() < 0.3 else n for n in shape]
        return tuple(shape) if self.r.random() < 0.9 else self.shape()

    def some_dtype(self):
        return self.r.choices((self.main, self.r.choice(FLOATS), self.r.choice(INTS)), (16, 1, 3))[0]

    def value(self, dtype, manner):
        r = self.r
        if dtype == "bool":
            return r.choice((0, 1))
        if dtype in INTS:
            return r.randint(0, 9) if dtype == "uint8" or r.random() < 0.7 else r.randint(-9, 0)
        if manner == "ties":
            return r.choice((-1, 0, 1, 1, 2))
        if manner == "positive":
            return r.randint(1, 24) / 8
        if manner == "wide":
            return r.choice((-1, 1)) * r.choice((0.001, 0.0625, 3, 40, 1000)) * r.randint(1, 7)
        if manner == "nasty" and r.random() < 0.25:
            return r.choice((float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 60000.0, -100.0))
        return r.randint(-24, 24) / 8

    def new_leaf(self, shape=None, dtype=None, device=None, requires_grad=None, manner=None):
        r = self.r
        shape = self.some_shape() if shape is None else shape
        dtype = dtype or self.some_dtype()
        manner = manner or r.choices(("eighths", "ties", "positive", "wide"), (5, 3, 5, 1))[0]
        if self.mean and r.random() < 0.3:
            manner = "nasty"
        if requires_grad is None:
            requires_grad = dtype in FLOATS and r.random() < 0.65
        values = [short(self.value(dtype, manner)) for _ in range(product(shape))]
        name = self.new_name("t")
        self.emit("tensor", {"dtype": dtype, "shape": size_text(shape), "device": device or self.place(),
                             "requires_grad": "1" if requires_grad else "0"}, [name], values)
        return name

    def same_place(self, a):
        """Does a variable stand on a's device, or may it stand beside it?"""
        where = self.oracle.where
        wrong = self.r.random() < 0.01
        return lambda n, t: wrong or where[n] == where[a] or (where[n] == "cpu" and t.dim() == 0)

    # -- programs

    def call(self, name):
        """Draws a call of a row; returns its outputs."""
        row, args = ROWS[name], {}
        for key, kind, given in row.draws:
            args[key] = str(getattr(self, kind)(*[args[g] for g in given]))
        if name in ("cat", "stack"):
            del args["a"]  # one of the items
        letter = {"MODULE": "m", "OPTIMIZER": "o"}.get(row.kind, "t")
        count = {"DO": 0, "IN_PLACE": 0, "PAIR": 2}.get(row.kind, 1)
        if row.name == "chunk":
            count = int(args["chunks"])
        if row.name == "autograd_grad":
            count = len(args["inputs"].split(","))
        outputs = [self.new_name(letter) for _ in range(count)]
        self.emit(name, args, outputs)
        return outputs

    def choose(self):
        group = self.r.choices([g for g, _ in GROUPS], [w for _, w in GROUPS])[0]
        if group == "block":
            return self.block()
        if group == "drop":
            names = [n for n, _ in self.tensors()]
            return self.emit("drop", {"a": self.r.choice(names)}) if names else None
        return self.call(self.r.choice(self.only or ROWS_OF[group]))

    def block(self):
        if self.depth and self.r.random() < 0.6:
            self.depth -= 1
            return self.emit("end", {})
        self.depth += 1
        if self.streams and self.r.random() < 0.8:
            return self.emit("stream", {"number": str(self.r.randint(1, 3)),
                                        "device": self.r.choice([p for p in self.places if p != "cpu"])})
        return self.emit("no_grad" if self.r.random() < 0.8 else "enable_grad", {})

    def whole(self, length):
        """A program of about so many statements, with a backward at its end."""
        self.new_leaf()
        while len(self.program) < length:
            self.choose()
        while self.depth:
            self.depth -= 1
            self.emit("end", {})
        if self.r.random() < 0.8:
            self.call("backward")
            if self.r.random() < 0.15:
                self.call("step")
        self.oracle.report()
        self.oracle.close()
        return self.program


def group_of(row):
    if row.name in ("tensor", "zeros", "ones", "full", "eye", "arange", "linspace", "randint", "zeros_like", "ones_like",
                    "full_like"):
        return "leaf"
    if row.kind in ("MODULE", "OPTIMIZER") or "m" in row.types or "o" in row.types:
        return "module"
    if row.name in ("to", "to_both", "to_dtype", "clone", "copy_", "copy_async_"):
        return "move"
    if row.name in AUTOGRAD:
        return "autograd"
    return {"VIEW": "view", "SEVERAL": "view", "IN_PLACE": "in_place"}.get(row.kind, "call")


AUTOGRAD = ("backward", "autograd_grad", "requires_grad_", "retain_grad", "register_hook", "leaf_hook", "set_grad", "grad")
GROUPS = (("leaf", 1), ("call", 14), ("view", 8), ("in_place", 6), ("autograd", 6), ("move", 3), ("module", 1), ("block", 2),
          ("drop", 2))

# What PyTorch 1.13 has not got: hooks on leaves, checkpoint_sequential without reentrance.
NEW = () if hasattr(torch.Tensor, "register_post_accumulate_grad_hook") else ("leaf_hook", "checkpoint")
ROWS_OF = {}
for _row in ROWS.values():
    if _row.name != "tensor" and _row.name not in NEW:
        ROWS_OF.setdefault(group_of(_row), []).append(_row.name)
