#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's own values for Ferry's tests.

    python3 tests/golden/make_golden.py        # writes *.txt beside this file

The files here were made with PyTorch 2.15.0 on a CPU (pip install torch==2.15.0). Other versions differ in error classes
and texts, and in one gradient: that of clamp at an element equal to a bound, which is 0 in 2.15 and 1 in 1.13.

One record per case, as text:

    case OP ID DTYPE [key=value ...]     DTYPE: float (all floating types), or one of int64 int32 uint8 bool
    input DTYPE SHAPE grad|- : values    DTYPE: x (the case's) or a fixed one
    output DTYPE SHAPE : values          DTYPE: x (the case's) or a fixed one
    grad_output SHAPE : values           what backward started from, of output 0
    grad K SHAPE : values                the gradient of input K
    raises CLASS: TEXT                   instead of outputs; CLASS is Python's
    end

Float cases are computed in float64 from inputs that float16 and bfloat16 hold exactly, so that one record serves every
floating type within that type's tolerance.
"""
import os
import torch
import torch.nn.functional as F

assert torch.__version__.startswith("2.15"), "the values of PyTorch %s are not those of 2.15" % torch.__version__
torch.manual_seed(2024)
torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
INTS = {"int64": torch.int64, "int32": torch.int32, "uint8": torch.uint8, "bool": torch.bool}
NAMES = {torch.float64: "x", torch.float32: "float32", torch.int64: "int64", torch.int32: "int32",
         torch.uint8: "uint8", torch.bool: "bool"}


def number(v):
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, int):
        return str(v)
    text = "%.17g" % v
    return "%.9g" % v if float("%.9g" % v) == v else text


def values(t):
    return " ".join(number(v) for v in t.detach().contiguous().reshape(-1).tolist())


def shape(t):
    return ",".join(str(n) for n in t.shape) or "-"


def exact(*size, low=-3.0, high=3.0, step=0.125):
    """Multiples of 1/8: exact in every floating type; no ties among them matter to the ops that use it."""
    n = int((high - low) / step)
    return torch.randint(0, n + 1, size).double() * step + low


def distinct(*size, step=0.125):
    """All different, so that maxima are unique."""
    n = 1
    for s in size:
        n *= s
    return (torch.randperm(n).double().reshape(size) - n // 2) * step


def settled(x, k, pool, args):
    """Inputs of conv2d + relu + max_pool2d whose windows have one clear maximum, clearly not zero: in half types too."""
    while True:
        inputs = [exact(*x, low=-1.0, high=1.0, step=0.25), exact(*k, low=-1.0, high=1.0, step=0.25), exact(k[0], low=-1.0, high=1.0)]
        conv = F.conv2d(*inputs, **args)
        windows = conv[..., :conv.shape[-2] // pool * pool, :conv.shape[-1] // pool * pool]
        windows = windows.unfold(2, pool, pool).unfold(3, pool, pool).flatten(4)
        best = windows.topk(2).values
        if (best[..., 0].abs() > 0.1).all() and (best[..., 0] - best[..., 1] > 0.05 * best[..., 0].abs()).all():
            return inputs


class Fixed:
    """An input that needs no gradient; an integer one keeps its dtype whatever the case's is."""

    def __init__(self, tensor):
        self.tensor = tensor


class Writer:
    def __init__(self, name):
        self.file = open(os.path.join(HERE, name + ".txt"), "w")
        self.count = 0

    def line(self, text):
        self.file.write(text.rstrip() + "\n")

    def case(self, op, ident, fn, inputs, args=None, dtype="float", grad=True, grad_output=None):
        args = args or {}
        self.count += 1
        tensors, follows = [], []
        for t in inputs:
            fixed = isinstance(t, Fixed)
            t = t.tensor if fixed else t
            if not fixed and dtype != "float":
                t = t.to(INTS[dtype])
            t = t.clone()
            if grad and not fixed and dtype == "float" and t.dtype == torch.float64:
                t.requires_grad_(True)
            tensors.append(t)
            follows.append(not fixed)
        tail = " ".join("%s=%s" % (k, number(v) if not isinstance(v, str) else v) for k, v in args.items())
        self.line("case %s %s %s %s" % (op, ident, dtype, tail))
        try:
            out = fn(*tensors)
        except (RuntimeError, IndexError, ValueError) as error:
            self.inputs(tensors, follows)
            self.line("raises %s: %s" % (type(error).__name__, str(error).splitlines()[0]))
            self.line("end")
            return
        outs = out if isinstance(out, (tuple, list)) else [out]
        self.inputs(tensors, follows)
        for o in outs:
            name = "x" if dtype != "float" and o.dtype == INTS[dtype] and o.dtype != torch.int64 else NAMES[o.dtype]
            self.line("output %s %s : %s" % (name, shape(o), values(o)))
        if grad and outs[0].requires_grad:
            g = exact(*outs[0].shape, low=-1.0, high=1.0) if grad_output is None else grad_output
            try:
                outs[0].backward(g)
            except RuntimeError:  # cross_entropy of (C) and (1): a forward alone
                self.line("end")
                return
            self.line("grad_output %s : %s" % (shape(g), values(g)))
            for i, t in enumerate(tensors):
                if t.grad is not None:
                    self.line("grad %d %s : %s" % (i, shape(t.grad), values(t.grad)))
        self.line("end")

    def inputs(self, tensors, follows):
        for t, f in zip(tensors, follows):
            kind = "x" if f else {torch.float64: "x"}.get(t.dtype, NAMES[t.dtype])
            self.line("input %s %s %s : %s" % (kind, shape(t), "grad" if t.requires_grad else "-", values(t)))


SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 3, 4), (2, 0, 3)]
PAIRS = [((), ()), ((0,), (0,)), ((0,), (1,)), ((7,), (7,)), ((3, 5), (3, 5)), ((3, 1), (1, 4)), ((4,), (2, 3, 4)),
         ((2, 3), ()), ((), (2, 3)), ((2, 1, 3), (4, 1)), ((1,), (5,))]


