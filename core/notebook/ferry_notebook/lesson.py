# SPDX-License-Identifier: MIT
"""A cell as a part of a lesson's program: `// [NAME]` to `// [end]` there is replaced by the cell, and the rest stays.

Lines of the cell keep their numbers in messages, as do those of the program (#line).
"""

import re


class NoSuchPart(Exception):
    pass


def program(root, number):
    for path in sorted((root / "chapters").glob(f"{number:02d}_*.c*")):
        return path
    raise NoSuchPart(f"there is no lesson {number}")


def find_part(lines, name):
    """The indices of the two lines around a part."""
    begins = [i for i, line in enumerate(lines) if line.strip() == f"// [{name}]"]
    for begin in begins:
        for end in range(begin, len(lines)):
            if lines[end].strip() == "// [end]":
                return begin, end
    raise NoSuchPart(f'the program has no part "{name}"; it has ' + ", ".join(re.findall(r"^\s*// \[(\w+)\]$", "\n".join(lines), re.M)))


def local_includes(text, folder):
    return [name for name in re.findall(r'^#include "([^"]+)"', text, re.M) if (folder / name).is_file()]


def sources_of(header, folder):
    """The .c files that implement a header: it is the first that they include."""
    for path in sorted(folder.glob("[a-z]*.c")):
        if local_includes(path.read_text(), folder)[:1] == [header]:
            yield path


def shared_sources(text, folder, known):
    """The .c files of the headers that a program in C includes, and of those that these files include."""
    for name in local_includes(text, folder):
        if name in known:
            continue
        known.add(name)
        yield from shared_sources((folder / name).read_text(), folder, known)
        for source in sources_of(name, folder):
            yield from shared_sources(source.read_text(), folder, known)
            yield source


def static_functions(text):
    return set(re.findall(r"^static [^=;(]*?(\w+)\(", text, re.M))


def included(sources, text):
    """Lines that include the .c files. A static function that is also in a file before has another name there."""
    known = static_functions(text)
    for source in sources:
        own = static_functions(source.read_text())
        again = sorted(known & own)
        known |= own
        yield from (f"#define {name} {source.stem}_{name}" for name in again)
        yield f'#include "{source}"'
        yield from (f"#undef {name}" for name in again)


def with_whole_paths(text, folder):
    for name in local_includes(text, folder):
        text = text.replace(f'#include "{name}"', f'#include "{folder / name}"')
    return text


def assemble(root, number, part, cell_file, cell, first_line):
    """The text of the program, and its suffix. The cell's code begins at line `first_line` of `cell_file`."""
    path = program(root, number)
    text = path.read_text()
    lines = with_whole_paths(text, path.parent).split("\n")
    begin, end = find_part(lines, part)
    new = [f'#line 1 "{path}"', *lines[:begin], f'#line {first_line} "{cell_file}"', cell.rstrip("\n"), f'#line {end + 2} "{path}"', *lines[end + 1 :]]
    if path.suffix == ".c":
        new += included(shared_sources(text, path.parent, set()), text)
    return "\n".join(new) + "\n", path.suffix


class Section:
    """Passes on one section of what a lesson's program prints, as it comes: from its heading "3. TITLE" to the next."""

    def __init__(self, number, take):
        self.number, self.take, self.now, self.rest = number, take, 0, ""

    def __call__(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self.line(line + "\n")

    def line(self, line):
        if line.startswith(f"{self.now + 1}. "):
            self.now += 1
        if self.now == self.number:
            self.take(line)

    def end(self):
        if self.rest:
            self.line(self.rest)
