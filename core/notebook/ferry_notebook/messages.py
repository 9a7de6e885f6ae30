# SPDX-License-Identifier: MIT
"""What a program that is compiled and run writes: the compiler's messages, its own output as it comes, and what was counted."""

import re
import sys

from IPython.display import display

from . import report

FROM_COMPILER = re.compile(r"\S+:\d+:(\d+:)? (fatal error|error|warning|note): |In file included from |\S+: In (member )?function ")
HEADERS = ("cudasim: counted in this run", "counted by the library:")


class Messages:
    """`quiet`: only what the compiler says and the standard output; the rest is in `kept`."""

    def __init__(self, cell, out, quiet=False):
        self.cell, self.write, self.quiet, self.kept = cell, out, quiet, ""
        self.compiling, self.held, self.partial, self.counted = True, "", "", None
        self.blank = ""  # an empty line, which is left out before the counts
        self.errors = 0

    def out(self, text):
        self.compiled()
        self.write(self.cell.shown(text))

    def err(self, text):
        *lines, self.partial = (self.partial + text).split("\n")
        for line in lines:
            self.line(line + "\n")
        if self.partial and self.counted is None and not self.compiling and not any(h.startswith(self.partial) for h in HEADERS):
            self.program(self.partial)
            self.partial = ""

    def line(self, line):
        if self.counted is not None:
            self.counted += line
        elif line.rstrip("\n") in HEADERS:
            self.compiled()
            self.counted = line
        elif self.compiling and (self.held or FROM_COMPILER.match(self.cell.shown(line))):
            self.held += line
        else:
            self.compiling = False
            self.program(line)

    def program(self, text):
        if self.quiet:
            self.kept += text
        elif text == "\n":
            self.blank += text
        else:
            sys.stderr.write(self.blank + self.cell.shown(text))
            self.blank = ""

    def compiled(self):
        """What the compiler said is complete."""
        self.compiling = False
        if self.held:
            text = self.cell.shown(self.held).rstrip("\n")
            self.errors = sum("error" in severity for _, _, severity, _ in report.diagnostics(text))
            display(report.messages(text, self.cell.name), raw=True)
        self.held = ""

    def end(self):
        """The number of errors of the compiler."""
        if self.partial:
            self.line(self.partial)
        self.compiled()
        if self.counted and not self.quiet:
            display(report.counts(self.counted), raw=True)
        return self.errors
