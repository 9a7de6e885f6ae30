# SPDX-License-Identifier: MIT
"""Reads calls.def: what a program can be made of."""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ("CALL", "VIEW", "PAIR", "SEVERAL", "IN_PLACE", "DO", "MODULE", "OPTIMIZER")
ACCESSOR = re.compile(r"\b(NAMED|LIST|[TINBSDYRMO])\((\w+)\)")


class Row:
    """One call: how its arguments are drawn, and what it is in C and in Python."""

    def __init__(self, kind, name, draw, c, python):
        self.kind, self.name, self.c, self.python = kind, name, c, python
        self.draws = [(key, call, [a.strip() for a in args.split(",") if a.strip()])
                      for key, call, args in re.findall(r"(\w+)=(\w+)\(([^)]*)\)", draw)]
        self.types = {key: accessor for accessor, key in ACCESSOR.findall(c)}
        if name == "tensor":
            self.types = {"dtype": "Y", "shape": "S", "device": "D", "requires_grad": "B"}
        self.types.update({key: self.types.get(key, "T") for key, _, _ in self.draws})


def split_arguments(text):
    """Divides at commas outside of brackets and strings."""
    parts, depth, quoted, begin = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
        elif not quoted and c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return parts + [text[begin:].strip()]


def unquoted(text):
    return "".join(re.findall(r'"([^"]*)"', text))


def call_at(text, begin):
    """The text between the bracket at `begin` and the one that closes it."""
    depth, quoted = 0, False
    for i in range(begin, len(text)):
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
            if depth == 0:
                return text[begin + 1:i]
    raise ValueError("calls.def: a bracket is not closed")


def read():
    with open(os.path.join(HERE, "calls.def")) as f:
        text = "".join(line for line in f if not line.startswith("//"))
    rows = {}
    for match in re.finditer(r"^(%s)\(" % "|".join(KINDS), text, re.M):
        name, draw, c, python = split_arguments(call_at(text, match.end() - 1))
        rows[name] = Row(match.group(1), name, unquoted(draw), " ".join(c.split()), unquoted(python))
    return rows


ROWS = read()
BLOCKS = ("no_grad", "enable_grad", "stream")


class Statement:
    """One line of a program."""

    __slots__ = ("outputs", "name", "args", "values")

    def __init__(self, outputs, name, args, values=None):
        self.outputs, self.name, self.args, self.values = outputs, name, args, values

    def line(self):
        text = " ".join(self.outputs) + " = " + self.name if self.outputs else self.name
        for key, value in self.args.items():
            text += " %s=%s" % (key, value)
        return text + (" : " + " ".join(self.values) if self.values is not None else "")

    def inputs(self):
        """The variables that it names."""
        return [word for value in self.args.values() for word in value.split(",") if is_variable(word)]

    def copy(self):
        return Statement(list(self.outputs), self.name, dict(self.args), None if self.values is None else list(self.values))


def is_variable(word):
    return len(word) > 1 and word[0] in "tmo" and word[1:].isdigit()


def parse_line(line):
    values = None
    if " : " in line or line.rstrip().endswith(" :"):
        line, _, tail = line.partition(" :")
        values = tail.split()
    outputs, equals, rest = line.partition(" = ")
    words = (rest if equals else line).split()
    return Statement(outputs.split() if equals else [], words[0], dict(w.split("=", 1) for w in words[1:]), values)
