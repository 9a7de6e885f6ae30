# SPDX-License-Identifier: MIT
"""Runs programs in PyTorch, on the CPU, and says what comes of them in the interpreter's words.

Devices are names that are kept beside each tensor: a move makes a copy, as it does between devices.
"""

import contextlib
import os
import re
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint_sequential  # noqa: F401 (of calls.def's expressions)

from table import ROWS, is_variable

warnings.simplefilter("ignore")
AUTOCAST = os.environ.get("FUZZ_AUTOCAST")
torch.set_num_threads(1)

VERSION = tuple(int(n) for n in re.findall(r"\d+", torch.__version__)[:2])
DTYPES = {name: getattr(torch, name) for name in
          ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")}
WIDENED = {name: torch.float64 if dtype.is_floating_point else dtype for name, dtype in DTYPES.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
GRADIENTS = ("grad", "autograd_grad")
PRODUCTS = ("matmul", "linear", "linear_relu", "forward")  # a vector's product is made in place, a bias added so
MIXED = "Expected all tensors to be on the same device"


class DeviceError(RuntimeError):
    """Stands for the error that PyTorch would raise on real devices."""


class Hook:
    def __init__(self, scale):
        self.scale, self.calls, self.seen = scale, 0, []

    def note(self, grad):
        if grad is None:  # of an output that nobody used
            return
        self.calls += 1
        with torch.no_grad():
            self.seen = (self.seen + [grad.detach().clone(memory_format=torch.contiguous_format)])[-2:]

    def __call__(self, grad):
        self.note(grad)
        return grad * number(repr(self.scale)) if self.scale and grad is not None else None


def number(text):
    """A whole number is an int, so that it does not turn integers into floating numbers."""
    value = float(text)
    return int(value) if value == value and abs(value) < 2**53 and value == int(value) else value


def size(text):
    return () if text == "-" else tuple(int(n) for n in text.split(","))


def storage_of(t):
    return t.untyped_storage().data_ptr() if VERSION >= (2, 0) else t.storage().data_ptr()


def joined(numbers):
    return ",".join(map(str, numbers)) or "-"


def text_of(value):
    """A number as the interpreter writes it."""
    if value != value:
        return "nan"
    if abs(value) < 2**31 and value == int(value):
        return "-0" if value == 0 and str(value)[0] == "-" else str(int(value))
    return "%.17g" % value


# ---- what the expressions of calls.def use -----------------------------------------------------------------------------


def bound(value):
    return None if value in (float("inf"), float("-inf")) else value


def leaf(values, dtype, shape, requires_grad):
    t = torch.empty(shape, dtype=dtype)
    t.data.copy_(torch.tensor([float(v) for v in values], dtype=torch.float64).reshape(shape))
    return t.requires_grad_(True) if requires_grad else t


def ask_history(v):
    """A view whose base has been changed in place is a leaf for PyTorch until it is asked for its grad_fn."""
    if isinstance(v, torch.Tensor):
        try:
            v.grad_fn
        except RuntimeError:  # it is not allowed to have one: the statement finds out
            pass


def captured(grads, gradient):
    """Gradients in memory of their own. PyTorch may hand out the very tensor that was given as the gradient, or one for
    several inputs; a program that changes one must not change the others."""
    taken, found = {storage_of(gradient)} if gradient is not None else set(), []
    for g in grads:
        if g is not None and storage_of(g) in taken:
            g = g.detach().clone(memory_format=torch.contiguous_format)
        if g is not None:
            taken.add(storage_of(g))
        found.append(g)
    return found


def set_grad(a, b):
    a.grad = b


class Oracle:
    """PyTorch's side of one program."""

    def __init__(self, device, noise=None, widened=False):
        self.device = device  # what `dev` stands for
        self.dtypes = WIDENED if widened else DTYPES
        self.vars, self.where, self.hooks, self.guards = {}, {}, [], []
        self.lines, self.values = [], {}  # of the report: text, and numbers of those lines that have some
        # By the address of their memory, of tensors whose making PyTorch kept to itself: how often they were changed before
        # they were handed out, and those where the number of changes, or the layout, too, is nobody's business.
        self.made_at, self.parameters, self.layouts = {}, set(), set()
        self.moving = None
        self.noise = noise  # a function that disturbs results: see compare.py
        self.helpers = {"scaling_hook": self.scaling_hook, "leaf_hook": self.leaf_hook, "moved": self.moved,
                        "gradient_of": lambda a: a.grad, "move_module": self.move_module}

    def close(self):
        torch.set_grad_enabled(True)
        self.vars.clear()
        self.hooks.clear()

    # -- helpers of the table that know devices

    def scaling_hook(self, a, scale):
        hook = Hook(scale)
        self.hooks.append(hook)
        a.register_hook(hook)

    def leaf_hook(self, a):
        hook = Hook(0)
        self.hooks.append(hook)
        a.register_post_accumulate_grad_hook(lambda t: hook.note(t.grad))

    def moved(self, a, device, dtype=None, copy=False):
        return a.to(dtype or a.dtype, copy=copy or device != self.moving)

    def move_module(self, m, device):
        """module.to(device): the parameters stay the same objects."""
        moved = list(m.parameters()) + list(m.buffers())
        self.where.update((name, device) for name, v in self.vars.items() if any(v is t for t in moved))
        for t in moved:
            if self.where.get(id(m)) != device:
                t.data = t.data.clone()
                if t.grad is not None:
                    t.grad.data = t.grad.data.clone()
        self.where[id(m)] = device

    # -- one statement

    def value(self, kind, text):
        if kind == "T":
            return self.vars[text] if is_variable(text) else None
        if kind == "LIST":
            return [self.vars[word] for word in text.split(",") if is_variable(word)]
        if kind == "NAMED":
            return list(self.vars[text].parameters()) if text[0] == "m" else self.value("LIST", text)
        if kind in "MO":
            return self.vars[text]
        return {"I": int, "N": number, "B": lambda v: v == "1", "S": size, "D": str, "R": str,
                "Y": self.dtypes.__getitem__}[kind](text)

    def device_of(self, row, args):
        """Where a call runs by the devices of its tensors; raises as PyTorch does when they differ."""
        if "device" in args:
            self.moving = self.where.get(args.get("a"))
            return args["device"]
        if row.name in ("copy_", "copy_async_", "grad", "view_as", "requires_grad_"):
            return self.where[args["a"]]
        if row.name in ("backward", "autograd_grad"):
            given = args["gradient"]
            if given != "none" and self.where[given] != self.where[args["a"]]:
                raise DeviceError(MIXED)
            return None
        if row.name == "parameter":
            return self.where.get(id(self.vars[args["m"]]))
        names = [(w, self.where[w]) for k, v in args.items() if row.types.get(k) in ("T", "LIST")
                 for w in v.split(",") if is_variable(w)]
        if "m" in args:
            names.append(("m", self.where.get(id(self.vars[args["m"]]))))
        device = None
        pointwise = any(kind in ("fits", "into", "alike") for _, kind, _ in row.draws)
        for name, where in names:
            scalar = pointwise and where == "cpu" and name != "m" and self.vars[name].dim() == 0
            if device is None or where == device[1]:
                device = device or (name, where, scalar)
            elif device[2] and not scalar and where is not None:
                device = (name, where, scalar)
            elif not scalar:
                raise DeviceError(MIXED)
        if row.kind == "IN_PLACE" and device and device[1] != self.where[args["a"]]:
            raise DeviceError(MIXED)
        return device[1] if device else None

    def run(self, index, s):
        """Runs a statement; returns the error's text or None."""
        if s.name in BLOCKS:
            BLOCKS[s.name](self, s)
            return None
        row = ROWS[s.name]
        for name in s.inputs():
            if self.vars.get(name) is None:
                self.lines.append("skip %d" % index)
                return "skip"
            ask_history(self.vars[name])
        for name in s.outputs:
            self.vars.pop(name, None)
        try:
            device = self.device_of(row, s.args)
            arguments = {k: self.value(row.types[k], v) for k, v in s.args.items() if k in row.types}
            if s.values is not None:
                arguments["values"] = s.values
            with torch.autocast("cpu", cache_enabled=False) if AUTOCAST else contextlib.nullcontext():
                result = function_of(row)(self.helpers, **arguments)
        except Exception as error:  # whatever PyTorch raises is a result
            return self.raised(index, error)
        self.store(index, s, row, arguments, result, device)
        return None

    def raised(self, index, error):
        kind = type(error).__name__
        if isinstance(error, DeviceError):
            kind = "RuntimeError"
        text = str(error).split("\nException raised from")[0].replace("\n", " ")
        self.lines.append("raise %d %s %s" % (index, kind, text))
        return text

    def store(self, index, s, row, arguments, result, device):
        if row.name in ("module_to", "module_to_dtype"):
            self.know_parameters(arguments["m"])
        if row.kind in ("DO", "IN_PLACE"):
            return
        if row.kind in ("MODULE", "OPTIMIZER"):
            self.vars[s.outputs[0]] = result
            if row.kind == "MODULE":
                set_parameters(result)
                self.know_parameters(result)
                self.where[id(result)] = device
            return
        results = list(result) if row.kind in ("PAIR", "SEVERAL") else [result]
        places = s.args["inputs"].split(",") if row.name == "autograd_grad" else None
        for i, (name, t) in enumerate(zip(s.outputs, results)):
            if t is not None:
                self.row_major(t, row, arguments)
                self.remember(t, row)
                if self.noise:
                    self.noise(t, row.name)
            self.vars[name] = t
            self.where[name] = self.where[places[i]] if places else device
        for i, name in enumerate(s.outputs):
            t = self.vars.get(name)
            self.lines.append("made %d %s%s" % (index, name, "" if t is None else self.variable(t, self.where[name])))

    def know_parameters(self, m):
        self.parameters.update(storage_of(t) for t in list(m.parameters()) + list(m.buffers()) if t.numel())

    def remember(self, t, row):
        """Keeps account of memory that PyTorch filled before it handed it out."""
        if row.name in GRADIENTS:
            self.parameters.add(storage_of(t))
            if row.name == "autograd_grad":
                self.layouts.add(storage_of(t))
        elif row.name in PRODUCTS and t._version:
            self.made_at[storage_of(t)] = t._version

    def row_major(self, t, row, arguments):
        """Ferry's new tensors are row-major, PyTorch's keep the order of the input's strides: their values, in that order."""
        if row.name in GRADIENTS or row.name == "parameter":
            return
        storage = storage_of(t)
        for a in arguments.values():
            for other in a if isinstance(a, list) else [a]:
                if isinstance(other, torch.Tensor) and storage_of(other) == storage:
                    return
        for account in (self.parameters, self.layouts):
            account.discard(storage)  # memory that is used again
        self.made_at.pop(storage, None)
        if not t.is_contiguous():
            t.data = t.data.contiguous()

    # -- the report

    def shape(self, t, device, storage=None):
        device = "dev" if device == self.device else device
        unknown = self.layouts and t.numel() and (storage or storage_of(t)) in self.layouts
        strides = "?" if unknown else joined(t.stride())
        return " %s %s %s %s" % (NAMES.get(t.dtype, str(t.dtype)), joined(t.shape), strides, device)

    def variable(self, t, device):
        try:
            grad_fn = t.grad_fn  # first: a view hears of a change of its base when it is asked for this
            leaf, name = int(t.is_leaf), grad_fn.name().replace("torch::autograd::", "") if grad_fn is not None else "-"
        except RuntimeError:  # of views whose history is forbidden: nobody can ask them
            leaf = name = "?"
        storage = storage_of(t)
        made_inside = storage in self.parameters
        return "%s %s %d %s %s %s %s" % (
            self.shape(t, device, storage), "?" if made_inside else t.storage_offset(), t.requires_grad, leaf, name,
            "?" if made_inside or not storage else t._version - self.made_at.get(storage, 0),
            "?" if storage in self.layouts else int(t.is_contiguous()))

    def numbers(self, t):
        return t.detach().reshape(-1).tolist()

    def add(self, text, t):
        self.values[len(self.lines)] = self.numbers(t)
        self.lines.append(text)

    def report_tensor(self, name, t, device):
        self.add("var %s%s" % (name, self.variable(t, device)), t)
        grad = t.grad
        if grad is not None:
            self.add("grad %s%s" % (name, self.shape(grad, device)), grad)

    def report(self):
        for guard in reversed(self.guards):
            torch.set_grad_enabled(guard)
        order = sorted((n for n in self.vars if n[0] == "t"), key=lambda n: int(n[1:]))
        for name in order:
            if self.vars[name] is not None:
                self.report_tensor(name, self.vars[name], self.where[name])
        for name in sorted((n for n in self.vars if n[0] == "m"), key=lambda n: int(n[1:])):
            m = self.vars[name]
            for letter, tensors in (("p", m.parameters()), ("b", m.buffers())):
                for i, t in enumerate(tensors):
                    self.report_tensor("%s.%s%d" % (name, letter, i), t, self.where[id(m)])
        for i, hook in enumerate(self.hooks):
            self.lines.append("hook %d %d" % (i, hook.calls))
            for k, seen in enumerate(hook.seen):
                self.add("saw %d.%d%s" % (i, k + 2 - len(hook.seen), self.shape(seen, "?")), seen)


def set_parameters(m):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            values = [((k * 7 + i * 3) % 11 - 5) / 8 for k in range(p.numel())]
            p.copy_(torch.tensor(values, dtype=torch.float64).reshape(p.shape))


def function_of(row):
    """The row's PyTorch expression as a function of its helpers and arguments."""
    function = getattr(row, "function", None)
    if function is None:
        names = list(row.types) + (["values"] if row.name == "tensor" else [])
        helpers = [n for n in ("scaling_hook", "leaf_hook", "moved", "gradient_of", "move_module") if n in row.python]
        body = "lambda helpers, %s: %s" % (", ".join("%s=None" % renamed(n) for n in names), renamed(row.python))
        for n in helpers:
            body = re.sub(r"\b%s\(" % n, 'helpers["%s"](' % n, body)
        plain = eval(body, globals())
        row.function = function = (lambda helpers, **a: plain(helpers, **{renamed(k): v for k, v in a.items()})) \
            if any(renamed(n) != n for n in names) else plain
    return function


def renamed(text):
    """`async` is a word of Python's own."""
    return re.sub(r"\basync\b", "async_", text)


def open_block(enabled):
    def run(oracle, s):
        oracle.guards.append(torch.is_grad_enabled())
        if enabled is not None:
            torch.set_grad_enabled(enabled)
    return run


def close_block(oracle, s):
    if oracle.guards:
        torch.set_grad_enabled(oracle.guards.pop())


def drop(oracle, s):
    if oracle.vars.get(s.args["a"]) is None:
        oracle.lines.append("skip %d" % oracle.index)
    else:
        del oracle.vars[s.args["a"]]


def nothing(oracle, s):
    if "a" in s.args and oracle.vars.get(s.args["a"]) is None:
        oracle.lines.append("skip %d" % oracle.index)


BLOCKS = {"no_grad": open_block(False), "enable_grad": open_block(True), "stream": open_block(None), "end": close_block,
          "drop": drop, "wait": nothing, "record": nothing, "synchronize": nothing}


def run_program(statements, device, noise=None, widened=False):
    """The lines and numbers that a program leaves behind."""
    oracle = Oracle(device, noise, widened)
    try:
        for i, s in enumerate(statements):
            oracle.index = i
            oracle.run(i, s)
        oracle.report()
        return oracle.lines, oracle.values
    finally:
        oracle.close()
