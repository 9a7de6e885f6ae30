# SPDX-License-Identifier: MIT
"""%ferry and %%ferry."""

import contextlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import display

from . import answer, lesson, locate, options, process, report
from .messages import Messages

LINE_COMMANDS = ("hint", "doctor", "list", "next", "start", "reset", "solution", "diff", "best", "chapter", "version", "help", "run")


def show(bundle):
    display(bundle, raw=True)


class Cell:
    """A cell as files in a temporary folder. Line N of cell.cu is line N of the cell in the notebook."""

    def __init__(self, folder, line, text, suffix):
        self.folder, self.text = Path(folder), text
        self.name = "cell" + suffix
        self.file = self.folder / self.name  # what is compiled
        first = ("// %%ferry " + line).rstrip(" \\")  # the line of the magic command
        (self.folder / self.name).write_text(first + "\n" + text)

    def use_lesson(self, root, number, part):
        if root is None:
            raise UsageError("this Ferry has no lessons' programs. Use a clone: %env FERRY_HOME=/path/to/ferry")
        try:
            text, suffix = lesson.assemble(root, number, part, self.folder / self.name, self.text, 2)
        except lesson.NoSuchPart as problem:
            raise UsageError(str(problem)) from None
        self.file = self.folder / ("program" + suffix)
        self.file.write_text(text)

    @property
    def is_cuda(self):
        return self.file.suffix == ".cu"

    def shown(self, text):
        """Without the name of a temporary folder, and with a command in one line where it then fits."""
        text = re.sub(r"\S*ferry-answer-[\w-]+/bare\.cu\b", self.name, text.replace(f"{self.folder}/", ""))
        return re.sub(r"^( *See it: .*) \\\n +(.*)$", lambda m: m[0] if len(m[1] + m[2]) > 78 else f"{m[1]} {m[2]}", text, flags=re.M)

    def lines(self):
        return list(enumerate(self.text.rstrip("\n").split("\n"), 2))


@contextlib.contextmanager
def folder_of_cell():
    """Also for Ferry's temporary files, since a Ferry that is stopped leaves its own. Answers may run as another user."""
    with tempfile.TemporaryDirectory(prefix="ferry-cell-") as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


@contextlib.contextmanager
def cell_of(line, text, suffix=".cu"):
    with folder_of_cell() as folder:
        yield Cell(folder, line, text, suffix)


@magics_class
class FerryMagics(Magics):
    @line_cell_magic
    def ferry(self, line, cell=None):
        """Runs Ferry: %ferry --help, %%ferry --help."""
        words = options.split(line)
        try:
            program = None if words[:1] in (["--help"], ["-h"]) else locate.find()
            status = (self.line(program, words) if cell is None else self.cell(program, words, line, cell)) or 0
        except locate.NotFound as problem:
            raise UsageError(str(problem)) from None
        self.shell.user_ns["_exit_code"] = status

    # ---- a line -----------------------------------------------------------------------------------------------------------------

    def line(self, program, words):
        if not words or words[0].startswith("-"):
            print(options.HELP[""], end="")
            return 0
        command = words[0]
        if command in ("inspect", "step", "check") and is_help(words[1:]):
            return show_help(program, command)
        if command in ("inspect", "step"):
            return self.file(program, command, words[1:])
        if command in LINE_COMMANDS:
            return process.run([program, *words], {"PAGER": "cat"}, sys.stdout.write, sys.stderr.write)
        if command in ("check", "c"):
            raise UsageError(f"%%ferry {command} is for a cell: it begins the cell, and the code follows in the next line")
        raise UsageError(f"there is no command {command} for a notebook. %ferry --help lists them; a terminal has more: ./ferry help")

    def file(self, program, command, words):
        """A file instead of a cell."""
        mine, arguments = options.before_arguments(words)
        name = next((word for word in mine if word.endswith(".cu")), None)
        if name is None:
            raise UsageError(f"which file? %ferry {command} FILE.cu")
        root = locate.root_of(program)
        path = next((p for p in (Path(name), root and root / name) if p and p.is_file()), None)
        if path is None:
            raise UsageError(f"there is no file {name}")
        mine.remove(name)
        with folder_of_cell() as folder:
            run = Subject(program, path, path.name, folder, list(enumerate(path.read_text().split("\n"), 1)), lambda text: text)
            return run.inspect(mine, arguments) if command == "inspect" else run.step(mine, arguments, 640)

    # ---- a cell -----------------------------------------------------------------------------------------------------------------

    def cell(self, program, words, line, text):
        command = words[0] if words and not words[0].startswith("-") else ""
        if is_help(words[1:] if command else words):
            return show_help(program, command)
        if command == "check":
            return self.check(program, words[1:], line, text)
        if command in ("inspect", "step"):
            return self.look(program, command, words[1:], line, text)
        if command in ("", "c"):
            return self.run(program, words[1:] if command else words, line, text, ".c" if command else ".cu")
        raise UsageError(f"there is no command {command} for a cell: %%ferry, %%ferry c, %%ferry inspect, %%ferry step or %%ferry check EX")

    def run(self, program, words, line, text, suffix):
        own = {"--section": {"type": int}, "--gpu": {}, "--devices": {"type": int}}
        chosen, rest, arguments = options.parse_cell(words, own)
        flags = options.preprocessor(rest)
        with cell_of(line, text, suffix) as cell:
            environment = {"TMPDIR": cell.folder}
            if chosen.gpu:
                environment["FERRY_SIM_GPU"] = chosen.gpu
            if chosen.devices:
                environment["FERRY_SIM_DEVICES"] = str(chosen.devices)
            if chosen.lesson:
                cell.use_lesson(locate.root_of(program), chosen.lesson, chosen.part)
            elif "main" not in text:
                raise UsageError(
                    "the cell has no main, so nothing runs"
                    + (". To run its kernel: %%ferry inspect --grid 4 --block 256 --arg n=1000" if cell.is_cuda else "")
                )
            if flags and not cell.is_cuda:
                raise UsageError("-I and -D are for CUDA")
            out = lesson.Section(chosen.section, sys.stdout.write) if chosen.section is not None else None
            messages = Messages(cell, out or sys.stdout.write, quiet=out is not None)
            tool = [program, "cuda", "--count", *beside(cell.file), *flags] if cell.is_cuda else [program, "play"]
            status = process.run([*tool, cell.file, "--", *arguments], with_includes(environment), messages.out, messages.err)
            if out:
                out.end()
            if messages.end() == 0 and status != 0:
                sys.stderr.write(messages.kept)
                print(f"The program ended with exit status {status}.", file=sys.stderr)
            return status

    def look(self, program, command, words, line, text):
        own = {"--height": {"type": int, "default": 640}} if command == "step" else {}
        chosen, rest, arguments = options.parse_cell(words, own)
        with cell_of(line, text) as cell:
            if chosen.lesson:
                cell.use_lesson(locate.root_of(program), chosen.lesson, chosen.part)
            if not cell.is_cuda:
                raise UsageError(f"lesson {chosen.lesson} is in C, and has no kernels of its own")
            subject = Subject(program, cell.file, cell.name, cell.folder, cell.lines(), cell.shown)
            return subject.inspect(rest, arguments) if command == "inspect" else subject.step(rest, arguments, chosen.height)

    def check(self, program, words, line, text):
        if not words or words[0].startswith("-"):
            raise UsageError("which exercise? %%ferry check 25.1")
        parts = []
        with cell_of("check " + words[0], text, "") as cell:
            own = [word for word in words if word != "--no-save"]
            original = answer.file_of(program, words[0], cell.folder / "originals")
            if own != words or not answer.save(answer.file_of(program, words[0]), original.read_text(), line, text):
                own += ["--file", cell.file.rename(cell.file.with_suffix(original.suffix))]
            status = process.run([program, "run", *own], {"TMPDIR": cell.folder}, parts.append, parts.append)
            said = cell.shown("".join(parts))
        show(report.verdict(said, status == 0)) if status in (0, 1) else sys.stderr.write(said)
        return status