def text_of(s):
    return "x".join(map(str, s)) or "scalar"


def pointwise():
    w = Writer("pointwise")
    unary = {
        "neg": (torch.neg, {}), "abs": (torch.abs, {"low": 0.125}), "exp": (torch.exp, {}),
        "log": (torch.log, {"low": 0.125}), "sqrt": (torch.sqrt, {"low": 0.125}), "tanh": (torch.tanh, {}),
        "sigmoid": (torch.sigmoid, {}), "relu": (torch.relu, {}), "gelu": (F.gelu, {}),
    }
    for op, (fn, limits) in unary.items():
        for s in SHAPES:
            w.case(op, text_of(s), fn, [exact(*s, **limits)])
        for dtype in INTS:
            if op in ("abs", "neg", "relu") and dtype in ("uint8", "bool"):
                continue
            if op == "gelu":
                continue
            w.case(op, "3x4", fn, [torch.randint(1, 6, (3, 4))], dtype=dtype)
    w.case("isfinite", "3x5", torch.isfinite, [exact(3, 5)], grad=False)
    special = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 60.0, -60.0], dtype=torch.float64)
    for op, (fn, _) in unary.items():
        if op not in ("log", "sqrt"):
            w.case(op, "special", fn, [special], grad=False)
    w.case("log", "special", torch.log, [special.abs()], grad=False)
    w.case("sqrt", "special", torch.sqrt, [special.abs()], grad=False)
    w.case("isfinite", "special", torch.isfinite, [special], grad=False)

    binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
              "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}
    for op, fn in binary.items():
        compare = op in ("eq", "ne", "lt", "le", "gt", "ge")
        for a, b in PAIRS:
            low = 0.25 if op == "pow" else -3.0
            other = exact(*b, low=0.5 if op in ("div",) else -2.0, high=3.0)
            w.case(op, text_of(a) + "_" + text_of(b), fn, [exact(*a, low=low), other], grad=not compare)
        for dtype in INTS:
            if op == "sub" and dtype == "bool":
                w.case(op, "bool", fn, [torch.tensor([0, 1]), torch.tensor([1, 1])], dtype=dtype)
                continue
            if op == "pow" and dtype == "bool":
                continue
            w.case(op, "int", fn, [torch.randint(0, 4, (3, 4)), torch.randint(1, 4, (4,))], dtype=dtype)
        w.case(op, "mixed", fn, [exact(3, 2, low=0.25), Fixed(torch.randint(1, 3, (2,)))], grad=not compare)
        w.case(op, "wrong", fn, [exact(2, 3), exact(2, 4)])

    for op, fn in {"add": lambda x: x + 2, "sub": lambda x: x - 2, "mul": lambda x: x * 2, "div": lambda x: x / 2,
                   "pow": lambda x: x ** 2}.items():
        w.case(op + "_scalar", "whole", fn, [exact(3, 5)], {"value": 2.0})
        for dtype in ("int64", "int32", "uint8"):
            w.case(op + "_scalar", "whole", fn, [torch.randint(2, 6, (3, 4))], {"value": 2.0}, dtype=dtype)
    for op, fn in {"add": lambda x: x + 1.5, "sub": lambda x: x - 1.5, "mul": lambda x: x * 1.5,
                   "div": lambda x: x / 1.5, "pow": lambda x: x ** 1.5}.items():
        w.case(op + "_scalar", "fraction", fn, [exact(3, 5, low=0.125)], {"value": 1.5})
        w.case(op + "_scalar", "fraction", fn, [torch.randint(2, 6, (3, 4))], {"value": 1.5}, dtype="int64")
    w.case("pow_scalar", "cube", lambda x: x ** 3, [exact(3, 5)], {"value": 3.0})
    w.case("pow_scalar", "half", lambda x: x ** 0.5, [exact(3, 5, low=0.125)], {"value": 0.5})
    w.case("pow_scalar", "inverse", lambda x: x ** -1, [exact(3, 5, low=0.125)], {"value": -1.0})
    w.case("pow_scalar", "zero", lambda x: x ** 0, [exact(3, 5)], {"value": 0.0})

    inf = float("inf")
    for low, high, name in [(-1.0, 1.0, "both"), (-inf, 0.5, "max"), (0.25, inf, "min"), (1.0, -1.0, "crossed")]:
        w.case("clamp", name, lambda x: torch.clamp(x, low, high), [exact(3, 5)], {"min": low, "max": high})
    w.case("clamp", "scalar", lambda x: torch.clamp(x, -1, 1), [exact()], {"min": -1.0, "max": 1.0})
    w.case("clamp", "int", lambda x: torch.clamp(x, 1, 3), [torch.randint(0, 6, (3, 4))], {"min": 1.0, "max": 3.0}, dtype="int64")
    for a, b in PAIRS:
        c = Fixed(torch.randint(0, 2, b or ()).bool())
        w.case("where", text_of(a) + "_" + text_of(b), torch.where, [c, exact(*a), exact(*b)])
    w.case("where", "int", torch.where, [Fixed(torch.tensor([True, False])), torch.tensor([1, 2]), torch.tensor([3, 4])], dtype="int64")
    return w


