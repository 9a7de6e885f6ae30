#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch's GradScaler does in training: scaler.txt; its two ops: amp.txt, in the format of make_golden.py; and a network
that is trained under autocast: train_autocast.txt.

    python3 tests/golden/make_golden_scaler.py        # with the same PyTorch; writes all three beside this file

scaler.txt, for trace T: `tensor T.x float32 STEPS,OPTIMIZERS,N`, the gradients (of loss = sum(p x), before scaling); after each
step `T.scale`, `T.tracker` and the parameters `T.p`; `T.options`: init_scale, growth_factor, backoff_factor, growth_interval,
the bound of clip_grad_norm_ (0: none) and how many backward passes add up to a gradient.

train_autocast.txt, for the region's type T: `T.x`, `T.y`, the parameters before (`T.before.NAME`), the losses of the steps
(`T.losses`), the state afterwards (`T.after.NAME`). float16 has a scaler, of 1024 at first.
"""
import os
import torch
import torch.nn.functional as F
from make_golden import Fixed, Writer, exact
from make_golden_train import HERE, line

INF, NAN = float("inf"), float("nan")


def trace(file, name, x, init_scale, growth, backoff, interval, max_norm=0.0, passes=1):
    steps, count, n = x.shape
    parameters = [torch.ones(n, requires_grad=True) for _ in range(count)]
    optimizers = [torch.optim.SGD([p], lr=0.125, momentum=0.5) for p in parameters]
    scaler = torch.amp.GradScaler("cpu", init_scale, growth, backoff, interval)
    after = {"scale": [], "tracker": [], "p": []}
    for step in range(steps):
        for o in optimizers:
            o.zero_grad()
        for _ in range(passes):
            loss = sum((p * x[step, k] / passes).sum() for k, p in enumerate(parameters))
            scaler.scale(loss).backward()
        for o, p in zip(optimizers, parameters):
            if max_norm:
                scaler.unscale_(o)
                torch.nn.utils.clip_grad_norm_([p], max_norm)
            scaler.step(o)
        scaler.update()
        state = scaler.state_dict()
        after["scale"].append(torch.tensor(state["scale"]))
        after["tracker"].append(torch.tensor(float(state["_growth_tracker"])))
        after["p"].append(torch.stack([p.detach().clone() for p in parameters]))
    line(file, name + ".options", torch.tensor([init_scale, growth, backoff, interval, max_norm, passes], dtype=torch.float64))
    line(file, name + ".x", x)
    for key, values in after.items():
        line(file, "%s.%s" % (name, key), torch.stack(values))


def gradients(steps, count, n, wrong):
    x = torch.randint(-8, 9, (steps, count, n)).float() / 8 + 0.0625
    for step, k, value in wrong:
        x[step, k, step % n] = value
    return x


def traces():
    with open(os.path.join(HERE, "scaler.txt"), "w") as file:
        trace(file, "clean", gradients(9, 1, 3, []), 65536.0, 2.0, 0.5, 2000)
        trace(file, "growing", gradients(14, 1, 3, [(5, 0, INF)]), 8.0, 2.0, 0.5, 3)
        trace(file, "nan", gradients(8, 1, 5, [(2, 0, NAN), (3, 0, -INF), (7, 0, NAN)]), 1024.0, 4.0, 0.25, 2)
        trace(file, "each", gradients(6, 1, 2, [(4, 0, INF)]), 3.0, 1.5, 0.7, 1)
        # 1e37 times the scale is too large until the scale has come down; the step after goes through.
        trace(file, "overflow", gradients(10, 1, 3, [(k, 0, 1e37) for k in range(4)]), 256.0, 2.0, 0.5, 4)
        trace(file, "two", gradients(10, 2, 3, [(1, 0, INF), (4, 1, NAN), (7, 0, INF), (7, 1, INF)]), 16.0, 2.0, 0.5, 2)
        trace(file, "clipped", gradients(8, 2, 4, [(3, 1, INF)]), 4096.0, 2.0, 0.5, 3, max_norm=0.75)
        trace(file, "accumulated", gradients(8, 1, 4, [(2, 0, INF)]), 128.0, 2.0, 0.5, 3, passes=4)
        trace(file, "largest", gradients(4, 1, 2, []) * 1e-3, 2.0 ** 127, 2.0, 0.5, 1)


def ops():
    w = Writer("amp")
    number = lambda v, dtype=torch.float32: Fixed(torch.tensor(v, dtype=dtype))

    def unscale(g, found, inv):
        g, found = g.clone(), found.clone()
        torch._amp_foreach_non_finite_check_and_unscale_([g], found, inv)
        return g, found

    def update(scale, tracker, found, o):
        scale, tracker = scale.clone(), tracker.clone()
        torch._amp_update_scale_(scale, tracker, found, o["growth"], o["backoff"], int(o["interval"]))
        return scale, tracker

    for tag, g in [("7", exact(7)), ("3x5", exact(3, 5)), ("empty", exact(0)), ("scalar", exact())]:
        w.case("amp_unscale", tag, unscale, [g, number(0.0), number(0.25)], grad=False)
    w.case("amp_unscale", "one", unscale, [exact(4), number(0.0), number(1.0)], grad=False)
    w.case("amp_unscale", "before", unscale, [exact(4), number(1.0), number(0.5)], grad=False)
    for tag, value in [("inf", INF), ("minus_inf", -INF), ("nan", NAN)]:
        g = exact(3, 5)
        g[2, 4] = value
        w.case("amp_unscale", tag, unscale, [g, number(0.0), number(0.5)], grad=False)
    two = Fixed(torch.ones(2))
    w.case("amp_unscale", "found", unscale, [exact(2), two, number(0.5)], grad=False)
    w.case("amp_unscale", "inv", unscale, [exact(2), number(0.0), two], grad=False)
    w.case("amp_unscale", "found_double", unscale, [exact(2), number(0, torch.int32), number(0.5)], grad=False)
    w.case("amp_unscale", "inv_int", unscale, [exact(2), number(0.0), number(1, torch.int64)], grad=False)

    def case(tag, scale, tracker, found, growth=2.0, backoff=0.5, interval=3):
        o = {"growth": growth, "backoff": backoff, "interval": interval}
        w.case("amp_update_scale", tag, lambda a, b, c: update(a, b, c, o), [scale, tracker, found], o, grad=False)

    tracker = lambda n: number(n, torch.int32)
    for tag, scale, count, found in [("counts", 8.0, 0, 0.0), ("grows", 8.0, 2, 0.0), ("falls", 8.0, 2, 1.0), ("several", 8.0, 1, 2.0),
                                     ("beyond", 8.0, 7, 0.0), ("largest", 3e38, 2, 0.0), ("smallest", 1e-45, 1, 1.0)]:
        case(tag, number(scale), tracker(count), number(found))
    case("factors", number(10.0), tracker(2), number(0.0), 1.3, 0.7)
    case("factors_back", number(10.0), tracker(2), number(1.0), 1.3, 0.7)
    case("always", number(10.0), tracker(0), number(0.0), 1.5, 0.7, 1)
    case("scale_two", two, tracker(0), number(0.0))
    case("tracker_float", number(1.0), number(0.0), number(0.0))
    case("found_int", number(1.0), tracker(0), tracker(0))
    case("found_two", number(1.0), tracker(0), two)


def network():
    return torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                               torch.nn.Conv2d(4, 6, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(24, 7), torch.nn.ReLU(), torch.nn.Linear(7, 5))


def training(file, name, lower):
    model = network()
    x, y = torch.randn(9, 2, 8, 8), torch.randint(0, 5, (9,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", 1024.0, enabled=lower == torch.float16)
    line(file, name + ".x", x)
    line(file, name + ".y", y)
    for key, value in model.named_parameters():
        line(file, "%s.before.%s" % (name, key), value.detach())
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=lower):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    line(file, name + ".losses", torch.stack(losses))
    for key, value in model.state_dict().items():
        line(file, "%s.after.%s" % (name, key), value)


def trainings():
    with open(os.path.join(HERE, "train_autocast.txt"), "w") as file:
        training(file, "bfloat16", torch.bfloat16)
        training(file, "float16", torch.float16)


if __name__ == "__main__":
    traces()
    ops()
    trainings()
