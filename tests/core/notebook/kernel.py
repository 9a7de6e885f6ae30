# SPDX-License-Identifier: MIT
"""Cells in a kernel of Jupyter, and results as lines of a test."""

import os
import re
import time
import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient

warnings.filterwarnings("ignore")
ROOT = Path(os.environ["FERRY_HOME"])


def result(good, name, why=""):
    print(f"ok - {name}" if good else f"not ok - {name} - {' '.join(str(why).split())[:600]}", flush=True)


class Output:
    def __init__(self, outputs):
        self.outputs = outputs
        self.out = self.stream("stdout")
        self.err = self.stream("stderr")
        rich = [o.data for o in outputs if o.output_type == "display_data"]
        self.html = "".join(d.get("text/html", "") for d in rich)
        self.plain = "\n".join(d.get("text/plain", "") for d in rich)
        self.error = "".join(f"{o.ename}: {o.evalue}" for o in outputs if o.output_type == "error")
        self.text = "\n".join(filter(None, (self.out, self.err, self.plain, self.error)))

    def stream(self, name):
        return "".join(o.text for o in self.outputs if o.output_type == "stream" and o.name == name)


class Kernel:
    """with Kernel(folder) as run: run(cell)"""

    def __init__(self, folder):
        self.client = NotebookClient(
            nbformat.v4.new_notebook(), timeout=500, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(folder)}}
        )

    def __enter__(self):
        self.context = self.client.setup_kernel()
        self.context.__enter__()
        return self

    def __exit__(self, *problem):
        return self.context.__exit__(*problem)

    def __call__(self, source):
        cell = nbformat.v4.new_code_cell(source)
        self.client.nb.cells.append(cell)
        self.client.execute_cell(cell, len(self.client.nb.cells) - 1)
        return Output(cell.outputs)

    def status(self):
        return int(self("print(_exit_code)").out)


def without_times(text):
    return re.sub(r" in \d+\.\d s", " in T s", text)


def wait_until(condition, seconds=60):
    """Only a test that fails takes so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
