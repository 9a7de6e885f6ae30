# SPDX-License-Identifier: MIT
"""Where Ferry is: $FERRY_HOME, `ferry` on PATH, or the clone around the working directory."""

import os
import shutil
import subprocess
from pathlib import Path


class NotFound(Exception):
    """There is no Ferry. The message says what to do."""


def is_program(path):
    return path.is_file() and os.access(path, os.X_OK)


def is_clone(folder):
    return (folder / "core/tool/ferry.c").is_file()


def in_clone(folder):
    if is_program(folder / "ferry"):
        return folder / "ferry"
    raise NotFound(f"Ferry is not built in {folder}. Build it in a terminal: make -C {folder} ferry")


def from_home(home):
    folder = Path(home).expanduser()
    for name in ("ferry", "bin/ferry"):
        if is_program(folder / name):
            return folder / name
    if is_clone(folder):
        return in_clone(folder)
    raise NotFound(f"FERRY_HOME is {home}, but there is no program ferry in it. Set it to a clone of Ferry or to its PREFIX.")


def is_ours(program):
    """Other programs have the same name."""
    try:
        said = subprocess.run([program, "version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.stdout.startswith("ferry ") and " exercises" in said.stdout


def find():
    """The program. Raises NotFound."""
    if os.environ.get("FERRY_HOME"):
        return from_home(os.environ["FERRY_HOME"])
    on_path = shutil.which("ferry")
    if on_path and is_ours(on_path):
        return Path(on_path)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if is_clone(folder):
            return in_clone(folder)
    other = f" ({on_path} is another program.)" if on_path else ""
    raise NotFound(
        "Ferry was not found in $FERRY_HOME, on PATH, or in a clone around the working directory." + other + "\n"
        "Install it (pip install ferry-gpu), or set FERRY_HOME to a clone in which you ran make:\n"
        "  %env FERRY_HOME=/path/to/ferry"
    )


def root_of(program):
    """The folder that has the lessons' programs, chapters/; None where this Ferry has none."""
    for folder in program.resolve().parents:
        for root in (folder, folder / "share/ferry", folder / "lib/ferry"):
            if (root / "chapters/kernels.h").is_file():
                return root
    return None
