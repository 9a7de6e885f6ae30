# SPDX-License-Identifier: MIT
"""Marks for the live book (core/live/page): attributes of listings and of predict boxes. Without a server they change nothing.

A listing that comes from a program has data-file, the program, and data-line, where the listing begins in it. A listing that is a
program has data-program, its language. An exercise's file has data-exercise. A comment before a predict box,

    <!-- predict blocks = 128; idle threads = 2768 -->

names the numbers that the question asks for. They stand in the answer's text too, and become the box's data-predict. If ./ferry
predict measures the numbers (core/tool/predict/questions.c), the comment has the ids of the questions instead, which become the box's
data-questions:

    <!-- predict 22.1; 22.2 -->
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?:<!-- code (\S+) (\S+) [^\n]*-->\n)?```(c|cuda)\n(.*?)^```$", re.M | re.S)
PREDICT = re.compile(r"^<!-- predict (.*?) -->\n<details>(.*?)</details>", re.M | re.S)
VALUE = re.compile(r"([^=;]+) = (-?\d[\d.]*(?:/\d+)?)")
WORDS = {"none": "0", "nothing": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "quarter": "4", "fifth": "5", "fifths": "5"}


def is_program(text):
    return re.search(r"^int main\(", text, re.M) is not None


def line_of(region, text):
    """The number of the first line of the region `// [region]`."""
    return next(n for n, line in enumerate(text.split("\n"), 2) if line.strip() == f"// [{region}]")


def listings(text, is_source):
    """The listings of a page with their marks; is_source is told of each program, so that the book has a page with all of it."""

    def mark(match):
        file, region, language, code = match.groups()
        language = "cuda" if file and re.search(r"\.cuh?$", file) else language
        attributes = ""
        if file and is_program(source := (ROOT / file).read_text()):
            is_source(file)
            attributes = f' data-file="{file}" data-line="{line_of(region, source)}"'
        elif not file and is_program(code):
            attributes = f' data-program="{language}"'
        return f"```{{.{language}{attributes}}}\n{code}```"

    return FENCE.sub(mark, text)


def predictions(text):
    """The predict boxes of a page, with the numbers that they ask for."""

    def mark(match):
        values, box = match.groups()
        if re.fullmatch(r"\d+\.\d+(; \d+\.\d+)*", values):
            return f'<details data-questions="{values}">{box}</details>'
        pairs = [VALUE.fullmatch(pair) for pair in values.split("; ")]
        if None in pairs:
            sys.exit(f"<!-- predict {values} -->: write NAME = NUMBER; NAME = NUMBER, or ids of questions")
        answer = box.split("</summary>")[1].replace(",", "").lower()
        known = set(re.findall(r"\d[\d.]*\d|\d", answer)) | {WORDS[w] for w in re.findall(r"\w+", answer) if w in WORDS}
        for pair in pairs:
            if not set(pair.group(2).lstrip("-").split("/")) <= known:
                sys.exit(f"<!-- predict {values} -->: {pair.group(1)} is not in the box's answer")
        return f'<details data-predict="{values}">{box}</details>'

    return PREDICT.sub(mark, text)