def reductions():
    w = Writer("reduce")
    for s in SHAPES:
        w.case("sum", text_of(s), torch.sum, [exact(*s)])
        w.case("mean", text_of(s), torch.mean, [exact(*s)])
        if 0 not in s:
            w.case("max", text_of(s), torch.max, [distinct(*s)])
            w.case("min", text_of(s), torch.min, [distinct(*s)])
        else:
            w.case("max", text_of(s), torch.max, [distinct(*s)])
        if 0 not in s:
            w.case("argmax", text_of(s), torch.argmax, [distinct(*s)], grad=False)
            w.case("argmin", text_of(s), torch.argmin, [distinct(*s)], grad=False)
    w.case("max", "ties", torch.max, [torch.tensor([1.0, 3.0, 3.0, 2.0]).double()])
    w.case("argmax", "ties", torch.argmax, [torch.tensor([1.0, 3.0, 3.0, 2.0]).double()], grad=False)
    nan = torch.tensor([[1.0, float("nan"), 3.0], [2.0, 5.0, 4.0]], dtype=torch.float64)
    w.case("max", "nan", torch.max, [nan], grad=False)
    w.case("argmax", "nan", torch.argmax, [nan], grad=False)
    for s, dim, keep in [((3, 5), 0, 0), ((3, 5), 1, 1), ((2, 3, 4), -2, 0), ((2, 3, 4), 2, 1), ((2, 3, 4), 0, 1), ((7,), 0, 0), ((), 0, 0)]:
        args = {"dim": dim, "keepdim": keep}
        tag = "%s_dim%d_%d" % (text_of(s), dim, keep)
        w.case("sum_dim", tag, lambda x: x.sum(dim, bool(keep)), [exact(*s)], args)
        w.case("mean_dim", tag, lambda x: x.mean(dim, bool(keep)), [exact(*s)], args)
        w.case("max_dim", tag, lambda x: tuple(x.max(dim, bool(keep))), [distinct(*s)], args)
        w.case("min_dim", tag, lambda x: tuple(x.min(dim, bool(keep))), [distinct(*s)], args)
        w.case("argmax_dim", tag, lambda x: x.argmax(dim, bool(keep)), [distinct(*s)], args, grad=False)
        w.case("argmin_dim", tag, lambda x: x.argmin(dim, bool(keep)), [distinct(*s)], args, grad=False)
    w.case("sum_dim", "empty", lambda x: x.sum(1), [exact(2, 0, 3)], {"dim": 1, "keepdim": 0})
    w.case("sum_dim", "wrong", lambda x: x.sum(2), [exact(2, 3)], {"dim": 2, "keepdim": 0})
    w.case("max_dim", "nan", lambda x: tuple(x.max(1)), [nan], {"dim": 1, "keepdim": 0}, grad=False)
    for dims, keep in [((0, 2), 0), ((0, 2), 1), ((1, -1), 0), ((0, 1, 2), 1)]:
        args = {"dims": ",".join(map(str, dims)), "keepdim": keep}
        tag = "_".join(map(str, dims)) + "_%d" % keep
        w.case("sum_dims", tag, lambda x: x.sum(dims, bool(keep)), [exact(2, 3, 4)], args)
        w.case("mean_dims", tag, lambda x: x.mean(dims, bool(keep)), [exact(2, 3, 4)], args)
    for dtype in INTS:
        w.case("sum", "int", torch.sum, [torch.randint(0, 5, (3, 4))], dtype=dtype)
        w.case("sum_dim", "int", lambda x: x.sum(0), [torch.randint(0, 5, (3, 4))], {"dim": 0, "keepdim": 0}, dtype=dtype)
        if dtype != "bool":
            w.case("max", "int", torch.max, [torch.randint(0, 50, (3, 4))], dtype=dtype)
            w.case("min", "int", torch.min, [torch.randint(0, 50, (3, 4))], dtype=dtype)
            w.case("argmax", "int", torch.argmax, [torch.randperm(12).reshape(3, 4)], dtype=dtype)
            w.case("mean", "int", torch.mean, [torch.randint(0, 5, (3, 4))], dtype=dtype)

    for s, dim in [((5,), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((2, 40), 1), ((), 0)]:
        tag = "%s_dim%d" % (text_of(s), dim)
        w.case("softmax", tag, lambda x: F.softmax(x, dim), [exact(*s)], {"dim": dim})
        w.case("log_softmax", tag, lambda x: F.log_softmax(x, dim), [exact(*s)], {"dim": dim})
    w.case("softmax", "large", lambda x: F.softmax(x, 0), [torch.tensor([1000.0, 1000.0, -1000.0]).double()], {"dim": 0})
    w.case("softmax", "int", lambda x: F.softmax(x, 0), [torch.tensor([1, 2])], {"dim": 0}, dtype="int64")

    target = Fixed(torch.tensor([1, 0, 4, 2]))
    ignoring = Fixed(torch.tensor([1, -100, 4, -100]))
    for name in ("mean", "sum", "none"):
        args = {"reduction": name}
        w.case("cross_entropy", name, lambda x, t: F.cross_entropy(x, t, reduction=name), [exact(4, 5), target], args)
        w.case("cross_entropy", name + "_ignore", lambda x, t: F.cross_entropy(x, t, reduction=name), [exact(4, 5), ignoring], args)
        w.case("mse_loss", name, lambda x, t: F.mse_loss(x, t, reduction=name), [exact(3, 4), exact(3, 4)], args)
    w.case("cross_entropy", "one", F.cross_entropy, [exact(5), Fixed(torch.tensor(3))], {"reduction": "mean"})
    w.case("cross_entropy", "ignore_index", lambda x, t: F.cross_entropy(x, t, ignore_index=2), [exact(4, 5), target], {"reduction": "mean", "ignore_index": 2})
    w.case("cross_entropy", "batch", F.cross_entropy, [exact(3, 5), Fixed(torch.tensor([0, 1]))], {"reduction": "mean"})
    w.case("cross_entropy", "range", F.cross_entropy, [exact(2, 5), Fixed(torch.tensor([0, 7]))], {"reduction": "mean"})
    with torch.random.fork_rng(): # so that the cases of other files stay what they were
        layer_norms(w)
    return w


def layer_norms(w):
    for x, n in [((5,), (5,)), ((3, 7), (7,)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (2, 3, 4)), ((70, 9), (9,)),
                 ((2, 130), (130,)), ((2, 1, 1), (1,))]:
        args, tag = {"shape": ",".join(map(str, n))}, "%s_%s" % (text_of(x), text_of(n))
        run = lambda x, w=None, b=None: F.layer_norm(x, n, w, b)
        w.case("layer_norm", tag, run, [exact(*x)], args)
        w.case("layer_norm", tag + "_weight", run, [exact(*x), exact(*n)], args)
        w.case("layer_norm", tag + "_bias", lambda x, b: F.layer_norm(x, n, None, b), [exact(*x), exact(*n)], dict(args, no_weight=1))
        w.case("layer_norm", tag + "_both", run, [exact(*x), exact(*n), exact(*n)], args)
    constant = torch.full((2, 4), 1.5).double()
    w.case("layer_norm", "constant", lambda x: F.layer_norm(x, (4,)), [constant], {"shape": "4"})


def products():
    w = Writer("matmul")
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((7, 5), (5, 9)),
                 ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
                 ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((17, 33), (33, 18))]:
        w.case("matmul", text_of(a) + "_" + text_of(b), torch.matmul, [exact(*a), exact(*b)])
    w.case("matmul", "wrong", torch.matmul, [exact(2, 3), exact(4, 5)])
    w.case("matmul", "int", torch.matmul, [torch.randint(0, 5, (3, 4)), torch.randint(0, 5, (4, 2))], dtype="int64")
    for x, out in [((5, 3), 4), ((3,), 2), ((2, 4, 3), 5), ((0, 3), 4), ((20, 17), 33)]:
        n = x[-1]
        w.case("linear", text_of(x) + "_bias", F.linear, [exact(*x), exact(out, n), exact(out)])
        w.case("linear", text_of(x), F.linear, [exact(*x), exact(out, n)])
    with torch.random.fork_rng():
        for x, out in [((3, 4), 5), ((2, 3, 4), 5), ((4,), 2), ((0, 4), 5), ((3, 0), 2)]:
            tensors = [exact(*x), exact(out, x[-1]), exact(out, low=0.0625, high=2.0)]  # sums of eighths are never zero then
            w.case("linear", text_of(x) + "_bias_relu", lambda a, b, c: F.relu(F.linear(a, b, c)), tensors, {"relu": 1})
        w.case("linear", "relu", lambda a, b: F.relu(F.linear(a, b)), [exact(3, 4), exact(5, 4)], {"relu": 1})
        attentions(w)
    w.case("linear", "wrong", F.linear, [exact(32, 5), exact(2, 10), exact(2)])
    return w


