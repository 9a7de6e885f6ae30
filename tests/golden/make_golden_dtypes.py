#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PyTorch does with integers, bools, empty tensors and wrong arguments: dtypes.txt, in the format of make_golden.py.

    python3 tests/golden/make_golden_dtypes.py        # with the same PyTorch; writes dtypes.txt beside this file

Most of these cases raise: the class and the text of the error are what is tested.
"""
import torch
import torch.nn.functional as F
from make_golden import Fixed, INTS, Writer, exact, text_of

UNARY = {"neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "tanh": torch.tanh,
         "sigmoid": torch.sigmoid, "relu": torch.relu, "gelu": F.gelu, "isfinite": torch.isfinite}
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
          "eq": torch.eq, "lt": torch.lt}
POOLS = {"max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d}
REDUCE = {"sum": torch.sum, "mean": torch.mean, "max": torch.max, "min": torch.min, "argmax": torch.argmax, "argmin": torch.argmin}


def ints(*size):
    """0, 1, 2, 0, 1, 2, ..."""
    n = 1
    for s in size:
        n *= s
    return (torch.arange(n) % 3).reshape(size)


def normalised(x, mean, var, training):
    """With the running statistics, where they are updated, as make_golden.py has it."""
    out = F.batch_norm(x, mean, var, None, None, bool(training), 0.25)
    return (out, mean, var) if training else out


def pointwise(w, dtype):
    for op, fn in UNARY.items():
        for s in [(2, 3), (0,)]:
            w.case(op, text_of(s), fn, [ints(*s) + (op in ("log", "sqrt"))], dtype=dtype)
    for op, fn in BINARY.items():
        for s in [(2, 3), (0,)]:
            w.case(op, text_of(s), fn, [ints(*s), ints(*s) + 1], dtype=dtype)
        w.case(op, "wider", fn, [ints(2, 3), Fixed(torch.ones(3, dtype=torch.int64))], dtype=dtype)
    for value in (2, 1.5, -1):
        for op, fn in {"add": lambda x: x + value, "sub": lambda x: x - value, "mul": lambda x: x * value,
                       "div": lambda x: x / value, "pow": lambda x: x ** value}.items():
            w.case(op + "_scalar", str(value), fn, [ints(2, 3)], {"value": float(value)}, dtype=dtype)
    for low, high in [(1, 2), (0.5, 1.5)]:
        for s in [(2, 3), (0,)]:
            w.case("clamp", text_of(s), lambda x: torch.clamp(x, low, high), [ints(*s)], {"min": float(low), "max": float(high)}, dtype=dtype)
    for low, high in [(1, -1), (-1, 1), (300, 1), (1, 300)]:
        w.case("clamp", "%d_%d" % (low, high), lambda x: torch.clamp(x, low, high), [ints(2, 3)], {"min": float(low), "max": float(high)}, dtype=dtype)
    if dtype != "uint8":  # which PyTorch still takes as a condition, with a warning
        w.case("where", "condition", torch.where, [ints(2, 3), Fixed(ints(2, 3)), Fixed(ints(2, 3))], dtype=dtype)


def reductions(w, dtype):
    for op, fn in REDUCE.items():
        for s in [(2, 3), (0,), (2, 0)]:
            w.case(op, text_of(s), fn, [ints(*s)], dtype=dtype)
        for s, dim in [((2, 3), 1), ((2, 0), 1), ((0, 2), 1)]:
            args = {"dim": dim, "keepdim": 0}
            both = op in ("max", "min")
            w.case(op + "_dim", text_of(s), lambda x: tuple(fn(x, dim)) if both else fn(x, dim), [ints(*s)], args, dtype=dtype)
    for s, dim in [((2, 3), 1), ((2, 3), 0), ((0, 3), 1), ((3, 0), 1), ((), 0)]:
        tag = "%s_dim%d" % (text_of(s), dim)
        w.case("softmax", tag, lambda x: F.softmax(x, dim), [ints(*s)], {"dim": dim}, dtype=dtype)
        w.case("log_softmax", tag, lambda x: F.log_softmax(x, dim), [ints(*s)], {"dim": dim}, dtype=dtype)
    for s in [(2, 3), (0,)]:
        w.case("mse_loss", text_of(s), F.mse_loss, [ints(*s), ints(*s)], {"reduction": "mean"}, dtype=dtype)
    for n in (2, 0):
        w.case("cross_entropy", str(n), F.cross_entropy, [ints(n, 3), Fixed(ints(n))], {"reduction": "mean"}, dtype=dtype)


def products(w, dtype):
    for a, b in [((2, 3), (3, 2)), ((2, 3), (3,)), ((3,), (3,)), ((3,), (3, 2)), ((2, 2, 3), (2, 3, 2)), ((2, 2, 3), (3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 2))]:
        w.case("matmul", text_of(a) + "_" + text_of(b), torch.matmul, [ints(*a), ints(*b)], dtype=dtype)
    for s in [(5, 1), (2, 2, 1), (1,), (0, 1)] + ([(5, 0)] if dtype != "bool" else []):
        k = (3, s[-1])
        offset = (torch.arange(3) - 1) if dtype in ("int64", "int32") else torch.arange(3)
        for relu in (0, 1):
            run = (lambda x, a, b=None: F.relu(F.linear(x, a, b))) if relu else F.linear
            w.case("linear", "%s_bias%d" % (text_of(s), relu), run, [ints(*s) + 1, ints(*k), offset], {"relu": relu}, dtype=dtype)
            w.case("linear", "%s_%d" % (text_of(s), relu), run, [ints(*s) + 1, ints(*k)], {"relu": relu}, dtype=dtype)


def images(w, dtype):
    for n in (2, 0):
        for bias in (False, True):
            inputs = [ints(n, 2, 3, 3), ints(2, 2, 2, 2)] + ([ints(2)] if bias else [])
            if n == 0 or dtype == "bool":  # PyTorch convolves and pools integers on the CPU alone, and Ferry does not
                w.case("conv2d", "%d_bias%d" % (n, bias), F.conv2d, inputs, {}, dtype=dtype)
        for op, fn in POOLS.items():
            if dtype == "bool":
                w.case(op, str(n), lambda x: fn(x, 2), [ints(n, 2, 4, 5)], {"kernel_size": 2}, dtype=dtype)
        for training in (0, 1):
            run = lambda x, m, v: normalised(x, m.clone(), v.clone(), training)
            w.case("batch_norm", "%d_%d" % (n, training), run, [ints(n, 2, 2, 2), Fixed(exact(2).float()), Fixed(exact(2, low=0.5).float())], {"training": training}, dtype=dtype)


def joining(w, dtype):
    index = Fixed(torch.tensor([1, 0, 1]))
    w.case("index_select", "rows", lambda x, i: x.index_select(0, i), [ints(2, 3), index], {"dim": 0}, dtype=dtype)
    w.case("embedding", "rows", lambda e, i: F.embedding(i, e), [ints(2, 3), index], dtype=dtype)
    w.case("cat", "wider", lambda *t: torch.cat(t, 0), [ints(2), Fixed(torch.tensor([2.5, 1.0]).float())], {"dim": 0}, dtype=dtype)


def norms(w, dtype):
    for s in [(2, 3), (0, 3), (2, 0)]:
        args = {"shape": str(s[1])}
        w.case("layer_norm", text_of(s), lambda x: F.layer_norm(x, s[1:]), [ints(*s)], args, dtype=dtype)
        w.case("layer_norm", text_of(s) + "_affine", lambda x, a, b: F.layer_norm(x, s[1:], a, b), [ints(*s), ints(s[1]), ints(s[1])], args, dtype=dtype)


def wrong_norms(w):
    for x, n, sizes in [((2, 3), (2,), []), ((2, 3), (3, 2), []), ((2, 3), (1, 2, 3), []), ((), (1,), []), ((2, 3), (3,), [(2,)]), ((2, 3), (3,), [(3,), (1, 3)]),
                        ((2, 3), (2,), [(3,), (3,)]), ((2, 3), (-1,), []), ((0, 3), (3,), [(3,), (3,)]), ((2, 0), (0,), [(0,), (0,)]), ((0, 2, 3), (3,), [])]:
        w.case("layer_norm", "%s_%s_%d" % (text_of(x), text_of(n), len(sizes)), lambda x, *affine: F.layer_norm(x, n, *affine),
               [exact(*x)] + [exact(*s) for s in sizes], {"shape": ",".join(map(str, n))})
    for value in (float("inf"), float("nan")):
        x = exact(3, 4)
        x[1, 2] = value
        w.case("layer_norm", "special_%s" % value, lambda *t: F.layer_norm(t[0], (4,), *t[1:]), [x, exact(4), exact(4)], {"shape": "4"})


def special(w):
    """Gradients at infinities, zeros and NaN, and of infinities."""
    inf, nan = float("inf"), float("nan")
    values = torch.tensor([0.0, inf, -inf, nan, 2.0, -2.0]).double()
    for name, g in {"ones": torch.ones(6).double(), "infinite": torch.full((6,), inf).double(), "nan": torch.full((6,), nan).double()}.items():
        for op in ("abs", "relu", "exp", "tanh", "sigmoid", "neg"):
            w.case(op, "special_" + name, UNARY[op], [values], grad_output=g)
        for exponent in (0.5, -0.5, 2.0, 3.0, -1.0, -2.0, 0.0, 1.0, 1.5):
            if exponent in (0.5, -0.5):  # of float16 PyTorch asks pow, not sqrt
                w.case("pow_scalar", "special_%s_%s" % (exponent, name), lambda x: x ** exponent, [values.abs()], {"value": exponent}, grad_output=g)
            else:
                w.case("pow_scalar", "special_%s_%s" % (exponent, name), lambda x: x ** exponent, [values], {"value": exponent}, grad_output=g)
        for low, high in [(0.0, 2.0), (-inf, 2.0), (0.0, inf), (2.0, 0.0)]:
            args = {k: v for k, v in {"min": low, "max": high}.items() if abs(v) != inf}
            w.case("clamp", "special_%s_%s_%s" % (low, high, name), lambda x: torch.clamp(x, **args), [values], {"min": low, "max": high}, grad_output=g)
    for value in (inf, nan):
        x = exact(3, 2, 2, 2)
        x[1, 0, 0, 1] = value
        for training in (0, 1):
            run = lambda x, m, v: normalised(x, m.clone(), v.clone(), training)
            w.case("batch_norm", "special_%s_%d" % (value, training), run, [x, Fixed(exact(2)), Fixed(exact(2, low=0.5))], {"training": training})
        for reduction in ("mean", "none"):
            w.case("cross_entropy", "special_%s_%s" % (value, reduction), lambda x, t: F.cross_entropy(x, t, reduction=reduction),
                   [x.reshape(4, 6), Fixed(torch.tensor([0, -100, 2, -100]))], {"reduction": reduction})
        w.case("softmax", "special_%s" % value, lambda x: F.softmax(x, 1), [x.reshape(4, 6)], {"dim": 1})


def wrong(w):
    """Floating tensors, wrong in other ways. Of shapes that are empty too."""
    long = torch.int64
    for x, t in [((2, 3), (2, 1)), ((2, 3), ()), ((3,), (1,)), ((3,), (3,)), ((), ()), ((2, 3), (3,)), ((0, 3), (2,)), ((2, 0), (2,)), ((0, 3), (0,)), ((0, 0), (0,))]:
        w.case("cross_entropy", text_of(x) + "_" + text_of(t), F.cross_entropy, [exact(*x), Fixed(torch.zeros(t, dtype=long))], {"reduction": "mean"})
    w.case("cross_entropy", "int32", F.cross_entropy, [exact(2, 3), Fixed(torch.zeros(2, dtype=torch.int32))], {"reduction": "mean"})
    w.case("cross_entropy", "below", F.cross_entropy, [exact(2, 3), Fixed(torch.tensor([0, -1]))], {"reduction": "mean"})
    w.case("cross_entropy", "ignored", F.cross_entropy, [exact(2, 3), Fixed(torch.tensor([-100, -100]))], {"reduction": "mean"})
    w.case("mse_loss", "shapes", F.mse_loss, [exact(2, 3), exact(4)], {"reduction": "mean"})
    w.case("mse_loss", "empty", F.mse_loss, [exact(0), exact(0)], {"reduction": "mean"})
    for s in [(2, 3), (0,), ()]:
        for dim in (-3, 2):
            w.case("softmax", "%s_dim%d" % (text_of(s), dim), lambda x: F.softmax(x, dim), [exact(*s)], {"dim": dim})
            w.case("sum_dim", "%s_dim%d" % (text_of(s), dim), lambda x: x.sum(dim), [exact(*s)], {"dim": dim, "keepdim": 0})
            w.case("max_dim", "%s_dim%d" % (text_of(s), dim), lambda x: tuple(x.max(dim)), [exact(*s)], {"dim": dim, "keepdim": 0})
            w.case("argmin_dim", "%s_dim%d" % (text_of(s), dim), lambda x: x.argmin(dim), [exact(*s)], {"dim": dim, "keepdim": 0}, grad=False)
    w.case("sum_dims", "twice", lambda x: x.sum((0, -2)), [exact(2, 3)], {"dims": "0,-2", "keepdim": 0})
    for s, dim in [((2, 0), 1), ((0, 2), 1), ((0,), 0)]:
        args = {"dim": dim, "keepdim": 0}
        w.case("max_dim", text_of(s), lambda x: tuple(x.max(dim)), [exact(*s)], args)
        w.case("argmin_dim", text_of(s), lambda x: x.argmin(dim), [exact(*s)], args, grad=False)
        w.case("mean_dim", text_of(s), lambda x: x.mean(dim), [exact(*s)], args)
    w.case("argmax", "empty", torch.argmax, [exact(0)], grad=False)
    w.case("min", "empty", torch.min, [exact(2, 0)])
    for a, b in [((), (3,)), ((3,), ()), ((3,), (2,)), ((2, 3), (2,)), ((3,), (2, 3)), ((2, 2, 3), (2, 2)), ((2, 2, 3), (2, 2, 3)), ((2, 2, 3), (3, 3, 2)),
                 ((3, 2), (2, 0)), ((0, 2), (2, 3)), ((3, 0), (0, 2)), ((2, 3, 0), (2, 0, 4)), ((0, 2, 3), (0, 3, 4)), ((2, 3, 4), (4, 0)), ((0,), (0,)), ((2, 0), (0,)),
                 ((0,), (0, 2)), ((3,), (3, 0)), ((0, 3), (3,))]:
        w.case("matmul", text_of(a) + "_" + text_of(b), torch.matmul, [exact(*a), exact(*b)])
    for x, k, b in [((2, 0), (3, 0), (3,)), ((0, 2), (3, 2), (3,)), ((2, 3), (0, 3), (0,)), ((0,), (3, 0), (3,)), ((2, 2, 0), (3, 0), (3,)), ((0, 2, 2), (3, 2), (3,)),
                    ((2, 3), (4, 2), (4,)), ((2, 3), (4, 3), (3,)), ((2, 2, 3), (4, 2), (4,))]:
        for relu in (0, 1):
            run = (lambda x, a, b=None: F.relu(F.linear(x, a, b))) if relu else F.linear
            w.case("linear", "%s_%s_bias%d" % (text_of(x), text_of(k), relu), run, [exact(*x), exact(*k), exact(*b)], {"relu": relu})
            w.case("linear", "%s_%s_%d" % (text_of(x), text_of(k), relu), run, [exact(*x), exact(*k)], {"relu": relu})
    for x, k, args in [((1, 2, 0, 4), (2, 2, 1, 1), {}), ((1, 2, 4, 0), (2, 2, 3, 3), {"padding": 1}), ((1, 2, 0, 4), (2, 2, 1, 1), {"padding": 1}), ((0, 2, 0, 0), (2, 2, 3, 3), {"padding": 2}), ((2, 4, 4), (2, 2, 5, 5), {}), ((1, 2, 4, 4), (0, 2, 3, 3), {}),
                       ((1, 2, 4, 4), (3, 2, 2, 2), {"groups": 3}), ((1, 2, 4, 4), (2, 2, 2, 2), {"groups": 2}), ((1, 4, 4, 4), (3, 2, 2, 2), {"groups": 2}), ((1, 4, 4, 4), (1, 2, 2, 2), {"groups": 2}), ((4, 4), (2, 2, 2, 2), {}),
                       ((1, 2, 4, 4), (2, 2, 2), {}), ((1, 2, 4, 4), (2, 2, 0, 2), {}), ((0, 2, 4, 4), (2, 2, 3, 3), {}), ((1, 2, 4, 4), (2, 2, 3, 3), {"padding": -1}), ((0, 2, 4, 4), (2, 2, 5, 5), {}), ((2, 0, 4), (2, 2, 1, 1), {})]:
        w.case("conv2d", text_of(x) + "_" + text_of(k), lambda a, b: F.conv2d(a, b, **args), [exact(*x), exact(*k)], args)
    w.case("conv2d", "bias", F.conv2d, [exact(1, 2, 4, 4), exact(3, 2, 2, 2), exact(2)], {})
    for x, args in [((1, 2, 0, 4), {"kernel_size": 2}), ((0, 2, 4, 4), {"kernel_size": 2}), ((1, 0, 4, 4), {"kernel_size": 2}), ((4, 4), {"kernel_size": 2}), ((2, 4), {"kernel_size": 2}), ((1, 2, 4, 4), {"kernel_size": 2, "padding": -1}), ((2, 3, 1), {"kernel_size": 2})]:
        for op, fn in POOLS.items():
            w.case(op, text_of(x) + "_%d" % args.get("padding", 0), lambda a: fn(a, **args), [exact(*x)], args)
    # Without channels PyTorch's backward fails by accident: select() of nothing.
    for s, c in [((0, 3), 3), ((2, 3, 0), 3), ((3,), 3), ((2, 3), 2), ((1, 3), 3), ((1, 3, 1), 3), ((0, 3, 2, 2), 3)]:
        for training in (0, 1):
            run = lambda x, m, v: normalised(x, m.clone(), v.clone(), training)
            w.case("batch_norm", "%s_%d_%d" % (text_of(s), c, training), run, [exact(*s), Fixed(exact(c)), Fixed(exact(c, low=0.5))], {"training": training})
    for s, dim, index in [((2, 3), 0, [[0]]), ((2, 3), 2, [0]), ((), 0, [0, 0]), ((), 0, [0]), ((), 0, [1]), ((2, 3), 0, [3]), ((2, 3), 1, [3]), ((2, 3), 1, [-1]), ((0, 3), 0, []), ((0, 3), 0, [0]), ((2, 0), 0, [1, 1])]:
        t = Fixed(torch.tensor(index, dtype=long))
        w.case("index_select", "%s_%d_%s" % (text_of(s), dim, text_of(t.tensor.shape)), lambda x, i: x.index_select(dim, i), [exact(*s), t], {"dim": dim})
    w.case("index_select", "float", lambda x, i: x.index_select(0, i), [exact(2, 3), Fixed(torch.zeros(1))], {"dim": 0})
    for s, index in [((2,), [0]), ((2, 3, 2), [0]), ((2, 3), [2]), ((2, 3), [-1]), ((0, 3), [0]), ((0, 3), []), ((2, 0), [1])]:
        w.case("embedding", text_of(s), lambda e, i: F.embedding(i, e), [exact(*s), Fixed(torch.tensor(index, dtype=long))])
    w.case("embedding", "float", lambda e, i: F.embedding(i, e), [exact(2, 3), Fixed(torch.zeros(1))])
    w.case("cat", "ranks", lambda *t: torch.cat(t, 0), [exact(2, 3), exact(2)], {"dim": 0})
    w.case("cat", "numbers", lambda *t: torch.cat(t, 0), [exact(), exact()], {"dim": 0})
    w.case("cat", "nothing", lambda *t: torch.cat(t, 1), [exact(0), exact(0)], {"dim": 1})
    w.case("stack", "order", lambda *t: torch.stack(t, 3), [exact(2), exact(3)], {"dim": 3})
    for g in (float("inf"), float("nan")):
        w.case("cross_entropy", "special_grad_%s" % g, F.cross_entropy, [exact(2, 3), Fixed(torch.tensor([1, -100]))], {"reduction": "mean"}, grad_output=torch.tensor(g).double())
    w.case("linear", "vector_0", F.linear, [exact(2, 3), exact(3)], {"relu": 0})
    w.case("linear", "vector_bias", F.linear, [exact(2, 3), exact(3), exact(1)], {"relu": 0})
    w.case("linear", "number_0", F.linear, [exact(2, 3), exact(4, 3), exact(1)], {"relu": 0})
    w.case("linear", "scalar_1", lambda x, a, b: F.relu(F.linear(x, a, b)), [exact(2, 3), exact(4, 3), exact() + 0.0625], {"relu": 1})
    w.case("stack", "range", lambda *t: torch.stack(t, 2), [exact(2), exact(2)], {"dim": 2})
    w.case("flatten", "order", lambda x: x.flatten(2, 1), [exact(2, 3, 4)], {"start": 2, "end": 1})


if __name__ == "__main__":
    torch.manual_seed(2026)
    writer = Writer("dtypes")
    for name in INTS:
        for part in (pointwise, reductions, products, images, joining):
            part(writer, name)
    wrong(writer)
    special(writer)
    for name in INTS:
        norms(writer, name)
    wrong_norms(writer)
    print("dtypes     %d cases" % writer.count)
