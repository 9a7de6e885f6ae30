#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch's ops save for backward, as a program sees it: saved.txt, for tests/core/op/test_saved.c.

    python3 tests/golden/make_golden_saved.py        # with the PyTorch of make_golden.py; writes saved.txt beside this file

    OP NEEDS TWICE CHANGED

NEEDS: for each input 1 if it requires grad, else 0. TWICE: whether a second backward without retain_graph raises ("raises") or
not ("runs"). CHANGED: for each input, then for the output, r if changing it in place before the backward raises, else -.
"""
import itertools
import os
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


def x(*size):
    return torch.rand(*size) + 0.5


def stats(n):
    """Running statistics, which may not require grad."""
    t = torch.ones(n)
    t.is_statistics = True
    return t


def i(*values):
    return torch.tensor(values)


# Kept in step with the table of test_saved.c. Not here: matmul of (2, 3) and (2, 3, 4), which copies an operand, and avg_pool2d,
# which keeps an input that nobody reads.
OPS = {
    "add": (torch.add, [x(3), x(3)]),
    "sub": (torch.sub, [x(3), x(3)]),
    "mul": (torch.mul, [x(3), x(3)]),
    "div": (torch.div, [x(3), x(3)]),
    "pow": (torch.pow, [x(3), x(3)]),
    "add_scalar": (lambda a: a + 2, [x(3)]),
    "mul_scalar": (lambda a: a * 2, [x(3)]),
    "div_scalar": (lambda a: a / 2, [x(3)]),
    "pow_scalar": (lambda a: a ** 2, [x(3)]),
    "neg": (torch.neg, [x(3)]), "abs": (torch.abs, [x(3)]), "exp": (torch.exp, [x(3)]), "log": (torch.log, [x(3)]),
    "sqrt": (torch.sqrt, [x(3)]), "tanh": (torch.tanh, [x(3)]), "sigmoid": (torch.sigmoid, [x(3)]),
    "relu": (torch.relu, [x(3)]), "gelu": (F.gelu, [x(3)]), "clamp": (lambda a: a.clamp(0, 1), [x(3)]),
    "where": (torch.where, [torch.tensor([True, False, True]), x(3), x(3)]),
    "sum": (torch.sum, [x(3)]), "sum_dim": (lambda a: a.sum(0), [x(3)]), "mean": (torch.mean, [x(3)]),
    "max": (torch.max, [x(3)]), "max_dim": (lambda a: a.max(0).values, [x(3)]),
    "softmax": (lambda a: F.softmax(a, 0), [x(3)]), "log_softmax": (lambda a: F.log_softmax(a, 0), [x(3)]),
    "cross_entropy": (F.cross_entropy, [x(2, 3), i(0, 1)]), "mse_loss": (F.mse_loss, [x(3), x(3)]),
    "matmul": (torch.matmul, [x(2, 3), x(3, 4)]), "matmul_vector": (torch.matmul, [x(2, 3), x(3)]),
    "vector_matmul": (torch.matmul, [x(3), x(3, 2)]), "dot": (torch.matmul, [x(3), x(3)]),
    "matmul_batch": (torch.matmul, [x(2, 2, 3), x(2, 3, 4)]), "matmul_shared": (torch.matmul, [x(2, 2, 3), x(3, 4)]),
    "linear": (F.linear, [x(2, 3), x(4, 3), x(4)]), "linear_batch": (F.linear, [x(2, 2, 3), x(4, 3), x(4)]),
    "linear_without_bias": (F.linear, [x(2, 3), x(4, 3)]),
    "linear_relu": (lambda a, w, b: F.relu(F.linear(a, w, b)), [x(2, 3), x(4, 3), x(4)]),
    "conv2d": (F.conv2d, [x(1, 2, 4, 4), x(3, 2, 3, 3), x(3)]),
    "conv2d_relu_max_pool2d": (lambda a, w, b: F.max_pool2d(F.relu(F.conv2d(a, w, b)), 2), [x(1, 2, 5, 5), x(3, 2, 2, 2), x(3)]),
    "max_pool2d": (lambda a: F.max_pool2d(a, 2), [x(1, 2, 4, 4)]),
    "batch_norm": (lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b, True), [x(3, 2, 2, 2), stats(2), stats(2), x(2), x(2)]),
    "batch_norm_eval": (lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b, False), [x(3, 2, 2, 2), stats(2), stats(2), x(2), x(2)]),
    "layer_norm": (lambda a, w, b: F.layer_norm(a, (3,), w, b), [x(2, 3), x(3), x(3)]),
    "layer_norm_plain": (lambda a: F.layer_norm(a, (3,)), [x(2, 3)]),
    "attention": (F.scaled_dot_product_attention, [x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4)]),
    "dropout": (lambda a: F.dropout(a, 0.5, True), [x(3)]),
    "cat": (lambda a, b: torch.cat([a, b]), [x(3), x(3)]), "stack": (lambda a, b: torch.stack([a, b]), [x(3), x(3)]),
    "index_select": (lambda a, k: a.index_select(0, k), [x(3), i(0, 1)]), "embedding": (lambda w, k: F.embedding(k, w), [x(3, 2), i(0, 1)]),
    "clone": (torch.clone, [x(3)]), "to_double": (lambda a: a.double(), [x(3)]), "view": (lambda a: a.view(3, 1), [x(3)]),
    "transpose": (lambda a: a.t(), [x(3, 2)]), "select": (lambda a: a.select(0, 1), [x(3)]), "slice": (lambda a: a[1:], [x(3)]),
    "permute": (lambda a: a.permute(1, 0), [x(3, 2)]),
    "squeeze": (lambda a: a.squeeze(), [x(3, 1)]), "unsqueeze": (lambda a: a.unsqueeze(0), [x(3)]),
}


def leaves_of(inputs, needs):
    return [t.clone().requires_grad_(True) if n else t.clone() for t, n in zip(inputs, needs)]


def raises(backward, text):
    try:
        backward()
    except RuntimeError as error:
        assert text in str(error), error
        return True
    return False


def twice(fn, inputs, needs):
    out = fn(*leaves_of(inputs, needs))
    backward = lambda: out.backward(torch.ones_like(out))
    backward()
    return "raises" if raises(backward, "a second time") else "runs"


def changed(fn, inputs, needs, which):
    given = [t * 1 if t.requires_grad else t for t in leaves_of(inputs, needs)]  # not leaves: those may not be changed
    out = fn(*given)
    with torch.no_grad():
        target = (given + [out])[which]
        target.copy_(target.clone())
    return "r" if raises(lambda: out.backward(torch.ones_like(out)), "modified by an inplace operation") else "-"


if __name__ == "__main__":
    with open(os.path.join(HERE, "saved.txt"), "w") as f:
        for op, (fn, inputs) in OPS.items():
            for needs in itertools.product([0, 1], repeat=len(inputs)):
                if not any(needs) or any(n and (not t.is_floating_point() or hasattr(t, "is_statistics")) for t, n in zip(inputs, needs)):
                    continue
                marks = "".join(changed(fn, inputs, needs, k) for k in range(len(inputs) + 1))
                f.write("%s %s %s %s\n" % (op, "".join(map(str, needs)), twice(fn, inputs, needs), marks))
