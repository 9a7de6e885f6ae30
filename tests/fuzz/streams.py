# SPDX-License-Identifier: MIT
"""What a correct program does about streams: before a statement, its stream waits for those that its tensors were last
written on (and, to write, read on); a tensor that another stream uses is recorded there. A program names only its streams;
these statements are added here, so that a shrunk program is as correct as the whole one was."""

from table import ROWS, Statement

ADDED = ("wait", "record", "synchronize")  # what a drawn program has not got
SHARING = ("VIEW", "SEVERAL", "MODULE")


class Streams:
    def __init__(self):
        self.current = {}  # of each device
        self.blocks = []
        self.group = {}  # the memory that a variable is in; one name for all that share it
        self.place = {}  # the device of a variable
        self.written, self.read = {}, {}  # by group: the streams, each (device, number), that wrote and read it last
        self.home = {}  # where its memory was made
        self.waited = set()  # (stream, other) with nothing new on other since
        self.used = False

    def stream_of(self, device):
        return device, self.current.get(device, "0")

    def wait(self, stream, others):
        found = []
        for other in sorted(others):
            if other != stream and (stream, other) not in self.waited:
                self.waited.add((stream, other))
                found.append(Statement([], "wait", {"number": stream[1], "other": other[1], "device": stream[0]})
                             if stream[0] == other[0] else None)
        return [s for s in found if s]

    def touch(self, name, write):
        """The statements needed before a use of a variable, on its device's current stream."""
        device = self.place.get(name)
        if device in (None, "cpu"):
            return []
        g, stream = self.group.get(name, name), self.stream_of(device)
        others = self.written.get(g, set()) | (self.read.get(g, set()) if write else set())
        needed = self.wait(stream, others)
        if self.home.get(g, stream) != stream and name[0] == "t":
            needed.append(Statement([], "record", {"a": name, "number": stream[1], "device": device}))
        if write:
            self.written[g], self.read[g] = {stream}, set()
        else:
            self.read.setdefault(g, set()).add(stream)
        self.busy(stream)
        return needed

    def busy(self, stream):
        """There is new work on a stream: who has waited for it before has to wait again."""
        self.waited = {pair for pair in self.waited if pair[1] != stream}

    def before(self, s):
        """What must stand before a statement; keeps account of it."""
        if s.name == "stream":
            self.used = True
            self.blocks.append((s.args["device"], self.current.get(s.args["device"], "0")))
            self.current[s.args["device"]] = s.args["number"]
            return []
        if s.name in ("no_grad", "enable_grad"):
            self.blocks.append(None)
            return []
        if s.name == "end":
            block = self.blocks.pop() if self.blocks else None
            if block:
                self.current[block[0]] = block[1]
            return []
        if s.name == "drop":
            self.place.pop(s.args["a"], None)
            return []
        return self.call(s)

    def call(self, s):
        row, needed = ROWS[s.name], []
        inputs = s.inputs()
        graph = s.name in ("backward", "autograd_grad", "step", "zero_grad", "module_zero_grad", "grad", "set_grad",
                           "module_to", "module_to_dtype")
        places = sorted((self.place[n] for n in inputs if n in self.place), key=lambda place: place in (None, "cpu"))
        device = s.args.get("device") or next(iter(places), None)  # a number on the CPU may stand beside CUDA tensors
        if graph:  # gradients of any variable are read and written, on the streams that are current here
            for name in list(self.place):
                if name not in inputs:
                    needed += self.touch(name, True)
        for name in inputs:
            writes = graph or (row.kind == "IN_PLACE" and name == s.args.get("a")) or name[0] in "mo"
            needed += self.touch(name, writes)
        for name in s.outputs:
            self.made(name, device, self.shared(s, row, device))
        return needed

    def shared(self, s, row, device):
        """The memory that a call's results may be in, or None."""
        inputs = s.inputs()
        if row.kind not in SHARING or not inputs or s.name == "autograd_grad":
            return None
        other = inputs[-1 if s.name == "forward" else 0]
        return self.group.get(other, other) if self.place.get(other, device) == device else None

    def made(self, name, device, shared):
        self.place[name], self.group[name] = device, shared or name
        if device in (None, "cpu"):
            return
        stream = self.stream_of(device)
        if shared:  # or a copy, made here
            self.written.setdefault(shared, set()).add(stream)
        else:
            self.home[name], self.written[name], self.read[name] = stream, {stream}, set()
        self.busy(stream)


def returns_early(s):
    """Is it a copy that may still be under way when it returns?"""
    return s.name == "copy_async_" or s.name == "to_both" and s.args.get("async") == "1"


def unfinished(s, streams):
    """The device whose copy from or to the host may be under way: the host's memory is neither right yet nor free to change."""
    source = streams.place.get(s.args.get("a" if s.name == "to_both" else "b"))
    target = s.args["device"] if s.name == "to_both" else streams.place.get(s.args.get("a"))
    if "cpu" not in (source, target):
        return None
    return next((d for d in (source, target) if d not in (None, "cpu")), None)


def complete(statements):
    """The program with its waits and records."""
    if not any(s.name == "stream" or returns_early(s) for s in statements):
        return statements
    streams, out = Streams(), []
    for s in statements:
        out += streams.before(s)
        device = unfinished(s, streams) if returns_early(s) else None
        out.append(s)
        if device:
            out.append(Statement([], "synchronize", {"device": device}))
    return out