def conv_pool(w):
    for tag, x, k, pool, args in [
            ("direct", (2, 1, 6, 6), (3, 1, 3, 3), 2, {"padding": 1}), ("odd", (1, 3, 7, 6), (2, 3, 3, 3), 2, {"padding": 1}),
            ("stride", (2, 2, 9, 9), (2, 2, 3, 2), 2, {"stride": 2, "padding": 1}), ("three", (1, 2, 6, 6), (5, 2, 1, 1), 3, {}),
            ("dilation", (1, 2, 8, 8), (2, 2, 3, 3), 2, {"dilation": 2, "padding": 2}),
            ("wide", (1, 8, 4, 4), (16, 8, 3, 3), 2, {"padding": 1}), ("vectors", (1, 2, 4, 4), (34, 2, 3, 3), 2, {"padding": 1})]:
        inputs, names = settled(x, k, pool, args), dict(args, kernel_size=pool)
        fused = lambda a, b, c=None: F.max_pool2d(F.relu(F.conv2d(a, b, c, **args)), pool)
        w.case("conv2d_relu_max_pool2d", tag + "_bias", fused, inputs, names)
    w.case("conv2d_relu_max_pool2d", "no_bias", lambda a, b: F.max_pool2d(F.relu(F.conv2d(a, b)), 2), [distinct(1, 1, 5, 5), exact(2, 1, 2, 2)], {"kernel_size": 2})
    # What the fused op leaves to the three: groups, overlapping windows, errors.
    w.case("conv2d_relu_max_pool2d", "channels", lambda a, b: F.max_pool2d(F.relu(F.conv2d(a, b)), 2), [exact(1, 4, 8, 8), exact(2, 3, 3, 3)], {"kernel_size": 2})
    w.case("conv2d_relu_max_pool2d", "small", lambda a, b: F.max_pool2d(F.relu(F.conv2d(a, b)), 4), [exact(1, 3, 5, 5), exact(2, 3, 3, 3)], {"kernel_size": 4})


