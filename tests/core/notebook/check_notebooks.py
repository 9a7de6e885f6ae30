# SPDX-License-Identifier: MIT
"""Runs the notebooks of the lessons. usage: check_notebooks.py [--quick] NOTEBOOKS FOLDER

--quick: one cell of each kind in some lessons. An exercise's cell must be answered with a verdict, and every other cell must do what it is for
without an error.
"""

import os
import re
import sys
from pathlib import Path

import nbformat

from kernel import Kernel, result

QUICK = ("03_tensor_moves", "11_memory", "20_the_first_kernel", "32_debugging_kernels")
quick = "--quick" in sys.argv
notebooks, work = map(Path, [word for word in sys.argv[1:] if word != "--quick"])


def kind_of(source):
    return re.match(r"%*\w+( inspect| step| check)?", source)[0]


def fault(source, got):
    """What is wrong with a cell's output, "" if nothing is."""
    if got.error or "UsageError" in got.err or re.search(r"\d+:\d+: (fatal )?error: ", got.plain):
        return got.text
    if source.startswith("%%ferry check"):
        return "" if re.search(r"^(✓|✗ (\d|compile error))", got.plain, re.M) else got.text
    if source.startswith("%%ferry inspect"):
        return "" if "findings" in got.html or "finding" in got.html else got.text
    if source.startswith("%ferry step"):
        return "" if "<iframe" in got.html else got.text
    if source.startswith("%%ferry"):
        section = re.search(r"--section (\d+)", source)
        printed = re.search(rf"^{section[1]}\. ", got.out, re.M) if section else got.out.strip()
        return "" if printed and "exit status" not in got.err else got.text or "nothing is printed"
    return ""


def chosen(cells):
    """All of them, or the first of each kind after the one that loads the extension."""
    kinds = set()
    for cell in cells:
        kind = kind_of(cell.source)
        if not quick or kind not in kinds:
            kinds.add(kind)
            yield cell


os.environ["FERRY_WORK"] = str(work / "workspace of the notebooks")
for path in sorted(notebooks.glob("part_*/*.ipynb")):
    if quick and path.stem not in QUICK:
        continue
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    faults = []
    with Kernel(path.parent) as run:
        cells = list(chosen(code))
        for cell in cells:
            why = fault(cell.source, run(cell.source))
            if why:
                faults.append(f"{cell.source.splitlines()[0]}: {why}")
    result(not faults, f"{path.stem}: {len(cells)} of {len(code)} cells run", f"{len(faults)} fail: {' '.join(faults)}")
