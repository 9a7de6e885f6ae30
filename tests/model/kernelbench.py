# SPDX-License-Identifier: MIT
"""KernelBench's problems of level 1 that are one operation of Ferry's library, and PyTorch's published times of them."""
import json
import math
import subprocess
import sys
import types

from checkouts import stored  # in tests/support

# Results folder, the commit that has it together with the problems that were timed, the GPU.
TABLES = [
    ("423217d", "H100_PCIe_LambdaLabs", "h100-pcie"),
    ("423217d", "H100_Modal", "h100"),
    ("a6dea99", "H100_together", "h100"),
    ("47f78d7", "A100_modal", "a100"),
    ("47f78d7", "A100-80GB_modal", "a100-80gb"),
    ("fcc5b17", "L40S_modal", "l40s"),
    ("fcc5b17", "L4_modal", "l4"),
    ("fcc5b17", "T4_modal", "t4"),
    ("df77b59", "A6000_babel", "a6000"),
    ("433d28b", "RTX_3090_Ti", "rtx3090ti"),
]
NUMBERS = [*range(1, 12), 13, *range(16, 57), 59, 60, 62, 63, 66, 67, 76, 80, 87, 88, 94]  # of the problems that are compared
LEAST_BYTES, LEAST_FLOP = 64e6, 1e10  # below both, the host's launches determine the time


class Shape(tuple):
    """A tensor of which only the shape is known."""

    def __mul__(self, _):
        return self

    __rmul__ = __add__ = __sub__ = __truediv__ = __mul__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self