def attentions(w):
    for q, k, v in [((5, 4), (5, 4), (5, 4)), ((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4)), ((3, 2, 4), (3, 6, 4), (3, 6, 3)), ((1, 2, 7, 3), (1, 2, 4, 3), (1, 2, 4, 3)),
                    ((2, 1, 4), (2, 1, 4), (2, 1, 4)), ((70, 3), (70, 3), (70, 2)), ((2, 0, 4), (2, 3, 4), (2, 3, 4)), ((0, 2, 4), (0, 3, 4), (0, 3, 4)), ((2, 3, 4), (2, 0, 4), (2, 0, 4))]:
        for causal in (0, 1):
            run = lambda a, b, c: F.scaled_dot_product_attention(a, b, c, is_causal=bool(causal))
            w.case("scaled_dot_product_attention", "%s_%s_%d" % (text_of(q), text_of(v), causal), run, [exact(*q), exact(*k), exact(*v)], {"is_causal": causal})
    scaled = lambda a, b, c: F.scaled_dot_product_attention(a, b, c, scale=0.25)
    w.case("scaled_dot_product_attention", "scale", scaled, [exact(2, 3, 4), exact(2, 5, 4), exact(2, 5, 4)], {"scale": 0.25})
    w.case("scaled_dot_product_attention", "vectors", F.scaled_dot_product_attention, [exact(3), exact(3), exact(3)])


