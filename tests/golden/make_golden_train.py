#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's learning-rate schedules and clipped gradients, for tests/core/optim.

    python3 tests/golden/make_golden_train.py     # with Debian's python3-torch; writes schedules.txt and clip.txt

schedules.txt: `tensor NAME float64 STEPS : rates`, the rate before the first step and after each.
clip.txt, for case C: `tensor C.gradK`, the gradients; `C.total`, what clip_grad_norm_ returned; `C.clippedK`, the gradients
after it; `C.valueK`, after clip_grad_value_ of the first ones. `C.max_norm` and `C.clip_value` are the bounds.
"""
import os
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, StepLR

torch.manual_seed(2025)
torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))


def line(file, name, t):
    shape = ",".join(str(n) for n in t.shape) or "-"
    dtype = str(t.dtype).replace("torch.", "")
    file.write("tensor %s %s %s : %s\n" % (name, dtype, shape, " ".join("%.17g" % v for v in t.reshape(-1).tolist())))


def schedule(file, name, lr, steps, make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler = make(optimizer)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    line(file, name, torch.tensor(rates, dtype=torch.float64))


def schedules():
    with open(os.path.join(HERE, "schedules.txt"), "w") as file:
        schedule(file, "step_3_0.1", 0.5, 12, lambda o: StepLR(o, 3, 0.1))
        schedule(file, "step_1_0.97", 1e-3, 20, lambda o: StepLR(o, 1, 0.97))
        schedule(file, "step_30_0.5", 0.1, 10, lambda o: StepLR(o, 30, 0.5))
        schedule(file, "cosine_10_0", 0.1, 25, lambda o: CosineAnnealingLR(o, 10))
        schedule(file, "cosine_7_0.001", 0.05, 30, lambda o: CosineAnnealingLR(o, 7, 0.001))
        schedule(file, "cosine_1_0", 0.2, 5, lambda o: CosineAnnealingLR(o, 1))


def clip(file, name, shapes, scale, max_norm, clip_value, dtype=torch.float32):
    parameters = []
    for k, shape in enumerate(shapes):
        p = torch.zeros(shape, dtype=dtype, requires_grad=True)
        p.grad = torch.randn(shape, dtype=dtype) * scale
        parameters.append(p)
        line(file, "%s.grad%d" % (name, k), p.grad)
    first = [p.grad.clone() for p in parameters]
    line(file, name + ".max_norm", torch.tensor(max_norm, dtype=torch.float64))
    line(file, name + ".clip_value", torch.tensor(clip_value, dtype=torch.float64))
    line(file, name + ".total", torch.nn.utils.clip_grad_norm_(parameters, max_norm))
    for k, p in enumerate(parameters):
        line(file, "%s.clipped%d" % (name, k), p.grad)
        p.grad = first[k]
    torch.nn.utils.clip_grad_value_(parameters, clip_value)
    for k, p in enumerate(parameters):
        line(file, "%s.value%d" % (name, k), p.grad)


def clips():
    with open(os.path.join(HERE, "clip.txt"), "w") as file:
        clip(file, "clipped", [(4, 5), (7,), ()], 3.0, 1.0, 0.5)
        clip(file, "left", [(4, 5), (7,)], 0.01, 1.0, 0.5)
        clip(file, "zero", [(3,)], 1.0, 0.0, 0.0)
        clip(file, "wide", [(6, 2), (3,)], 10.0, 2.5, 4.0, torch.float64)


if __name__ == "__main__":
    schedules()
    clips()
