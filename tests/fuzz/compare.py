# SPDX-License-Identifier: MIT
"""What differs between Ferry's answer and PyTorch's."""

import math
import re

import torch

import oracle

TOLERANCE = {"float64": (1e-7, 1e-7), "float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}
VARIABLE = ("dtype", "shape", "strides", "device", "offset", "requires_grad", "is_leaf", "grad_fn", "version", "contiguous")
NUMBERS = {"var": "values", "grad": "gradient", "saw": "gradient in a hook"}  # what has numbers, and the aspect's name
GRADIENT = ("dtype", "shape", "strides", "device")


class Difference:
    """One thing that differs: where, in what, and both answers."""

    def __init__(self, index, aspect, subject, ferry, torch):
        self.index, self.aspect, self.subject, self.ferry, self.torch = index, aspect, subject, ferry, torch
        self.history = []  # of a crash: what the process had run
        self.statement = ""  # the name of the statement that it belongs to

    def signature(self):
        return "%s %s" % (self.aspect, self.statement)

    def __str__(self):
        return "%s of %s (%s): Ferry %s | PyTorch %s" % (self.aspect, self.subject, self.statement, self.ferry, self.torch)


def key_of(line):
    words = line.split(" ", 3)
    if words[0] == "made":
        return "made", words[1], words[2]
    if words[0] in ("raise", "skip"):
        return "ran", words[1]
    return words[0], words[1]


def index_of(key):
    return int(key[1]) if key[0] in ("made", "ran") else None


def differences(statements, got, lines, values):
    """All that differs, in the order of the program; after an error on one side alone, nothing else."""
    if got and got[-1].startswith("crash "):
        return [finish(Difference(None, "crash", "program", got[-1][6:], ""), statements)]
    mine, theirs = {}, {}
    for line in got:
        mine[key_of(line)] = line
    for i, line in enumerate(lines):
        theirs[key_of(line)] = (line, values.get(i))
    found, broken_off = [], False
    for key in ordered(mine, theirs):
        a, (b, numbers) = mine.get(key), theirs.get(key, (None, None))
        before = len(found)
        if key[0] == "ran":
            found += errors(key, a, b)
            # A backward that fails has done some part of its work.
            broken_off |= (a or "").startswith("raise ") and statements[int(key[1])].name in ("backward", "autograd_grad")
            if len(found) > before and found[-1].aspect == "error":
                break
        elif broken_off and key[0] in ("grad", "hook", "saw"):
            continue
        elif a is None or b is None:
            found.append(Difference(index_of(key), "leak" if key[0] == "leak" else key[0] + " presence",
                                    key[-1], a or "nothing", b or "nothing"))
        else:
            found += fields(key, a, b, numbers)
    return [finish(d, statements) for d in found]


def ordered(mine, theirs):
    """The keys of both, statements first, by their place in the program."""
    keys = list(dict.fromkeys(list(theirs) + list(mine)))
    return sorted(keys, key=lambda k: (0, int(k[1]), k[0] != "ran") if index_of(k) is not None else (1, 0, False))


def finish(d, statements):
    """Names the statement that a difference belongs to: the one that ran, or that made the variable."""
    if d.index is not None:
        d.statement = statements[d.index].name
        return d
    name = d.subject.split(".")[0]
    for s in statements:
        if name in s.outputs:
            d.statement = s.name
    if d.aspect in ("hook calls", NUMBERS["saw"]):
        d.statement = "register_hook"
    if d.aspect in ("leak", "crash"):
        d.statement = "program"
    return d


def errors(key, a, b):
    kind_a, kind_b = (a or "ok").split(" ")[0], (b or "ok").split(" ")[0]
    if kind_a != kind_b:
        return [Difference(int(key[1]), "error", "statement " + key[1], said(a), said(b))]
    if kind_a == "skip" or a == b:
        return []
    class_a, text_a = a.split(" ", 3)[2:]
    class_b, text_b = (b.split(" ", 3) + [""])[2:4]
    text_a, text_b = in_ferrys_names(text_a), in_ferrys_names(text_b)
    found = []
    if text_b == oracle.MIXED:  # PyTorch's own words are not known here, nor which fault it would tell first
        return []
    if class_a != class_b:
        found.append(Difference(int(key[1]), "class", "statement " + key[1], class_a + ": " + text_a, class_b + ": " + text_b))
    elif text_a != text_b:
        found.append(Difference(int(key[1]), "text", "statement " + key[1], text_a, text_b))
    return found


def said(line):
    return "ok" if line is None else " ".join(line.split(" ")[2:]) or "skipped"


# PyTorch's names in messages, and Ferry's. The name of a node goes without "Backward0", as in PyTorch 2.15.
FERRYS = ((".backward() or autograd.grad()", "fy_backward() or fy_autograd_grad()"), ("var.detach()", "fy_detach(var)"),
          ("Please clone() ", "Please fy_clone() "),
 ("retain_graph=True", ".retain_graph = true"),
          ("torch.autograd.set_detect_anomaly(True, check_nan=False)", "fy_set_detect_anomaly(true)"),
          ("torch.autograd.set_detect_anomaly(True)", "fy_set_detect_anomaly(true)"))


def in_ferrys_names(text):
    for theirs, ours in FERRYS:
        text = text.replace(theirs, ours)
    text = text.replace("torch::autograd::", "")
    text = re.sub(r"\[CPU(\w+)Type ", r"[torch.\1Tensor ", text).replace("[torch.cuda.", "[torch.")
    text = text.replace('_cuda" not implemented', '_cpu" not implemented')  # a kernel's name
    return re.sub(r"([Oo]utput \d+ of \w+?)Backward(0?)(\d*)\b", r"\1\3", text)


def fields(key, a, b, numbers):
    head_a, _, tail = a.partition(" :")
    found = []
    if head_a != b:
        first = 3 if key[0] == "made" else 2
        words_a, words_b = head_a.split(" ")[first:], b.split(" ")[first:]
        if key[0] == "hook":
            return [Difference(None, "hook calls", key[1], words_a[0], words_b[0])]
        names = VARIABLE if key[0] in ("made", "var") else GRADIENT
        if len(words_a) != len(words_b):
            return [Difference(index_of(key), "output", key[-1], head_a, b)]
        for name, x, y in zip(names, words_a, words_b):
            if x != y and y != "?" and not excused(name, key, words_a, words_b):
                aspect = name if key[0] in ("made", "var") else key[0] + " " + name
                found.append(Difference(index_of(key), aspect, key[-1], x, y))
    if numbers is not None and not any(d.aspect.endswith(("shape", "dtype")) for d in found):
        dtype = b.split(" ")[2]
        if not alike(tail.split(), numbers, dtype):
            found.append(Difference(None, NUMBERS[key[0]], key[1], tail.strip(),
                                    " ".join(oracle.text_of(v) for v in numbers)))
    return found


def excused(name, key, mine, words):
    """What means nothing: the place and the strides of a tensor without elements, the stride of a dimension with one. The
    strides of a gradient count only for a leaf's, and there PyTorch takes the leaf's own."""
    shape = words[1].split(",") if words[1] != "-" else []
    if "0" in shape:
        return name in ("offset", "strides")
    if name == "strides" and words[2] == "?":
        return True
    if name == "strides":
        return key[0] == "saw" or all(n == "1" or x == y for n, x, y in zip(shape, mine[2].split(","), words[2].split(",")))
    return False


def alike(texts, numbers, dtype):
    if len(texts) != len(numbers):
        return False
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    scale = None
    for text, want in zip(texts, numbers):
        value = float(text)
        if value == want or (value != value and want != want):
            continue
        if not rtol or not math.isfinite(value) or not math.isfinite(want):
            return False
        if scale is None:
            scale = max([abs(v) for v in numbers if math.isfinite(v)] or [0])
        if abs(value - want) > atol + rtol * scale:
            return False
    return True


# ---- rounding ----------------------------------------------------------------------------------------------------------

EPS = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}