def images():
    w = Writer("image")
    for tag, x, k, args in [
            ("plain", (2, 3, 6, 5), (4, 3, 3, 3), {}), ("pad", (2, 3, 6, 5), (4, 3, 3, 3), {"padding": 1}),
            ("stride", (1, 2, 7, 8), (3, 2, 3, 2), {"stride": 2, "padding": 1}), ("one", (2, 1, 5, 5), (2, 1, 1, 1), {}),
            ("groups", (2, 4, 5, 5), (6, 2, 3, 3), {"groups": 2, "padding": 1}), ("depthwise", (1, 3, 5, 5), (3, 1, 3, 3), {"groups": 3}),
            ("dilation", (1, 2, 8, 8), (2, 2, 3, 3), {"dilation": 2, "padding": 2}), ("whole", (1, 1, 3, 3), (1, 1, 3, 3), {}),
            ("wide", (2, 16, 6, 6), (8, 16, 3, 3), {"padding": 1}), ("unbatched", (3, 6, 5), (4, 3, 3, 3), {"padding": 1}),
            ("batch0", (0, 3, 6, 5), (4, 3, 3, 3), {})]:
        w.case("conv2d", tag + "_bias", lambda a, b, c: F.conv2d(a, b, c, **args), [exact(*x), exact(*k), exact(k[0])], args)
        w.case("conv2d", tag, lambda a, b: F.conv2d(a, b, **args), [exact(*x), exact(*k)], args)
    w.case("conv2d", "channels", F.conv2d, [exact(1, 4, 8, 8), exact(2, 3, 3, 3)], {})
    w.case("conv2d", "small", F.conv2d, [exact(1, 3, 2, 2), exact(2, 3, 3, 3)], {})
    for tag, x, args in [("2", (2, 3, 6, 4), {"kernel_size": 2}), ("odd", (1, 2, 7, 5), {"kernel_size": 2}),
                         ("3s2p1", (2, 2, 7, 8), {"kernel_size": 3, "stride": 2, "padding": 1}), ("unbatched", (3, 4, 4), {"kernel_size": 2}),
                         ("overlap", (1, 1, 6, 6), {"kernel_size": 3, "stride": 1})]:
        w.case("max_pool2d", tag, lambda a: F.max_pool2d(a, **args), [distinct(*x)], args)
        w.case("avg_pool2d", tag, lambda a: F.avg_pool2d(a, **args), [exact(*x)], args)
    w.case("max_pool2d", "small", lambda a: F.max_pool2d(a, 2), [exact(1, 1, 1, 1)], {"kernel_size": 2})
    w.case("max_pool2d", "pad", lambda a: F.max_pool2d(a, 2, padding=2), [exact(1, 1, 6, 6)], {"kernel_size": 2, "padding": 2})
    for tag, x in [("2d", (6, 3)), ("4d", (3, 2, 4, 3)), ("odd", (5, 7, 3, 3))]:
        c = x[1]
        stats = [Fixed(exact(c)), Fixed(exact(c, low=0.5))]
        affine = [exact(c), exact(c)]

        def train(a, m, v, g=None, b=None):
            m, v = m.clone(), v.clone()
            out = F.batch_norm(a, m, v, g, b, True, 0.25, 1e-5)
            return out, m, v

        def evaluate(a, m, v, g=None, b=None):
            return F.batch_norm(a, m, v, g, b, False, 0.25, 1e-5)

        for name, fn, flag in [("train", train, 1), ("eval", evaluate, 0)]:
            w.case("batch_norm", "%s_%s_affine" % (tag, name), fn, [exact(*x)] + stats + affine, {"training": flag})
            w.case("batch_norm", "%s_%s" % (tag, name), fn, [exact(*x)] + stats, {"training": flag})
    w.case("batch_norm", "single", lambda a, m, v: F.batch_norm(a, m, v, None, None, True), [exact(1, 4), Fixed(exact(4)), Fixed(exact(4))], {"training": 1})
    with torch.random.fork_rng(): # so that the cases of other files stay what they were
        conv_pool(w)
    return w


def joining():
    w = Writer("index")
    w.case("cat", "rows", lambda *t: torch.cat(t, 0), [exact(2, 3), exact(1, 3), exact(4, 3)], {"dim": 0})
    w.case("cat", "columns", lambda *t: torch.cat(t, -1), [exact(2, 3), exact(2, 1)], {"dim": -1})
    w.case("cat", "middle", lambda *t: torch.cat(t, 1), [exact(2, 3, 2), exact(2, 2, 2), exact(2, 0, 2)], {"dim": 1})
    w.case("cat", "many", lambda *t: torch.cat(t, 0), [exact(1, 2) for _ in range(11)], {"dim": 0})
    w.case("cat", "legacy", lambda *t: torch.cat(t, 0), [exact(0), exact(2, 2)], {"dim": 0})
    w.case("cat", "int", lambda *t: torch.cat(t, 0), [torch.tensor([1, 2]), torch.tensor([3])], {"dim": 0}, dtype="int64")
    w.case("cat", "wrong", lambda *t: torch.cat(t, 0), [exact(2, 3), exact(2, 4)], {"dim": 0})
    w.case("cat", "wrongdim", lambda *t: torch.cat(t, 2), [exact(2, 3), exact(2, 3)], {"dim": 2})
    w.case("stack", "first", lambda *t: torch.stack(t, 0), [exact(2, 3), exact(2, 3)], {"dim": 0})
    w.case("stack", "last", lambda *t: torch.stack(t, -1), [exact(2, 3), exact(2, 3), exact(2, 3)], {"dim": -1})
    w.case("stack", "scalars", lambda *t: torch.stack(t, 0), [exact(), exact()], {"dim": 0})
    w.case("stack", "wrong", lambda *t: torch.stack(t, 0), [exact(2), exact(3)], {"dim": 0})
    index = Fixed(torch.tensor([2, 0, 2, 1]))
    w.case("index_select", "rows", lambda x, i: x.index_select(0, i), [exact(3, 4), index], {"dim": 0})
    w.case("index_select", "columns", lambda x, i: x.index_select(1, i), [exact(2, 3, 4), index], {"dim": 1})
    w.case("index_select", "int32", lambda x, i: x.index_select(-1, i), [exact(2, 3), Fixed(torch.tensor([1, 1], dtype=torch.int32))], {"dim": -1})
    w.case("index_select", "none", lambda x, i: x.index_select(0, i), [exact(2, 3), Fixed(torch.zeros(0, dtype=torch.int64))], {"dim": 0})
    w.case("index_select", "range", lambda x, i: x.index_select(0, i), [exact(2, 3), Fixed(torch.tensor([2]))], {"dim": 0})
    w.case("index_select", "int", lambda x, i: x.index_select(0, i), [torch.arange(12).reshape(3, 4), index], {"dim": 0}, dtype="int64")
    w.case("embedding", "matrix", lambda e, i: F.embedding(i, e), [exact(5, 3), Fixed(torch.tensor([[1, 4, 1], [0, 2, 4]]))])
    w.case("embedding", "scalar", lambda e, i: F.embedding(i, e), [exact(5, 3), Fixed(torch.tensor(2))])
    w.case("embedding", "range", lambda e, i: F.embedding(i, e), [exact(5, 3), Fixed(torch.tensor([5]))])
    return w