class Anything:
    """Stands for what a problem does not need to tell its shapes."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *shape, **_):
        return Shape(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else [n for n in shape if isinstance(n, int)])

    def __mro_entries__(self, _):
        return (object,)


def shapes_of(source):
    """(Inputs, arguments of the module) of a problem."""
    torch = Anything()
    fake = {name: torch for name in ["torch", "torch.nn", "torch.nn.functional"]}
    saved = {name: sys.modules.get(name) for name in fake}
    sys.modules.update(fake)
    try:
        module = types.ModuleType("problem")
        exec(compile(source, "problem", "exec"), module.__dict__)  # pylint: disable=exec-used
        return module.get_inputs(), module.get_init_inputs()
    finally:
        for name, was in saved.items():
            if was is None:
                del sys.modules[name]
            else:
                sys.modules[name] = was


# ---- what each problem launches: (elements read, elements written, blocks), or a product (m, n, k, batch) ----------------


def volume(shape):
    return math.prod(shape)


def each(n, *kernels):
    return [("stream", read * n, written * n, 0) for read, written in kernels]


def product(inputs, transposed=""):
    a, b = inputs
    m, k = (a[-1], a[-2]) if "A" in transposed else (a[-2], a[-1])
    n = b[-2] if "B" in transposed else b[-1]
    if len(b) == 2:
        return [("product", m * volume(a[:-2]), n, k, 1)]
    return [("product", m, n, k, volume(a[:-2]))]


def batch_norm(n, blocks):
    return [("stream", n, 0, blocks), ("stream", n, n, 0)]


def reduction(x, dim, written=1):
    return [("stream", volume(x), written * volume(x) // x[dim], 0)]


def pooled(x, init, dims, average):
    kernel, stride, padding, dilation = (list(init) + [None, 0, 1])[:4] if len(init) < 2 else (list(init) + [0, 1])[:4]
    stride = stride or kernel
    dilation = 1 if average else dilation
    out = [(n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in x[-dims:]]
    written = volume(x[:-dims]) * volume(out)
    return [("stream", volume(x), written * (1 if average else 3), 0)]  # the largest ones' positions, 8 bytes each


def convolution(x, init, dims):
    channels, outputs, size = init[0], init[1], init[2]
    size = size if isinstance(size, tuple) else (size,) * dims
    rest = [v for v in init[3:] if not isinstance(v, bool)]
    stride, padding, dilation, groups = (rest + [1, 0, 1, 1][len(rest):])[:4]
    if groups != 1 or any(isinstance(v, tuple) for v in (stride, padding, dilation)):
        return None
    out = [(n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x[-dims:], size)]
    return [("product", outputs, x[0] * volume(out), channels * volume(size), 1)]


def kernels(number, inputs, init):
    """None: the problem is not compared."""
    x = inputs[0]
    n = volume(x) if isinstance(x, Shape) else 0
    rows = volume(x[:-1]) if n else 0
    if number in (1, 2, 3, 6, 7, 8, 9, 10, 11, 13):
        return "product", product(inputs)
    if number in (16, 17, 18):
        return "product", product(inputs, {16: "A", 17: "B", 18: "AB"}[number])
    if number == 4:
        return "product", [("stream", volume(x) + x[-1], rows, 0)]
    if number in (5, 19, 20, 21, 22, 26, 27, 28, 29, 31, 32):
        return "elementwise", each(n, (1, 1))
    if number == 25:
        return "elementwise", each(n, (1, 1), (2, 1))
    if number == 30:
        return "elementwise", each(n, (1, 1), (1, 1), (2, 1))
    if number == 88:
        return "elementwise", each(n, (1, 1), (1, 1), (1, 1), (2, 1), (1, 1), (1, 1), (1, 1), (2, 1))
    if number in (23, 24):
        return "softmax", [("stream", n, n, rows)]
    if number == 33:
        return "norm", batch_norm(n, x[1])
    if number == 34:
        return "norm", batch_norm(n, x[0] * x[1])
    if number == 35:
        return "norm", batch_norm(n, x[0] * init[1])
    if number == 36:
        return "norm", each(n, (1, 1), (1, 1 / x[1]), (1 + 1 / x[1], 1))
    if number == 37:
        return "norm", each(n, (1, 0), (1, 1))
    if number == 38:
        return "norm", each(n, (1, 1), (1, 0), (1, 1))
    if number == 39:
        return "norm", each(n, (1, 0), (1, 1))
    if number == 40:
        return "norm", each(n, (1, 1))
    if number in (41, 42, 43):
        return "pooling", pooled(x, init, number - 40, False)
    if number in (44, 45, 46):
        return "pooling", pooled(x, init, number - 43, True)
    if number in (47, 48, 49, 53):
        return "reduction", reduction(x, init[0])
    if number in (51, 52):
        return "reduction", reduction(x, init[0], 2)
    if number == 94:
        return "reduction", each(n, (2, 1), (1, 1), (1, 0))
    if number in (50, 55, 56, 62, 63, 80, 87):
        if number == 87:
            return "convolution", convolution(x, list(init) + [1], 2)
        if number == 50:
            return "convolution", [("product", 96, x[0] * 55 * 55, x[1] * 121, 1)] if x[-1] == 224 else None
        return "convolution", convolution(x, init, 2)
    if number in (54, 59, 60, 66):
        return "convolution", convolution(x, init, 3)
    if number in (67, 76):
        return "convolution", convolution(x, init, 1)
    return None


def is_large(launched):
    moved = sum(4 * (k[1] + k[2]) for k in launched if k[0] == "stream")
    return moved >= LEAST_BYTES or sum(2 * math.prod(k[1:]) for k in launched if k[0] == "product") >= LEAST_FLOP


def requests(gpu, launched):
    """What to ask the model for."""
    return ["%s stream %g %.10g %.10g 0" % (gpu, k[3], 4 * k[1], 4 * k[2]) if k[0] == "stream" else "%s product %d %d %d %d" % (gpu, *k[1:])
            for k in launched]


def problems(folder, commit):
    """{name: (kind, kernels)} of the problems that are compared."""
    listed = subprocess.run(["git", "-C", folder, "ls-tree", "--name-only", commit, "KernelBench/level1/"], stdout=subprocess.PIPE, check=True)
    result = {}
    for path in listed.stdout.decode().split():
        name = path.rsplit("/", 1)[1]
        number = int(name.split("_")[0]) if name.endswith(".py") else 0
        if number not in NUMBERS:
            continue
        inputs, init = shapes_of(stored(folder, path, commit))
        found = kernels(number, inputs, init)
        if found and found[1] and is_large(found[1]):
            result[name] = found
    return result


def times(folder, commit, results):
    """Seconds of each problem."""
    data = json.loads(stored(folder, "results/timing/%s/baseline_time_torch.json" % results, commit))
    return {name: row["mean"] / 1000 for name, row in data["level1"].items() if row}
