# SPDX-License-Identifier: MIT
"""A cell as the answer to an exercise: the file in the workspace, which the terminal and editors use, too."""

import hashlib
import os
import re
import subprocess
import time
from pathlib import Path

from IPython.core.error import UsageError

from . import locate


def ask(program, *words):
    return subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def exercise_id(program, name):
    """25.1, or a part of a name, is an exercise; None where it is not just one. ./ferry says then what is near."""
    ids = ask(program, "list", "--ids").stdout.split()
    number = re.fullmatch(r"(\d+)\.(\d+)", name)
    start = f"{int(number[1]):02d}_{number[2]}_" if number else None
    near = [one for one in ids if one == name or (one.startswith(start) if start else name in one)]
    exact = [one for one in near if one == name]
    return (exact or near)[0] if len(exact or near) == 1 else None


def workspace(program):
    if os.environ.get("FERRY_WORK"):
        return Path(os.environ["FERRY_WORK"])
    root = locate.root_of(program)
    return root / "work" if root else Path.cwd() / "work"


def find_file(program, name):
    """The file of the exercise in the workspace, which is made if need be."""
    identity = exercise_id(program, name)
    if identity is None:
        raise UsageError(ask(program, "run", name).stderr.strip() or f"there is no exercise {name}")
    found = []
    for _ in range(2):
        found = [p for p in workspace(program).glob(identity + ".c*") if p.suffix in (".c", ".cu")]
        if found:
            return found[0]
        started = ask(program, "start")
        if started.returncode:
            raise UsageError(started.stderr.strip())
    raise UsageError(f"the workspace {workspace(program)} has no file for {identity}")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def save(program, name, line, text):
    """Writes the cell over the file, and keeps a copy of what is there, if that is neither the original nor from a cell. False: the
    cell is the original and the file is not, so the file stays."""
    path = find_file(program, name)
    known = path.parent / ".notebook"
    before = path.read_text(errors="replace")
    marks = set(known.read_text().split()) if known.is_file() else set()
    original = original_of(program, path)
    if original is not None and text.strip() == original.strip() != before.strip():
        return False
    if before != original and digest(before) not in marks:
        aside = path.with_name(path.name + time.strftime(".%Y%m%d-%H%M%S"))
        path.rename(aside)
        print(f"{path.name} in the workspace had other changes. They are kept as {aside}")
    text = f"// %%ferry {line.strip()}".rstrip("\\ ") + "\n" + text
    new = path.with_name("." + path.name + ".new")
    new.write_text(text)
    new.replace(path)
    marks.add(digest(text))
    known.write_text("\n".join(sorted(marks)) + "\n")
    return True


def original_of(program, path):
    root = locate.root_of(program)
    stub = root / "exercises" / path.name if root else None
    return stub.read_text() if stub and stub.is_file() else None


def renamed(program, name, cell):
    """The cell's file with the suffix of the exercise's language."""
    identity = exercise_id(program, name)
    if identity is None:
        raise UsageError(ask(program, "run", name).stderr.strip() or f"there is no exercise {name}")
    file = cell.file.with_suffix(find_file(program, name).suffix)
    cell.file.rename(file)
    return file
