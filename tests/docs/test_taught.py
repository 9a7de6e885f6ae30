# SPDX-License-Identifier: MIT
"""Reads solutions, checks and lessons; prints what test_taught.sh reports: "FAULT text" lines, and counts.

usage: test_taught.py ROOT
"""

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
LESSONS = {int(p.name[:2]): p.read_text() for p in (ROOT / "docs").glob("[0-9][0-9]_*.md")}
# What is no function to learn: what stands behind a macro that is taught.
BEHIND = {"fy_set_training_of": "fy_train"}


def exercises():
    for check in sorted((ROOT / "tests/hidden").glob("*/check.c")):
        chapter = re.search(r"\.chapter = (\d+)", check.read_text())
        if chapter:
            yield check.parent.name, int(chapter.group(1))


def named(word, lessons):
    return any(re.search(rf"\b{word}\b", LESSONS[n]) for n in lessons)


count = 0
for exercise, chapter in exercises():
    solution = next((ROOT / "solutions").glob(f"{exercise}.c*"))
    code = re.sub(r"//.*", "", solution.read_text())
    before = [n for n in LESSONS if n <= chapter]
    for word in sorted(set(re.findall(r"\bfy_\w+", code))):
        count += 1
        if not named(word, before) and not named(BEHIND.get(word, word), before):
            print(f"FAULT {exercise} needs {word}, which no lesson up to {chapter} names")
    if chapter not in LESSONS:
        print(f"FAULT {exercise} belongs to lesson {chapter}, which is not there")
    elif f"exercises/{solution.name}" not in LESSONS[chapter]:
        print(f"FAULT lesson {chapter} does not name its exercise {solution.name}")
for number, text in sorted(LESSONS.items()):
    if "## In short" not in text:
        print(f"FAULT lesson {number} has no 'In short'")
    if "## Now do" not in text and "## Exercises" not in text:
        print(f"FAULT lesson {number} does not say what to do now")
print(f"{count} uses of a public function in solutions")