# Results of these calls are as wrong as their largest number's last place allows, zeros too.
ROUNDED = ("exp", "log", "tanh", "sigmoid", "gelu", "softmax", "log_softmax", "batch_norm", "layer_norm", "matmul", "linear", "linear_relu",
           "conv2d", "conv2d_relu_max_pool2d", "forward", "cross_entropy", "mse_loss", "mean", "mean_dim", "mean_dims",
           "avg_pool2d", "pow", "div")


def disturbing(seed):
    """Adds a few units of the last place to what was rounded, forward and backward. A number with a short mantissa is taken
    for exact, so that ties stay ties; with an odd seed not, where it is the result of a call that rounds."""
    generator = torch.Generator().manual_seed(seed)

    def noise(t):
        return torch.randint(-3, 4, t.shape, generator=generator, dtype=torch.int64).to(t.dtype) * EPS[t.dtype]

    def shaken(t):
        eighths = t.double() * 64
        return torch.where((eighths == eighths.round()) & (eighths.abs() < 2**14), t, t + t * noise(t))

    def disturb(t, name):
        if t.dtype not in EPS or t.numel() == 0:
            return
        if name == "tensor":
            if t.requires_grad and seed % 2:  # a sum of gradients that cancel
                t.register_hook(lambda g: g + noise(g) * g.abs().max() if g.numel() else None)
            return
        if not t._is_view():
            if seed % 2 and name in ROUNDED:
                finite = t.data[torch.isfinite(t.data)]
                t.data.add_(noise(t) * ((finite.abs().max() if finite.numel() else 0) or 1))
            else:
                t.data.copy_(shaken(t.data))
        if t.requires_grad and not t.is_leaf:
            t.register_hook(lambda g: shaken(g) if g.dtype in EPS else None)
    return disturb