def is_help(words):
    return bool(words) and (words[0] in ("--help", "-h") or (len(words) > 1 and words[1] in ("--help", "-h")))


def show_help(program, command):
    print(options.HELP.get(command, options.HELP[""]), end="")
    return process.run([program, {"check": "run"}.get(command, command), "--help"], None, sys.stdout.write, sys.stderr.write) if command in (
        "inspect",
        "step",
        "check",
    ) else 0


def beside(file):
    """Headers beside the notebook, for a CUDA file that includes some."""
    return ["-I."] if re.search(r'^\s*#\s*include\s*"', file.read_text(errors="replace"), re.M) else []


def with_includes(environment):
    """The same for C."""
    return {**environment, "CPATH": os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("CPATH"))))}


class Subject:
    """A CUDA file that is inspected, or stepped through."""

    def __init__(self, program, file, own_name, folder, lines, shown):
        self.program, self.file, self.own_name, self.folder, self.lines, self.shown = program, file, own_name, folder, lines, shown

    def call(self, command, words, arguments):
        out, err = [], []
        tail = ["--", *arguments] if arguments else []
        status = process.run([self.program, command, self.file, *beside(self.file), *words, *tail], {"TMPDIR": self.folder}, out.append, err.append)
        return status, self.shown("".join(out)), self.shown("".join(err))

    def fail(self, err):
        """The command could not do it: the compiler's messages, or what Ferry says."""
        if report.diagnostics(err):
            show(report.messages(err, self.own_name))
        else:
            sys.stderr.write(err)

    def inspect(self, words, arguments):
        if {"--json", "--gcc", "--table"} & set(words):
            status, out, err = self.call("inspect", words, arguments)
            print(out, end="")
            sys.stderr.write(err)
            return status
        to = self.folder / "report.json"
        status, out, err = self.call("inspect", [*words, "--json", to], arguments)
        if status > 1 or not to.is_file():
            self.fail(err)
            return status
        sys.stderr.write(err)
        records = [json.loads(line) for line in to.read_text().splitlines()]
        show(report.inspection(records, self.lines, self.own_name, out.rstrip("\n")))
        return status

    def step(self, words, arguments, height):
        page = self.folder / "player.html"
        at = [] if "--at" in words else ["--at", "finding"]
        status, out, err = self.call("step", [*words, "--html", page, *at], arguments)
        if at and status == 2 and page.is_file():  # there is no finding
            status, out, err = self.call("step", [*words, "--at", "0"], arguments)
        if status or not page.is_file():
            self.fail(err)
            return status
        sys.stderr.write(err)
        show(report.player(page.read_text(), height, out.rstrip("\n")))
        return 0
