#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints docs/exercises.md, the learners' page: every exercise with its lesson, level and time. tests/grader/test_exercises.sh --write
writes it."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = [
    ("PyTorch in C", "pytorch", "Tensors, modules, training, precision, profiling and distributed training, on Ferry's library.", 1, 19),
    ("CUDA kernels", "kernels", "From the first kernel to reductions, scans, matrix products, streams and attention.", 20, 32),
    ("A GPT", "all", "The model that the last three lessons build, check and train.", 33, 99),
]

print("""# The exercises

`./ferry start` copies the exercises to `work/`. A comment at the top of each file describes the task. `./ferry run` checks your
answer, `./ferry watch` checks it each time you save the file, and `./ferry hint` helps if you are stuck. An answer *passes* if its
results are correct for all inputs and if it has the property that the exercise teaches. It then earns one star. More stars reward
efficiency; you never need them to pass. Once your answer has passed, `./ferry solution` explains the solution.

The first part of an exercise's number is its lesson. Within a lesson, the exercises progress from easy to hard. Essential exercises
are marked with \\*. In "Find the bug", the given program runs but its results are wrong. In a "Performance challenge", the given
program is correct but slow. `./ferry start TRACK` selects a part of the exercises:

| track | exercises |
| --- | --- |""")


def exercises():
    for folder in sorted((ROOT / "tests/hidden").glob("[0-9]*")):
        check = (folder / "check.c").read_text()
        lesson, order = folder.name.split("_")[:2]
        source = next((ROOT / "exercises").glob(folder.name + ".c*"))
        yield {
            "lesson": int(lesson),
            "number": f"{int(lesson)}.{order}",
            "title": re.search(r'\.title = "(.*)"', check).group(1),
            "level": re.search(r"LEVEL_(\w+)", check).group(1).lower(),
            "minutes": int(re.search(r"\.minutes = (\d+)", check).group(1)),
            "essential": ".essential = true" in check,
            "bug": ".bug = true" in check,
            "source": f"../exercises/{source.name}",
        }


def hours(some):
    return f"{round(sum(e['minutes'] for e in some) / 60)} hours"


ALL = list(exercises())
KERNELS = [e for e in ALL if e["lesson"] in (1, *range(20, 33), 34)] # as core/tool/course.c
PYTORCH = [e for e in ALL if e["lesson"] < 20 or e["lesson"] in (33, 35)]
print(f"| `all` | all {len(ALL)}, about {hours(ALL)}; the {sum(e['essential'] for e in ALL)} essential ones take {hours([e for e in ALL if e['essential']])} |")
print(f"| `kernels` | the {len(KERNELS)} exercises of lessons 1, 19 to 32 and 34, about {hours(KERNELS)} |")
print(f"| `pytorch` | the {len(PYTORCH)} exercises of lessons 1 to 18, 33 and 35, about {hours(PYTORCH)} |")
print(f"| `debugging` | the {len([e for e in ALL if e['bug']])} exercises in which you find a bug, about {hours([e for e in ALL if e['bug']])} |")
for title, track, about, first, last in PARTS:
    print(f"\n## {title}\n\n{about}")
    for lesson in range(first, last + 1):
        mine = [e for e in ALL if e["lesson"] == lesson]
        if not mine:
            continue
        page = next((ROOT / "docs").glob(f"{lesson:02}_*.md"))
        heading = page.read_text().split("\n", 1)[0].removeprefix("# ")
        print(f"\n### [{heading}]({page.name})\n\n| exercise | level | time |\n| --- | --- | --- |")
        for e in mine:
            star = " \\*" if e["essential"] else ""
            print(f"| [{e['number']} {e['title']}]({e['source']}){star} | {e['level']} | {e['minutes']} min |")
print("\n[dev/exercise_tests.md](dev/exercise_tests.md) describes how the hidden tests were tested.")
