# SPDX-License-Identifier: MIT
"""How each kind of argument in calls.def is drawn: a method of its name, given the arguments that it depends on. It returns
the argument's text, and may make a leaf first."""

import torch

from shapes import FLOATS, accepts, broadcasts, product, short, size_text, spreads_to


class Kinds:
    # -- tensors

    def any(self):
        return self.pick(lambda n, t: True) or self.new_leaf()

    def floating(self):
        if self.r.random() < 0.06:
            return self.any()
        return self.pick(lambda n, t: t.is_floating_point()) or self.new_leaf(dtype=self.main)

    def something(self):
        return self.pick(lambda n, t: t.is_floating_point() and t.numel() > 0) or self.new_leaf((3,), self.main)

    def base(self):
        return self.pick(lambda n, t: t.dim() > 0 or self.r.random() < 0.2, 0.12) or self.new_leaf()

    def target(self):
        """What is changed in place: seldom a leaf that requires grad, which is an error."""
        allowed = self.r.random() < 0.08

        def accept(n, t):
            return allowed or not (t.requires_grad and t.is_leaf)
        return self.pick(accept, 0.1) or self.new_leaf(requires_grad=False)

    def fits(self, a):
        shape, near = self.of(a).shape, self.same_place(a)
        if self.r.random() < 0.03:
            return self.any()
        name = self.pick(lambda n, t: near(n, t) and broadcasts(shape, t.shape), 0.2)
        return name or self.new_leaf(self.broadcastable(shape), device=self.oracle.where[a])

    def broadcastable(self, shape):
        shape = [1 if self.r.random() < 0.2 else n for n in shape[self.r.choice((0, 0, 0, 1, 2)):]]
        if self.r.random() < 0.1 and product(shape) < 20:
            shape = [self.r.randint(1, 3)] + shape
        return tuple(shape)

    def into(self, a):
        shape, near = tuple(self.of(a).shape), self.same_place(a)
        if self.r.random() < 0.03:
            return self.any()

        def accept(n, t):
            return near(n, t) and spreads_to(shape, t.shape)
        name = self.pick(accept, 0.2)
        return name or self.new_leaf(tuple(1 if self.r.random() < 0.2 else n for n in shape), device=self.oracle.where[a])

    def source(self, a):
        """For copies, which cross devices and dtypes."""
        shape = tuple(self.of(a).shape)
        name = self.pick(lambda n, t: spreads_to(shape, t.shape), 0.2)
        return name or self.new_leaf(shape)

    def alike(self, a):
        shape, near = self.of(a).shape, self.same_place(a)
        return self.pick(lambda n, t: near(n, t) and t.shape == shape and t.is_floating_point()) or \
            self.new_leaf(tuple(shape), dtype=self.main, device=self.oracle.where[a])

    def condition(self):
        return self.pick(lambda n, t: t.dtype == torch.bool, 0.2) or self.new_leaf(dtype="bool")

    def equals(self, a):
        return self.list_of(a, lambda t: tuple(t.shape), 0.03)

    def joined(self, a, dim):
        def other(t):
            shape = list(t.shape)
            if shape and -len(shape) <= int(dim) < len(shape):
                shape[int(dim)] = self.r.randint(0, 3)
            return tuple(shape)
        return self.list_of(a, other, 0.04)

    def list_of(self, a, shape_of, wrong):
        t, near, names = self.of(a), self.same_place(a), [a]
        for _ in range(self.r.choice((0, 1, 1, 2, 3))):
            shape = self.shape() if self.r.random() < wrong else shape_of(t)
            name = self.pick(lambda n, o: near(n, o) and tuple(o.shape) == shape, 0.3) or \
                self.new_leaf(shape, device=self.oracle.where[a])
            names.append(name)
        self.r.shuffle(names)
        return ",".join(names)

    # -- operands of products, images, losses

    def operand(self):
        return self.pick(lambda n, t: t.dim() > 0 and t.is_floating_point(), 0.2) or self.new_leaf(self.shape() or (3,))

    def matrix(self, a):
        t, near = self.of(a), self.same_place(a)
        inner = t.shape[-1] if t.dim() else 1

        def accept(n, o):
            return near(n, o) and o.dtype == t.dtype and o.dim() > 0 and o.shape[max(o.dim() - 2, 0)] == inner and \
                o.numel() * max(t.numel(), 1) < 4000
        shape = (inner,) if self.r.random() < 0.2 else (inner, self.r.randint(0 if self.r.random() < 0.1 else 1, 4))
        if len(shape) == 2 and self.r.random() < 0.2:
            shape = (t.shape[0] if t.dim() == 3 else self.r.randint(1, 2),) + shape
        if self.r.random() < 0.03:
            return self.any()
        return self.pick(accept, 0.4) or self.new_leaf(shape, self.dtype_of(a), self.oracle.where[a])

    def dtype_of(self, a):
        return self.main if self.r.random() < 0.02 else str(self.of(a).dtype)[6:]

    def weight(self, a):
        t = self.of(a)
        inner = t.shape[-1] if t.dim() else 1
        out = self.r.randint(1, 4) if self.r.random() < 0.97 else 0
        if self.r.random() < 0.02:
            return self.any()
        return self.new_leaf((out, inner), self.dtype_of(a), self.oracle.where[a])

    def bias(self, b):
        shape = tuple(self.of(b).shape[:1])
        if self.r.random() < 0.35:
            return "none"
        return self.new_leaf(shape if self.r.random() < 0.97 else self.shape(), self.dtype_of(b), self.oracle.where[b])

    def image(self):
        name = self.pick(lambda n, t: t.dim() in (3, 4) and t.numel() > 0 and t.is_floating_point(), 0.4)
        shape = tuple(self.r.randint(1, 3) for _ in range(2)) + tuple(self.r.randint(1, 6) for _ in range(2))
        return name or self.new_leaf(shape, self.main)

    def groups(self, a):
        channels = self.of(a).shape[-3] if self.of(a).dim() >= 3 else 1
        return self.r.choice([1, 1, 1] + [n for n in (2, 3, 4) if channels and channels % n == 0])

    def kernel(self, a, groups="1"):
        t, g = self.of(a), int(groups)
        channels = t.shape[-3] // g if t.dim() >= 3 else 1
        shape = (g * self.r.randint(1, 2), channels) + tuple(self.r.choices((1, 2, 3), (2, 3, 2))[0] for _ in range(2))
        return self.new_leaf(shape, self.dtype_of(a), self.oracle.where[a])

    def logits(self):
        return self.pick(lambda n, t: t.dim() in (1, 2) and t.is_floating_point() and t.numel() > 0, 0.3) or \
            self.new_leaf((self.r.randint(1, 4), self.r.randint(1, 5)), self.main)

    def classes(self, a, ignored="-100"):
        t = self.of(a)
        count = t.shape[-1] if t.dim() else 1
        shape = tuple(t.shape[:1]) if t.dim() == 2 else ()
        values = [ignored if self.r.random() < 0.05 else self.index_below(count, ignored) for _ in range(product(shape))]
        return self.index_leaf(shape, values, a, "int64")

    def index_below(self, count, otherwise="0"):
        if self.style == "cpu" and self.r.random() < 0.05:
            return str(self.r.choice((-1, count, count + 3)))
        return str(self.r.randrange(count)) if count else otherwise

    def index_leaf(self, shape, values, a, dtype):
        name = self.new_name("t")
        self.emit("tensor", {"dtype": dtype, "shape": size_text(shape), "device": self.oracle.where[a],
                             "requires_grad": "0"}, [name], values)
        return name

    def index_tensor(self, a, dim):
        t, d = self.of(a), int(dim)
        count = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
        n = 1 if t.dim() == 0 else self.r.randint(0, 4) if count else 0  # PyTorch 1.13 writes out of bounds otherwise
        return self.index_leaf((n,), [self.index_below(count) for _ in range(n)], a, self.r.choice(("int64", "int32")))

    def table(self):
        return self.pick(lambda n, t: t.dim() == 2 and t.shape[0] > 0 and t.is_floating_point(), 0.3) or \
            self.new_leaf((self.r.randint(1, 5), self.r.randint(1, 4)), self.main)

    def rows(self, a):
        shape = self.r.choice(((), (3,), (2, 2), (0,), (1,)))
        count = max(self.of(a).shape[0], 1) if self.of(a).dim() else 1
        return self.index_leaf(shape, [self.index_below(count) for _ in range(product(shape))], a, "int64")

    def channels(self):
        return self.pick(lambda n, t: t.dim() in (2, 4) and t.is_floating_point() and t.numel() > 0, 0.4) or \
            self.new_leaf(tuple(self.r.randint(1, 4) for _ in range(self.r.choice((2, 4)))), self.main)

    def statistic(self, a):
        return self.per_channel(a, False, "eighths")

    def variance(self, a):
        return self.per_channel(a, False, "positive")

    def affine(self, a):
        return "none" if self.r.random() < 0.3 else self.per_channel(a, self.r.random() < 0.7, None)

    def per_channel(self, a, requires_grad, manner):
        t = self.of(a)
        shape = (t.shape[1] if t.dim() > 1 else 1,)
        return self.new_leaf(shape, self.dtype_of(a), self.oracle.where[a], requires_grad, manner)

    def normalizable(self):
        return self.pick(lambda n, t: t.dim() > 0 and t.is_floating_point() and t.numel() > 0, 0.4) or \
            self.new_leaf(tuple(self.r.randint(1, 4) for _ in range(self.r.randint(1, 3))), self.main)

    def last_sizes(self, a):
        shape = tuple(self.of(a).shape)
        sizes = shape[self.r.randrange(len(shape)):] if shape else ()
        return size_text(sizes if self.r.random() < 0.95 else (3,))

    def of_sizes(self, a, sizes):
        if self.r.random() < 0.3:
            return "none"
        shape = tuple(int(n) for n in sizes.split(",")) if sizes not in ("-", "") else ()
        return self.new_leaf(shape, self.dtype_of(a), self.oracle.where[a], self.r.random() < 0.7)

    # -- attributes

    def flag(self):
        return self.r.choice("01")

    def mostly(self):
        return "1" if self.r.random() < 0.7 else "0"

    def number(self):
        r = self.r
        return short(r.choice((0, 1, 2, 3, -1, -2, 0.5, 1.5, -0.25, 0.125, r.randint(-40, 40) / 8)))

    def exponent(self):
        return short(self.r.choice((0, 1, 2, 2, 3, 0.5, -1, 1.5, -0.5)))

    def scale(self):
        return short(self.r.choice((0, 2, -1, 0.5)))

    def low(self):
        return short(self.r.choice((-2, -1, 0, 0.5, 1, float("-inf"))))

    def high(self, low):
        return short(self.r.choice((-1, 0, 0.5, 1, 2) + ((float("inf"),) if low != "-inf" else ())))

    def dim(self, a):
        n = self.of(a).dim()
        return str(self.r.randint(-max(n, 1), max(n, 1) - 1) if self.r.random() < 0.97 else self.r.randint(-6, 6))

    def new_dim(self, a):
        n = self.of(a).dim()
        return str(self.r.randint(-n - 1, n) if self.r.random() < 0.97 else self.r.randint(-6, 6))

    def dims(self, a):
        n = self.of(a).dim()
        chosen = self.r.sample(range(n), self.r.randint(min(1, n), n)) if n else [self.r.choice((0, -1))]
        return size_text([d - n if n and self.r.random() < 0.2 else d for d in chosen])

    def permutation(self, a):
        n = self.of(a).dim()
        order = self.r.sample(range(n), n)
        if self.r.random() < 0.03 and n:
            order[0] = order[-1]
        return size_text([d - n if self.r.random() < 0.1 else d for d in order])

    def position(self, a, dim):
        t, d = self.of(a), int(dim)
        n = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
        return str(self.r.randint(-n, max(n - 1, 0)) if self.r.random() < 0.93 else self.r.randint(-9, 9))

    def length(self, a, dim):
        t, d = self.of(a), int(dim)
        n = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
        return str(self.r.randint(0, max(n, 1)))

    def stride(self):
        return self.r.choice("1112230" if self.r.random() < 0.05 else "111223")

    def view_shape(self, a):
        n, shape = self.of(a).numel(), []
        if self.r.random() < 0.05:
            return size_text(self.shape())
        while n > 1 and len(shape) < 4:
            factors = [f for f in range(1, n + 1) if n % f == 0]
            shape.append(self.r.choice(factors))
            n //= shape[-1]
        shape.append(n)
        if self.r.random() < 0.2:
            shape[self.r.randrange(len(shape))] = -1
        return size_text(shape)

    def expand_shape(self, a):
        shape = [self.r.choice((1, 2, 3)) if n == 1 else -1 if self.r.random() < 0.2 else n for n in self.of(a).shape]
        if self.r.random() < 0.3:
            shape = [self.r.choice((0, 1, 2, 3, 3))] + shape
        if self.r.random() < 0.03 and shape:
            shape[-1] = 5
        return size_text(shape)

    def new_shape(self):
        return size_text(self.some_shape())

    def dtype(self):
        return self.some_dtype()

    def wide(self):
        return self.r.choice(("float64", "float32", "int64", "int32"))

    def real(self):
        return self.main if self.r.random() < 0.8 else self.r.choice(FLOATS)

    def place(self):
        return self.r.choice(self.places)

    def other_place(self, a):
        return self.place()

    def small(self):
        return str(self.r.randint(0, 4))

    def size(self):
        return str(self.r.randint(1, 4))

    def pieces(self):
        return str(self.r.randint(1, 4))

    def step(self):
        return short(self.r.choice((1, 1, 2, 0.5, -1)))

    def one_or_two(self):
        return self.r.choice("1112")

    def window(self):
        return self.r.choice("1223")

    def padding(self):
        return self.r.choice("0001")

    def certain(self):
        return self.r.choice("01")

    def digit(self):
        return self.r.choice("0011223")

    def rate(self):
        return self.r.choice(("0.5", "0.25", "0.125"))

    def reduction(self):
        return self.r.choice(("mean", "sum", "none"))

    # -- autograd

    def root(self):
        wrong = self.r.random() < 0.04
        name = self.pick(lambda n, t: wrong or (t.requires_grad and (not t.is_leaf or self.r.random() < 0.1)), 0)
        return name or self.any()

    def gradient(self, a):
        t = self.of(a)
        if t.numel() == 1 and self.r.random() < 0.7 or self.r.random() < 0.04:
            return "none"
        return self.gradient_like(a)

    def gradient_like(self, a):
        t, r = self.of(a), self.r
        shape = tuple(t.shape) if r.random() < 0.98 else self.shape()
        name = self.pick(lambda n, o: o.shape == shape and o.dtype == t.dtype and
                         self.oracle.where[n] == self.oracle.where[a] and not o.requires_grad, 0.6)
        return name or self.new_leaf(shape, self.dtype_of(a), self.oracle.where[a], False, "eighths")

    def differentiable(self):
        names = [n for n, t in self.tensors() if t.requires_grad] or [n for n, _ in self.tensors()]
        return ",".join(self.r.sample(names, min(len(names), self.r.randint(1, 3))))

    def recorded(self):
        return self.pick(lambda n, t: t.requires_grad, 0) or self.any()

    def with_grad(self):
        return self.pick(lambda n, t: t.grad is not None, 0) or self.any()

    def module(self):
        names = [n for n in self.oracle.vars if n[0] == "m"]
        if names and self.r.random() < 0.85:
            return self.r.choice(names)
        return self.call(self.r.choice(("nn_linear", "nn_mlp", "nn_conv2d", "nn_batch_norm1d")))[0]

    def sequential(self):
        names = [n for n in self.oracle.vars if n[0] == "m" and isinstance(self.of(n), torch.nn.Sequential)]
        return self.r.choice(names) if names and self.r.random() < 0.85 else self.call("nn_mlp")[0]

    def segments(self):
        return str(self.r.randint(1, 3))  # nn_mlp has three layers

    def optimizer(self):
        names = [n for n in self.oracle.vars if n[0] == "o"]
        if names and self.r.random() < 0.9:
            return self.r.choice(names)
        return self.call(self.r.choice(("sgd", "adam")))[0]

    def parameters(self):
        leaves = [n for n, t in self.tensors() if accepts(lambda _, o: o.is_leaf and o.requires_grad, n, t)]
        leaves = [n for n in leaves if self.of(n).grad is not None] or leaves
        if leaves and self.r.random() < 0.6:
            return ",".join(self.r.sample(leaves, min(len(leaves), self.r.randint(1, 3))))
        return self.module()

    def input(self, m):
        module = self.of(m)
        parameters = list(module.parameters()) + list(module.buffers())
        shape = tuple(parameters[0].shape) if parameters else (2,)
        where = self.oracle.where.get(id(module))
        n = self.r.randint(1, 3)
        if len(shape) == 4:
            shape = (n, shape[1], self.r.randint(2, 4), self.r.randint(2, 4))
        else:
            shape = (n, shape[-1])
        dtype = str(parameters[0].dtype)[6:] if parameters else self.main
        name = self.pick(lambda v, t: tuple(t.shape[1:]) == shape[1:] and t.dim() == len(shape) and
                         self.oracle.where[v] == where and str(t.dtype)[6:] == dtype, 0.3)
        return name or self.new_leaf(shape, dtype, where)
