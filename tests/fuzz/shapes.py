# SPDX-License-Identifier: MIT
"""Shapes, dtypes and numbers of drawn tensors."""

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTS = ("int64", "int32", "uint8", "bool")
LIMIT = 240  # elements of a tensor


def accepts(accept, name, t):
    try:
        return accept(name, t)
    except RuntimeError:  # a view that nobody may ask for its history
        return False


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def broadcasts(a, b):
    n = 1
    for x, y in zip(reversed(a), reversed(b)):
        if x != y and x != 1 and y != 1:
            return False
        n *= x if y == 1 else y
    for d in (a if len(a) > len(b) else b)[:abs(len(a) - len(b))]:
        n *= d
    return n <= LIMIT


def spreads_to(a, b):
    """Does b broadcast to the shape a?"""
    return len(b) <= len(a) and all(x == y or y == 1 for x, y in zip(reversed(a), reversed(b)))


def short(v):
    return "%d" % v if v == v and abs(v) < 2**31 and v == int(v) and str(v)[:2] != "-0" else "%.9g" % v


def size_text(shape):
    return ",".join(map(str, shape)) or "-"
