#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exercises' texts: each is in the template (tests/grader/README.md), at most 22 lines of 80 columns, and says what its check.c says."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYS = ["Task", "Example", "Write", "Fix", "Inputs", "Required", "Stars"]
number = 0
failed = 0


def result(good, name, why=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}" + (f" - {why}" if why and not good else ""))


def rows(lines):
    """{key: its text, joined over lines}"""
    found, key = {}, None
    for line in lines:
        first = re.match(r"// ([A-Z][a-z]+) +(\S.*)", line)
        if first and first.group(1) in KEYS:
            key = first.group(1)
            found[key] = first.group(2)
        elif key:
            found[key] += "\n" + line.removeprefix("//").strip()
    return found


def joined(text):
    return " ".join(text.split())


def strings(text):
    return "".join(json.loads(f'"{s}"') for s in re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def problem(path, check):
    lines = []
    for line in path.read_text().split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line)
    lesson, order = (int(n) for n in path.stem.split("_")[:2])
    title = re.search(r'\.title = "(.*)"', check).group(1)
    level = re.search(r"LEVEL_(\w+)", check).group(1).lower()
    minutes = re.search(r"\.minutes = (\d+)", check).group(1)
    if joined(lines[0]) != f"// Exercise {lesson}.{order}: {title} lesson {lesson} · {level} · {minutes} min":
        return f"its first line is not that of check.c: {lines[0]}"
    if len(lines) > 22 or max(map(len, lines)) > 80:
        return f"{len(lines)} lines, the widest of {max(map(len, lines))} columns; 22 and 80 at most"
    text = rows(lines)
    keys = [k for k in KEYS if k in text]
    if list(text) != keys or ("Fix" if ".bug = true" in check else "Write") not in text or not {"Task", "Example", "Inputs", "Required"} <= set(text):
        return f"its rows are {', '.join(text)}"
    if ".open = true" in check:
        return "" if "Stars" in text else "it has no Stars"
    stars = re.search(r"\.stars = (.*?),\n    \.", check, re.S)
    wanted = [strings(s) for s in re.findall(r'\{\s*((?:"(?:[^"\\]|\\.)*"\s*)+),', stars.group(1))] if stars else []
    said = [joined(s) for s in re.split(r"(?:^|\n)\*+ +", text.get("Stars", "")) if s.strip()]
    return "" if said == wanted else f"its stars are {said}, and check.c has {wanted}"


for hidden in sorted((ROOT / "tests/hidden").glob("[0-9]*")):
    check = (hidden / "check.c").read_text()
    solution = next(p for p in (ROOT / "solutions").glob(hidden.name + ".c*"))
    why = problem(solution, check)
    page = ROOT / f"solutions/{hidden.name}.md"
    if not why and not page.exists():
        why = f"there is no page {page.relative_to(ROOT)}"
    if not why and re.search(r"^ *\(void\)\w+;", (ROOT / "exercises" / solution.name).read_text(), re.M):
        why = "its stub has a (void) line"
    result(not why, hidden.name, why)
print(f"1..{number}")
sys.exit(failed > 0)
