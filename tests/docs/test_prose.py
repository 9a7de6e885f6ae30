# SPDX-License-Identifier: MIT
"""Numbers with a unit in the lessons' prose: each stands in an output of its page, or in prose.txt with what it follows from.

prose.txt has a line for each:  PAGE | NUMBER UNIT | KIND | EXPRESSION
  KIND  run       the expression is worked out from the page's outputs: cell("regular expression with one group")
        sheet     of a data sheet or an article; the expression is its source in words
        given     said beforehand, arithmetic on numbers that the text itself names: the expression is that arithmetic
A number may differ from its expression by the rounding of its last digit, after "some" or "about" by 5 %.
"""

import re
import sys
from pathlib import Path

UNIT = r"(?:%|ms|us|microseconds|ns|[GT]B/s|[kMG]B|[GT]FLOP/s|times (?:as|the))"
NUMBER = re.compile(r"(?<![\w.])((?:some |about )?)(\d+(?:\.\d+)?) ?(" + UNIT + r")(?!\w)")


def split(page):
    """The prose as (line number, line), and the text of all outputs and listings."""
    prose, blocks, inside = [], [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif inside:
            blocks.append(line)
        elif not line.startswith(("|", "<", "*The outputs", "*The pictures")):
            prose.append((number, line))
    return prose, "\n".join(blocks)


def cells(text):
    def cell(pattern, which=0):
        found = re.findall(pattern, text, re.MULTILINE)
        if len(found) <= which:
            raise ValueError(f"no output has {pattern}")
        return float(found[which])

    return cell


def agrees(value, given, loosely):
    digits = len(given.split(".")[1]) if "." in given else 0
    # "20 us" may stand for 18 to 22 only where the text says that it is rounded
    room = 0.51 * 10**-digits
    if loosely:
        room = max(room, 0.05 * abs(value))
    return abs(value - float(given)) <= room


def table(path):
    entries = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            page, what, kind, expression = (part.strip() for part in line.split("|", 3))
            entries[page, what] = [kind, expression, 0]
    return entries


def check(pages, entries):
    for page in pages:
        prose, blocks = split(page)
        in_blocks = set(re.findall(r"\d+(?:\.\d+)?", blocks))
        for line, text in prose:
            for loosely, given, unit in NUMBER.findall(text):
                entry = entries.get((page.name, f"{given} {unit}"))
                where = f"{page}:{line}: {given} {unit}"
                if entry:
                    kind, expression, _ = entry
                    entry[2] += 1
                    if kind not in ("run", "sheet", "given"):
                        yield f"{where}: {kind} is no kind"
                    elif kind != "sheet":
                        try:
                            value = eval(expression, {"__builtins__": {}, "cell": cells(blocks)})  # the table is ours
                        except Exception as error:
                            yield f"{where}: {expression}: {error}"
                            continue
                        if not agrees(value, given, bool(loosely)):
                            yield f"{where}: {expression} is {value:.6g}"
                elif given not in in_blocks:
                    yield f"{where}: no output of the page has it, and prose.txt does not say where it is from"
    for (page, what), (_, _, uses) in entries.items():
        if uses == 0:
            yield f"prose.txt: {page} does not say {what}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    entries = table(root / "tests/docs/prose.txt")
    pages = sorted((root / "docs").glob("[0-3][0-9]_*.md"))
    wrong = list(check(pages, entries))
    for line in wrong:
        print("FAULT", line)
    sys.exit(1 if wrong else 0)


main()
