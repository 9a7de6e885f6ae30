# SPDX-License-Identifier: MIT
"""Writes a Jupyter notebook for each lesson, in a folder for each part of the course.

usage: notebooks.py FOLDER     (core/notebook/build.sh calls it)

Text becomes Markdown cells. A listing of the lesson's program becomes a cell that replaces this part of the program and runs it. A
player becomes %ferry step, and an exercise becomes %%ferry check with the exercise's file.
"""

import base64
import hashlib
import html
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = (("part_one", range(1, 11)), ("part_two", range(11, 19)), ("part_three", range(19, 33)), ("part_four", range(33, 36)))
# Its kernels are a second file, which a cell cannot compile.
NOT_RUN = {31}

SETUP = """%load_ext ferry_notebook
%ferry start"""
ABOUT = """*This notebook has the text of the lesson. Run the next cell first. If it fails, it says what to install. In a cell that begins with
`%%ferry --lesson`, the code takes its place in the program of the lesson, which then runs: change the code, and run the cell again.*"""


def lesson_number(name):
    found = re.match(r"(\d\d)_\w+\.md$", name)
    return int(found[1]) if found else None


def part_of(number):
    return next(name for name, numbers in PARTS if number in numbers)


# ---- text -----------------------------------------------------------------------------------------------------------------------


def with_links(text, number):
    """Links to lessons lead to their notebooks. Of links to other files the label stays."""

    def link(match):
        label, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path = target.partition("#")[0]
        other = lesson_number(os.path.basename(path))
        if other and not path.startswith("../"):
            return f"[{label}](../{part_of(other)}/{path[:-3]}.ipynb)"
        if path.endswith(".md"):
            return f"{label} (`docs/{path}`)" if not path.startswith("../") else label
        return label

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def with_pictures(text, attachments):
    """Each picture becomes an attachment, so that the notebook is complete by itself."""

    def picture(match):
        source, alt = re.search(r'<img[^>]* src="([^"]+)"', match[0]), re.search(r'alt="([^"]*)"', match[0])
        path = ROOT / "docs" / source[1]
        kind = "image/svg+xml" if path.suffix == ".svg" else "image/" + path.suffix[1:]
        attachments[path.name] = {kind: base64.b64encode(path.read_bytes()).decode()}
        return f"![{alt[1] if alt else ''}](attachment:{path.name})"

    return re.sub(r"<picture>.*?</picture>", picture, text, flags=re.S)


def lines_of(text):
    return text.splitlines(keepends=True)


class Notebook:
    def __init__(self, number):
        self.number, self.cells = number, []

    def add(self, cell):
        self.cells.append({"id": f"cell-{len(self.cells)}", "metadata": {}, **cell})

    def text(self, text):
        attachments = {}
        text = re.sub(r"^<!-- .*? -->\n", "", text, flags=re.M).strip("\n")
        text = with_pictures(with_links(text, self.number), attachments)
        if text:
            self.add({"cell_type": "markdown", "source": lines_of(text), **({"attachments": attachments} if attachments else {})})

    def code(self, text):
        self.add({"cell_type": "code", "source": lines_of(text), "execution_count": None, "outputs": []})

    def contents(self):
        metadata = {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        }
        return json.dumps({"cells": self.cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


# ---- code -----------------------------------------------------------------------------------------------------------------------


def section_after(text, stem):
    """The section of the program's output that the lesson shows next."""
    found = re.search(rf"^<!-- output chapters/{stem} (\d+)", text, re.M)
    return int(found[1]) if found and int(found[1]) > 0 else None


def listing(match, rest, number, stem):
    """The cell for a listing; None where it cannot run."""
    file, part, code = match["file"], match["part"], match["code"]
    if file in (f"chapters/{stem}.c", f"chapters/{stem}.cu") and number not in NOT_RUN:
        section = section_after(rest, stem)
        shown = f" --section {section}" if section else ""
        return f"%%ferry --lesson {number} --part {part}{shown} -- --quick\n{code}"
    if file.startswith("chapters/kernels/") and file.endswith(".cu"):
        return f"%%ferry inspect\n{(ROOT / file).read_text().rstrip()}"
    return None


BLOCK = re.compile(
    r"^<!-- code (?P<file>\S+) (?P<part>\w+) -->\n```c\n(?P<code>.*?)\n```$"
    r"|^<figure class=\"ferry-step\"[^\n]* data-step=\"(?P<step>\w+)\"[^\n]*<code>\./ferry step (?P<command>[^<]*)</code>[^\n]*$",
    re.M | re.S,
)


def lesson(path):
    number = lesson_number(path.name)
    text = path.read_text()
    notebook = Notebook(number)
    title, _, text = text.partition("\n")
    program = re.match(r"\nProgram: .*?\n\n", text, re.S)
    notebook.text(title + "\n\n" + ABOUT)
    notebook.code(SETUP)
    pending, at = "", program.end() if program else 0
    for match in BLOCK.finditer(text, at):
        before = text[at : match.start()]
        within_details = (pending + before).count("<details") > (pending + before).count("</details")
        if match["command"]:
            options, separator, arguments = html.unescape(match["command"]).partition(" -- ")
            cell = f"%ferry step {options} --at {match['step']}{separator}{arguments}"
        else:
            cell = listing(match, text[match.end() :], number, path.stem)
        if cell is None or within_details:
            pending += before + match[0]
        else:
            notebook.text(pending + before)
            notebook.code(cell)
            pending = ""
        at = match.end()
    head, found, tail = text[at:].partition("\n## Exercises\n")
    notebook.text(pending + head)
    if found:
        exercises(notebook, tail)
    return notebook


def exercises(notebook, tail):
    notebook.text("## Exercises\n\nWrite each answer in its cell, and run the cell. `%ferry hint` in a cell of its own shows a hint.")
    item = r"^- \[(\d+\.\d+) ([^\]]*)\]\(\.\./exercises/([^)]+)\)([^\n]*(?:\n  [^\n]*)*)\n?"
    for exercise, title, file, rest in re.findall(item, tail, re.M):
        notebook.text(f"### {exercise} {title}\n\n{' '.join(rest.split())}")
        notebook.code(f"%%ferry check {exercise}\n{(ROOT / 'exercises' / file).read_text().rstrip()}")
    rest = re.sub(item, "", tail, flags=re.M)
    notebook.text(re.sub(r"^\s*Now do:?\s*$", "", rest, flags=re.M))


# ---- files ----------------------------------------------------------------------------------------------------------------------


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    """A notebook that has changed since it was written stays as it is."""
    out = Path(sys.argv[1])
    list_file = out / "written.json"
    written = json.loads(list_file.read_text()) if list_file.is_file() else {}
    for path in sorted((ROOT / "docs").glob("[0-9][0-9]_*.md")):
        notebook = lesson(path)
        name = f"{part_of(notebook.number)}/{path.stem}.ipynb"
        to = out / name
        if to.is_file() and digest(to) != written.get(name):
            print(f"  {to} has changes, so it stays as it is. For a new one, rename it and run this again.", file=sys.stderr)
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(notebook.contents())
        written[name] = digest(to)
    list_file.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.split("\n\n")[1])
    main()
