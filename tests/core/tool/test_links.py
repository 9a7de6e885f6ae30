# SPDX-License-Identifier: MIT
"""Reads where mistakes, exercises and their texts lead to; prints what test_links.sh reports: "FAULT text" lines, and the links.

usage: test_links.py ROOT
"""

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
STRING = r'"(?:[^"\\]|\\.)*"'
# Lessons on kernels, and the page on the tool that finds what is wrong with one.
ON_KERNELS = re.compile(r"docs/((?:19|2\d|3\d)_\w+|inspector)\.md")
# What only a text about kernels says. (A model has blocks, too, and a loader has threads: this is asked of the shared texts alone.)
SAYS_KERNEL = re.compile(r"\b(kernel|grid|thread|launch)|__\w+__|\bcuda[A-Z]")


def slug(heading):
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")


def sections(page):
    inside = False
    for line in page.read_text().splitlines():
        inside ^= line.startswith("```")
        if not inside and line.startswith("#"):
            yield slug(line.lstrip("#").strip())


def joined(tokens, macros):
    """The value of adjacent strings and macros."""
    return "".join(t[1:-1] if t.startswith('"') else joined(macros.get(t, []), macros) for t in tokens)


def mistakes(source):
    """(name, text, link) of each Mistake that a source defines."""
    text = source.read_text()
    macros = {name: re.findall(rf"{STRING}|\w+", value) for name, value in re.findall(r"^#define (\w+) (.*)$", text, re.M)}
    for name, body in re.findall(rf"\bconst Mistake (\w+) = \{{((?:{STRING}|[^\"}}])*)\}};", text):
        fields = [[]]
        for token in re.findall(rf"{STRING}|\w+|,", body):
            if token == ",":
                fields.append([])
            else:
                fields[-1].append(token)
        title, says, link = (joined(f, macros) for f in fields[:3])
        yield name, f"{title} {says}", link


def lesson_of(source):
    text = source.read_text()
    macros = {name: re.findall(rf"{STRING}|\w+", value) for name, value in re.findall(r"^#define (\w+) (.*)$", text, re.M)}
    found = re.search(rf"\.lesson = ((?:{STRING}|\w+|\s)+),", text)
    return joined(re.findall(rf"{STRING}|\w+", found[1]), macros) if found else ""


SECTIONS = {f"docs/{p.name}": set(sections(p)) for p in (ROOT / "docs").glob("*.md")}
links = set()


def check(where, link, on_kernels):
    page, _, anchor = link.partition("#")
    links.add(link)
    if page not in SECTIONS:
        print(f"FAULT {where}: there is no {page or 'link'}")
    elif not anchor:
        print(f"FAULT {where}: {page} as a whole, and not the section that helps")
    elif anchor not in SECTIONS[page]:
        print(f"FAULT {where}: {page} has no section #{anchor}")
    elif on_kernels and not ON_KERNELS.match(page):
        print(f"FAULT {where}: a mistake in a kernel, and {page} is not about kernels")


for source in sorted((ROOT / "tests/grader").glob("*.c")):
    for name, text, link in mistakes(source):
        check(f"{source.name}, {name}", link, bool(SAYS_KERNEL.search(text)))
for source in sorted((ROOT / "tests/hidden").glob("*/check.c")):
    exercise = source.parent.name
    on_kernels = (ROOT / f"solutions/{exercise}.cu").exists()
    for name, _, link in mistakes(source):
        check(f"{exercise}, {name}", link, on_kernels)
    check(f"{exercise}, its lesson", lesson_of(source), on_kernels)
for text in sorted((ROOT / "solutions").iterdir()):
    for page in re.findall(r"docs/\w+\.md", text.read_text()):
        if page not in SECTIONS:
            print(f"FAULT {text.name}: there is no {page}")
print("\n".join(f"LINK {link}" for link in sorted(links)))