def views():
    w = Writer("view")

    def sized(*n):
        return ",".join(map(str, n))

    w.case("view", "whole", lambda x: x.view(3, 4), [exact(2, 6)], {"shape": sized(3, 4)})
    w.case("view", "infer", lambda x: x.view(-1, 2), [exact(2, 6)], {"shape": sized(-1, 2)})
    w.case("view", "invalid", lambda x: x.view(5, 2), [exact(2, 6)], {"shape": sized(5, 2)})
    w.case("view", "empty", lambda x: x.view(0, 4), [exact(2, 0)], {"shape": sized(0, 4)})
    w.case("reshape", "transposed", lambda x: x.t().reshape(6, 2), [exact(3, 4)], {"shape": sized(6, 2), "t": 1})
    w.case("view", "transposed", lambda x: x.t().view(6, 2), [exact(3, 4)], {"shape": sized(6, 2), "t": 1})
    w.case("flatten", "all", lambda x: x.flatten(), [exact(2, 3, 4)], {"start": 0, "end": -1})
    w.case("flatten", "tail", lambda x: x.flatten(1), [exact(2, 3, 4)], {"start": 1, "end": -1})
    w.case("transpose", "01", lambda x: x.transpose(0, 1), [exact(2, 3, 4)], {"dim0": 0, "dim1": 1})
    w.case("transpose", "neg", lambda x: x.transpose(-1, 0), [exact(2, 3, 4)], {"dim0": -1, "dim1": 0})
    w.case("transpose", "range", lambda x: x.transpose(0, 3), [exact(2, 3, 4)], {"dim0": 0, "dim1": 3})
    w.case("permute", "201", lambda x: x.permute(2, 0, 1), [exact(2, 3, 4)], {"dims": sized(2, 0, 1)})
    w.case("select", "1", lambda x: x.select(1, 2), [exact(2, 3, 4)], {"dim": 1, "index": 2})
    w.case("select", "neg", lambda x: x.select(-1, -1), [exact(2, 3, 4)], {"dim": -1, "index": -1})
    w.case("select", "range", lambda x: x.select(0, 2), [exact(2, 3)], {"dim": 0, "index": 2})
    w.case("slice", "step", lambda x: x[:, 1:6:2], [exact(2, 7)], {"dim": 1, "start": 1, "end": 6, "step": 2})
    w.case("slice", "neg", lambda x: x[-2:], [exact(5, 2)], {"dim": 0, "start": -2, "end": 99, "step": 1})
    w.case("slice", "none", lambda x: x[3:1], [exact(5, 2)], {"dim": 0, "start": 3, "end": 1, "step": 1})
    w.case("narrow", "mid", lambda x: x.narrow(1, 1, 2), [exact(2, 5)], {"dim": 1, "start": 1, "length": 2})
    w.case("narrow", "range", lambda x: x.narrow(1, 4, 2), [exact(2, 5)], {"dim": 1, "start": 4, "length": 2})
    w.case("expand", "row", lambda x: x.expand(3, 4), [exact(1, 4)], {"shape": sized(3, 4)})
    w.case("expand", "new", lambda x: x.expand(2, -1, 4), [exact(3, 1)], {"shape": sized(2, -1, 4)})
    w.case("expand", "wrong", lambda x: x.expand(3, 4), [exact(2, 4)], {"shape": sized(3, 4)})
    w.case("squeeze", "all", lambda x: x.squeeze(), [exact(1, 3, 1, 2)])
    w.case("squeeze_dim", "one", lambda x: x.squeeze(2), [exact(1, 3, 1, 2)], {"dim": 2})
    w.case("squeeze_dim", "not", lambda x: x.squeeze(1), [exact(1, 3, 1, 2)], {"dim": 1})
    w.case("unsqueeze", "0", lambda x: x.unsqueeze(0), [exact(3, 2)], {"dim": 0})
    w.case("unsqueeze", "last", lambda x: x.unsqueeze(-1), [exact(3, 2)], {"dim": -1})
    w.case("contiguous", "t", lambda x: x.t().contiguous(), [exact(3, 2)], {})
    w.case("clone", "3x2", lambda x: x.clone(), [exact(3, 2)], {})
    for size, chunks, dim in ((7, 2), 3, 0), ((2, 5), 2, -1), ((4,), 1, 0), ((3, 2), 4, 0), ((0, 2), 3, 0):
        w.case("chunk", "%s_%d" % (text_of(size), chunks), lambda x: x.chunk(chunks, dim), [exact(*size)],
               {"chunks": chunks, "dim": dim})
    return w


