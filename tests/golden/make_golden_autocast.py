#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch's ops give within a region of autocast: autocast.txt, in the format of make_golden.py.

    python3 tests/golden/make_golden_autocast.py        # with the same PyTorch; writes autocast.txt beside this file

Every dtype is written out. `autocast=` is the region's dtype, `inside=1` that backward ran inside of the region too. Cases
with `device=cpu` were run under torch.autocast("cpu"). Those with `device=cuda` need no GPU: PyTorch's lists for CUDA are read
from its own ATen/autocast_mode.h, and each op was run on the CPU on inputs cast as its list says.
"""
import os
import re
import torch
import torch.nn.functional as F
from make_golden import Writer, exact, number, shape, text_of, values

F32, F16, BF16, F64 = torch.float32, torch.float16, torch.bfloat16, torch.float64
NAMES = {d: str(d)[6:] for d in (F32, F16, BF16, F64, torch.int64, torch.bool, torch.uint8)}


def lists_for_cuda():
    """{"LOWER_PRECISION_FP": {"conv2d", ...}, ...}"""
    path = os.path.join(os.path.dirname(torch.__file__), "include", "ATen", "autocast_mode.h")
    text = open(path).read()
    found = re.findall(r"#define AT_FORALL_([A-Z0-9_]+)\(_\)((?:[^\n]*\\\n)*[^\n]*)", text)
    return {name: set(re.findall(r"_\((\w+)", body)) for name, body in found}


CUDA = lists_for_cuda()
assert "linear" in CUDA["LOWER_PRECISION_FP"] and "exp" in CUDA["FP32"] and "sum" in CUDA["FP32_SET_OPT_DTYPE"]


def cast(t, dtype):
    return t.to(dtype) if torch.is_tensor(t) and t.is_floating_point() and t.dtype != F64 else t


def as_on_cuda(aten, fn, lower):
    """fn of inputs that are cast as CUDA's autocast casts those of aten's op."""
    def run(*inputs):
        if aten in CUDA["LOWER_PRECISION_FP"]:
            inputs = [cast(t, lower) for t in inputs]
        elif aten in CUDA["FP32"] or aten in CUDA["FP32_SET_OPT_DTYPE"]:
            inputs = [cast(t, F32) for t in inputs]
        return fn(*inputs)
    return run


def write(w, op, ident, fn, inputs, args, backward):
    tail = " ".join("%s=%s" % (k, v if isinstance(v, str) else number(v)) for k, v in args.items())
    w.line("case %s %s float %s" % (op, ident, tail))
    tensors = [t.clone().requires_grad_(t.is_floating_point()) for t in inputs]
    for t in tensors:
        w.line("input %s %s %s : %s" % (NAMES[t.dtype], shape(t), "grad" if t.requires_grad else "-", values(t)))
    try:
        out = fn(*tensors)
    except RuntimeError as error:
        w.line("raises RuntimeError: %s" % str(error).splitlines()[0])
        w.line("end")
        return
    outs = out if isinstance(out, (tuple, list)) else [out]
    for o in outs:
        w.line("output %s %s : %s" % (NAMES[o.dtype], shape(o), values(o)))
    if outs[0].requires_grad:
        g = exact(*outs[0].shape, low=-1.0, high=1.0).to(outs[0].dtype)
        backward(outs[0], g)
        w.line("grad_output %s : %s" % (shape(g), values(g)))
        for i, t in enumerate(tensors):
            if t.grad is not None:
                w.line("grad %d %s : %s" % (i, shape(t.grad), values(t.grad)))
    w.line("end")


def both(w, op, ident, aten, fn, inputs, args=None):
    """A case on either device, with either half type; backward outside of the region."""
    for lower in (BF16, F16):
        def on_cpu(*tensors):
            with torch.autocast("cpu", dtype=lower):
                return fn(*tensors)
        common = dict(args or {}, autocast=NAMES[lower])
        ident_of = "%s_%s" % (ident, NAMES[lower])
        write(w, op, ident_of, on_cpu, inputs, dict(common, device="cpu"), lambda o, g: o.backward(g))
        if op not in ("cat", "stack"):  # which on CUDA promote by themselves
            write(w, op, ident_of, as_on_cuda(aten, fn, lower), inputs, dict(common, device="cuda"), lambda o, g: o.backward(g))


def every_dtype(w, op, aten, fn, make, args=None, dtypes=(F32, F16, BF16, F64)):
    for dtype in dtypes:
        both(w, op, NAMES[dtype], aten, fn, [t.to(dtype) if t.is_floating_point() else t for t in make()], args)


def small(*size):
    return exact(*size, low=-1.0, high=1.0, step=0.25)


def positive(*size):
    return exact(*size, low=0.25, high=3.0)


def ops(w):
    unary = {"neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "tanh": torch.tanh,
             "sigmoid": torch.sigmoid, "relu": torch.relu, "gelu": F.gelu}
    for op, fn in unary.items():
        every_dtype(w, op, op, fn, lambda: [positive(2, 3)])
    binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow, "eq": torch.eq}
    for op, fn in binary.items():
        every_dtype(w, op, op, fn, lambda: [positive(2, 3), positive(2, 3)])
        both(w, op, "mixed", op, fn, [positive(2, 3).to(BF16), positive(3).to(F32)])
    every_dtype(w, "pow_scalar", "pow", lambda x: x ** 3, lambda: [positive(2, 3)], {"value": 3.0})
    every_dtype(w, "mul_scalar", "mul", lambda x: x * 1.5, lambda: [positive(2, 3)], {"value": 1.5})
    every_dtype(w, "clamp", "clamp", lambda x: x.clamp(-1, 1), lambda: [exact(2, 3)], {"min": -1.0, "max": 1.0})
    for op, fn in {"sum": torch.sum, "mean": torch.mean, "max": torch.max, "min": torch.min}.items():
        every_dtype(w, op, op, fn, lambda: [torch.randperm(12).double().reshape(3, 4) / 8])
    for op in ("sum", "mean"):
        every_dtype(w, op + "_dim", op, lambda x: getattr(x, op)(1), lambda: [exact(3, 4)], {"dim": 1, "keepdim": 0})
    every_dtype(w, "softmax", "softmax", lambda x: F.softmax(x, 1), lambda: [exact(3, 4)], {"dim": 1})
    every_dtype(w, "log_softmax", "log_softmax", lambda x: F.log_softmax(x, 1), lambda: [exact(3, 4)], {"dim": 1})


def norms(w):
    run = lambda x, a, b: F.layer_norm(x, (4,), a, b)
    every_dtype(w, "layer_norm", "layer_norm", run, lambda: [exact(3, 4), exact(4), exact(4)], {"shape": "4"})


def attentions(w):
    attention = F.scaled_dot_product_attention
    every_dtype(w, "scaled_dot_product_attention", "scaled_dot_product_attention", attention, lambda: [small(1, 2, 3, 4) for _ in range(3)])


def products(w):
    for a, b in [((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((4,), (4, 3)), ((2, 3, 4), (2, 4, 2)), ((2, 3, 4), (4, 2))]:
        every_dtype(w, "matmul", "matmul", torch.matmul, lambda: [small(*a), small(*b)])
    both(w, "matmul", "mixed", "matmul", torch.matmul, [small(3, 4).to(BF16), small(4, 2).to(F16)])
    both(w, "matmul", "int", "matmul", torch.matmul, [torch.arange(6).reshape(2, 3).to(BF16), small(3, 2)])
    for x in [(5, 4), (4,), (2, 3, 4)]:
        every_dtype(w, "linear", "linear", F.linear, lambda: [small(*x), small(3, 4), small(3)])
        every_dtype(w, "linear", "linear", F.linear, lambda: [small(*x), small(3, 4)])
    both(w, "linear", "mixed", "linear", F.linear, [small(5, 4).to(BF16), small(3, 4).float(), small(3).float()])
    positive_bias = lambda: [small(5, 4), small(3, 4), positive(3) / 16 + 1 / 32]  # no sum is zero
    every_dtype(w, "linear", "linear", lambda x, a, b: F.relu(F.linear(x, a, b)), positive_bias, {"relu": 1}, (F32, F64))


def losses(w):
    target = torch.tensor([1, 0, 4, -100])
    for name in ("mean", "sum", "none"):
        args = {"reduction": name}
        # On CUDA both parts, log_softmax and nll_loss, are computed in float32.
        every_dtype(w, "cross_entropy", "nll_loss", lambda x, t: F.cross_entropy(x, t, reduction=name), lambda: [exact(4, 5), target], args)
        every_dtype(w, "mse_loss", "mse_loss", lambda x, y: F.mse_loss(x, y, reduction=name), lambda: [exact(3, 4), exact(3, 4)], args)
    both(w, "mse_loss", "mixed", "mse_loss", F.mse_loss, [exact(3, 4).to(BF16), exact(3, 4).float()], {"reduction": "mean"})


def images(w):
    conv = lambda x, k, b: F.conv2d(x, k, b, padding=1)
    make = lambda: [small(2, 2, 5, 4), small(3, 2, 3, 3), small(3)]
    every_dtype(w, "conv2d", "conv2d", conv, make, {"padding": 1})
    both(w, "conv2d", "mixed", "conv2d", conv, [small(2, 2, 5, 4).to(BF16), small(3, 2, 3, 3).float(), small(3).float()], {"padding": 1})

    from make_golden import settled
    args = {"padding": 1}
    inputs = [t.to(F32) for t in settled((2, 1, 6, 6), (3, 1, 3, 3), 2, args)]
    fused = lambda x, k, b: F.max_pool2d(F.relu(F.conv2d(x, k, b, padding=1)), 2)
    for tag, tensors in [("float32", inputs), ("mixed", [inputs[0].to(BF16), inputs[1], inputs[2]])]:
        both(w, "conv2d_relu_max_pool2d", tag, "conv2d", fused, tensors, dict(args, kernel_size=2))
    pools = {"max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d}
    for op, fn in pools.items():
        every_dtype(w, op, op, lambda x: fn(x, 2), lambda: [(torch.randperm(32).double() / 8).reshape(1, 2, 4, 4)], {"kernel_size": 2})


def joining(w):
    for op, fn in {"cat": torch.cat, "stack": torch.stack}.items():
        for tag, (a, b) in {"float32": (F32, F32), "lower": (BF16, BF16), "half": (F16, F16), "mixed": (BF16, F32),
                            "wide": (F64, BF16), "halves": (F16, BF16)}.items():
            both(w, op, tag, op, lambda *t: fn(t, 0), [exact(2, 3).to(a), exact(2, 3).to(b)], {"dim": 0})


def inside(w):
    """Backward within the region: its products are cast as any."""
    for lower in (BF16, F16):
        for op, fn, tensors, args in [
                ("matmul", torch.matmul, [small(3, 4).float(), small(4, 2).float()], {}),
                ("linear", F.linear, [small(5, 4).float(), small(3, 4).float(), small(3).float()], {}),
                ("pow_scalar", lambda x: x ** 3, [positive(2, 3).float()], {"value": 3.0}),
                ("conv2d", lambda x, k, b: F.conv2d(x, k, b, padding=1), [small(1, 2, 4, 4).float(), small(3, 2, 3, 3).float(), small(3).float()], {"padding": 1})]:
            def forward(*inputs):
                with torch.autocast("cpu", dtype=lower):
                    return fn(*inputs)

            def backward(out, g):
                with torch.autocast("cpu", dtype=lower):
                    out.backward(g)
            write(w, op, "inside_" + NAMES[lower], forward, tensors, dict(args, autocast=NAMES[lower], device="cpu", inside=1), backward)


if __name__ == "__main__":
    writer = Writer("autocast")
    ops(writer)
    products(writer)
    losses(writer)
    images(writer)
    joining(writer)
    inside(writer)
    norms(writer)
    attentions(writer)
