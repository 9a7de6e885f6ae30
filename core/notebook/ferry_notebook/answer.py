# SPDX-License-Identifier: MIT
"""A cell as the answer to an exercise: the file in the workspace, which the terminal and editors use, too."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

from IPython.core.error import UsageError


def file_of(program, name, workspace=None):
    """The file of an exercise in the workspace, which ./ferry edit makes if need be, and passes to an "editor" that prints it."""
    environment = {**os.environ, **({"FERRY_WORK": str(workspace)} if workspace else {})}
    words = [program, "edit", name, "--edit-cmd", "printf %s"]
    said = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if said.returncode:
        raise UsageError(said.stderr.strip())
    return Path(said.stdout.split("\n")[-1])


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def save(path, original, line, text):
    """Writes the cell over the file, and keeps a copy of what is there, if that is neither the original nor from a cell. False: the
    cell is the original and the file is not, so the file stays."""
    known = path.parent / ".notebook"
    before = path.read_text(errors="replace")
    marks = set(known.read_text().split()) if known.is_file() else set()
    if text.strip() == original.strip() != before.strip():
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