def is_rounding(statements, device, difference, got):
    """Is a difference of numbers no larger than what a few units of the last place, here and there, make of them?"""
    texts = [float(v) for v in got.split()] if isinstance(got, str) else got
    spreads = None
    wanted = None
    for seed in range(8):
        noise = disturbing(seed) if seed else None
        lines, values = oracle.run_program(statements, device, noise)
        for i, line in enumerate(lines):
            if key_matches(line, difference):
                break
        else:
            return False
        numbers = values[i]
        dtype = line.split(" ")[2]
        if seed == 0:
            wanted, spreads = numbers, [0.0] * len(numbers)
            continue
        if len(numbers) != len(wanted):
            return False
        spreads = [max(s, distance(v, w)) for s, v, w in zip(spreads, numbers, wanted)]
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    scale = max([abs(v) for v in wanted if math.isfinite(v)] or [0])
    spreads = [max(s, e / 2) for s, e in zip(spreads, own_errors(statements, device, difference, wanted))]
    for value, want, spread in zip(texts, wanted, spreads):
        if value == want or (value != value and want != want) or spread == math.inf:
            continue
        if not math.isfinite(value) or not math.isfinite(want):
            if spread > 0.1 * max(abs(want), 1):
                continue  # as good as anything
            return False
        if abs(value - want) > 8 * spread + 4 * (atol + rtol * scale):
            return False
    return True


def distance(v, w):
    if math.isfinite(v) and math.isfinite(w):
        return abs(v - w)
    return 0 if v == w or v != v and w != w else math.inf


def own_errors(statements, device, difference, wanted):
    """How far PyTorch's numbers are from those of float64."""
    lines, values = oracle.run_program(statements, device, widened=True)
    for i, line in enumerate(lines):
        if key_matches(line, difference) and len(values[i]) == len(wanted):
            return [abs(v - w) if math.isfinite(v) and math.isfinite(w) else 0 for v, w in zip(values[i], wanted)]
    return [0] * len(wanted)


def key_matches(line, difference):
    words = line.split(" ", 2)
    return NUMBERS.get(words[0]) == difference.aspect and words[1] == difference.subject