def training(name, model, data, target, optimizer, loss_fn):
    """Weights, data, and the loss before each of ten steps, in float32."""
    path = os.path.join(HERE, name + ".txt")
    with open(path, "w") as f:
        def tensor(key, t):
            kind = {torch.float32: "float32", torch.int64: "int64"}[t.dtype]
            f.write("tensor %s %s %s : %s\n" % (key, kind, shape(t), values(t)))

        for key, t in model.state_dict().items():
            if key.endswith("num_batches_tracked"):
                continue
            tensor(key, t)
        tensor("data", data)
        tensor("target", target)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = loss_fn(model(data), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        tensor("losses", torch.tensor(losses))


def trainings():
    torch.manual_seed(7)
    mlp = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
    training("train_mlp", mlp, torch.randn(24, 20), torch.randint(0, 10, (24,)),
             torch.optim.Adam(mlp.parameters(), lr=0.01), F.cross_entropy)
    cnn = torch.nn.Sequential(torch.nn.Conv2d(2, 6, 3, padding=1), torch.nn.BatchNorm2d(6), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                              torch.nn.Conv2d(6, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 5))
    training("train_cnn", cnn, torch.randn(10, 2, 8, 8), torch.randint(0, 5, (10,)),
             torch.optim.SGD(cnn.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True), F.cross_entropy)


def prints():
    """repr() of tensors: the element type, shape and values, then the text, each line behind a bar."""
    torch.manual_seed(3)
    nan, inf = float("nan"), float("inf")
    tensors = [
        torch.tensor(3.5), torch.tensor(7), torch.tensor(True), torch.tensor([]), torch.zeros(0, 3), torch.zeros(2, 0, dtype=torch.int64),
        torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.5, -2.25]), torch.tensor([0.0, 0.0]), torch.tensor([1, -20, 300]),
        torch.tensor([True, False]), torch.randn(3, 3), torch.randn(2, 3, 4), torch.randn(2, 2, 2, 2), torch.randn(20), torch.arange(30),
        torch.randn(3, 3).double(), torch.randn(3).half(), torch.randn(3).bfloat16(), torch.tensor([1, 2], dtype=torch.int32),
        torch.tensor([1, 255], dtype=torch.uint8), torch.tensor([1e-5, 1.0]), torch.tensor([1e5, 1.0]), torch.tensor([1e9, 2e9]),
        torch.tensor([1.0, 10000.0]), torch.tensor([0.5, 10000.0]), torch.tensor([nan, 1.0]), torch.tensor([inf, -inf, 1.5]), torch.tensor([nan, inf]),
        torch.tensor([1e-10, 1e-9]), torch.tensor([123456.789]), torch.tensor([0.1]), torch.tensor([100.0, 0.001]),
        torch.arange(1001), torch.arange(1200.0).reshape(30, 40), torch.arange(2000).reshape(2, 10, 100), torch.ones(11, 100), torch.eye(4),
        torch.randn(12, 12), torch.zeros(1, 1), torch.tensor([[True], [False]]), torch.arange(12).reshape(3, 4), torch.tensor(-0.0), torch.tensor([1e38, 1.0]),
    ]
    with open(os.path.join(HERE, "print.txt"), "w") as f:
        for t in tensors:
            kind = str(t.dtype).replace("torch.", "")
            source = t.float() if t.dtype in (torch.float16, torch.bfloat16) else t
            f.write("tensor %s %s : %s\n" % (kind, shape(t), values(source)))
            for line in repr(t).splitlines():
                f.write("|" + line + "\n")


if __name__ == "__main__":
    for part in (pointwise, reductions, products, images, joining, views):
        w = part()
        print("%-10s %d cases" % (part.__name__, w.count))
    trainings()
    prints()
