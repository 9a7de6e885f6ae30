# SPDX-License-Identifier: MIT
"""The list of accepted differences: accepted.txt says what an entry is made of."""

import configparser
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ("versions", "aspect", "statement", "ferry", "torch", "program", "device", "reason")


class Entry:
    def __init__(self, name, fields):
        unknown = set(fields) - set(FIELDS)
        if unknown or not fields.get("reason"):
            raise ValueError("accepted difference [%s]: %s" % (name, "unknown field " + ", ".join(sorted(unknown)) if unknown
                                                               else "no reason is given"))
        self.name, self.reason, self.versions = name, fields["reason"], fields.get("versions", "all")
        self.patterns = {k: re.compile(v) for k, v in fields.items() if k not in ("versions", "reason")}
        self.program = self.patterns.pop("program", None)
        self.count = 0

    def holds_for(self, version):
        return self.versions == "all" or any(
            w == "%d.%d" % version or w == "%d" % version[0] for w in self.versions.split())

    def matches(self, d, device):
        """Does it describe the difference, but for the program?"""
        p = self.patterns
        return (("aspect" not in p or p["aspect"].fullmatch(d.aspect)) and
                ("statement" not in p or p["statement"].fullmatch(d.statement)) and
                ("ferry" not in p or p["ferry"].search(d.ferry)) and ("torch" not in p or p["torch"].search(d.torch)) and
                ("device" not in p or p["device"].search(device)))


class Accepted:
    def __init__(self, paths, version):
        self.entries = []
        for path in paths:
            parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
            with open(path) as f:
                parser.read_file(f)
            self.entries += [Entry(name, dict(parser[name])) for name in parser.sections()]
        self.entries = [e for e in self.entries if e.holds_for(version)]

    def without_program(self, d, device):
        """The entry that accepts a difference whatever the program is, or None."""
        return next((e for e in self.entries if e.program is None and e.matches(d, device)), None)

    def with_program(self, d, device, statements):
        """The entry that accepts it in this (shrunk) program."""
        text = "; ".join(s.line() for s in statements)
        return next((e for e in self.entries if e.program and e.matches(d, device) and e.program.search(text)), None)
