# SPDX-License-Identifier: MIT
"""Reads the library's public headers: every public name with its declaration and the comment that is its contract.

The headers are written for people (DESIGN: a comment stands before what it speaks of, or behind it on the same line), and this
takes them as they are. What it cannot place is an error, so that a function cannot fall out of the reference unseen.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core"


@dataclass
class Entry:
    """Declarations that stand together, and the comment that speaks of them."""

    header: str  # "core/op/ops.h"
    line: int
    names: list = field(default_factory=list)
    code: list = field(default_factory=list)  # lines, with the comments behind them
    comment: list = field(default_factory=list)  # lines, without slashes
    remarks: dict = field(default_factory=dict)  # name: the comment behind its declaration


@dataclass
class Header:
    path: str
    about: list
    parts: list  # (title, lines of prose, entries)


def public_headers():
    """The headers that ferry.h includes, and those that they include from the same rooms and that declare public names."""
    found, waiting = [], ["ferry.h"]
    while waiting:
        text = (CORE / waiting.pop(0)).read_text()
        for name in re.findall(r'^#include "([a-z_]+/[a-z0-9_/]+\.h)"', text, re.M):
            if name not in found:
                found.append(name)
                waiting.append(name)
    return [name for name in found if is_public((CORE / name).read_text())]


def is_public(text):
    return "FY_API " in text or re.search(r"^#define fy_", text, re.M)


def split_comment(line):
    """A line's code and the comment behind it."""
    line = re.sub(r"\s*/\*.*?\*/", "", line)
    outside, quoted = "", False
    for i, c in enumerate(line):
        if c == '"' and (i == 0 or line[i - 1] != "\\"):
            quoted = not quoted
        if not quoted and line.startswith("//", i):
            return outside.rstrip(), line[i + 2 :].strip()
        outside += c
    return line.rstrip(), ""


def statement(lines, i):
    """The lines of the declaration that begins at i, and where the next one does."""
    start, depth = i, 0
    if lines[i].startswith("#define"):
        while lines[i].rstrip().endswith("\\"):
            i += 1
        return start, i + 1
    while True:
        code, _ = split_comment(lines[i])
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
        if depth <= 0 and (code.endswith(";") or code.endswith("}")):
            return start, i + 1
        i += 1


def declared_names(code):
    """The public names of a declaration: functions, macros, types, enumerators, constants."""
    text = "\n".join(code)
    names = re.findall(r"^#define (fy_\w+|FY_\w+)", text, re.M)
    if names:
        return names
    if text.startswith("typedef"):
        last = re.findall(r"(\w+)(?:\)\([^;]*\))?;\s*$", text)
        names = re.findall(r"\(\*(Fy\w+)\)", text)[:1] if "(*Fy" in text and "{" not in text else last
        return names + re.findall(r"\b(FY_\w+)\b(?=[\s,=}])", text) if "enum" in text else names
    if text.startswith("enum"):
        return re.findall(r"\b(FY_\w+)", text)
    found = re.search(r"\b(fy_\w+)\(", text)
    return [found.group(1)] if found else re.findall(r"\b(fy_\w+|FY_\w+)\b", text)[:1]


def read(path):
    lines = (CORE / path).read_text().split("\n")
    about, parts = [], []
    part = ("", [], [])
    i, comment, comment_line, entry = 0, [], 0, None
    while i < len(lines) and lines[i].startswith("//"):
        if not lines[i].startswith("// SPDX-"):
            about.append(lines[i][2:].removeprefix(" "))
        i += 1
    while i < len(lines):
        line = lines[i]
        title = re.match(r"// -{4} (.*?) -{4,}", line)
        if title:
            parts.append(part)
            part, comment, entry = (title.group(1), [], []), [], None
            i += 1
            while i < len(lines) and lines[i].startswith("//"):
                comment.append(lines[i][2:].removeprefix(" "))
                i += 1
            comment_line = i
            if i < len(lines) and not lines[i].strip():  # prose about the part, not about the first declaration
                part[1].extend(comment)
                comment = []
            continue
        if line.startswith("//"):
            comment, comment_line, entry = [], i, None
            while i < len(lines) and lines[i].startswith("//"):
                comment.append(lines[i][2:].removeprefix(" "))
                i += 1
            continue
        if not line.strip():
            comment, entry = [], None
            i += 1
            continue
        if re.match(r"FY_API |#define (fy_|FY_)|typedef |enum |struct Fy", line) and not re.match(r"#define \w+_H$", line):
            start, i = statement(lines, i)
            pieces = [split_comment(each) for each in lines[start:i]]
            code = [c for c, _ in pieces]
            names = declared_names(code)
            hidden = lines[start].startswith("#define FY_") and "(" in lines[start]
            if names and not hidden:
                if entry is None:
                    entry = Entry(f"core/{path}", start + 1, comment=comment)
                    part[2].append(entry)
                entry.names += [n for n in names if n not in entry.names]
                entry.code += [re.sub(r"^FY_API |\s*/\*.*?\*/", "", each) for each in lines[start:i]]
                remark = " ".join(c for _, c in pieces if c)
                if remark and not code[0].startswith(("typedef", "enum")):
                    entry.remarks[names[0]] = remark
            continue
        if line.startswith(("static inline", "extern")) or "__attribute__" in line:
            _, i = statement(lines, i)
            continue
        i += 1
    parts.append(part)
    return Header(f"core/{path}", about, [p for p in parts if p[2]])


def all_headers():
    return [header for header in map(read, public_headers()) if header.parts]


def functions(entry):
    """The names that a program calls: functions and macros."""
    return [n for n in entry.names if n.startswith("fy_")]


# ---- PyTorch's words ----------------------------------------------------------------------------------------------------------

WORDS = re.compile(
    r"\b(?:with )?((?:torch|tensor|nn|optim|optimizer|module|model|F|datasets|transforms|prof|profile|loader|scaler|dist|ddp|graph|stream"
    r"|event|sampler|parallel|scheduler|generator|self|x|y|a|loss|data)\.[A-Za-z_][\w.]*(?:\([^()]*\))?"
    r"|(?:DataLoader|DistributedSampler|GradScaler|TensorDataset|Subset|Compose|Normalize|Flatten|Linear|Conv2d)\([^()]*\))"
)


def pytorch_name(name, entry, part=""):
    """What the header says PyTorch calls it: the word that ends like the name, else the only one; None for Ferry's own."""
    text = entry.remarks.get(name) or " ".join(entry.comment)
    text = re.sub(r"torch\.(\w+)((?:, \w+)+)", lambda m: m.group(0) + "".join(f" torch.{w}" for w in m.group(2)[2:].split(", ")), text)
    words = [w.rstrip(".") for w in WORDS.findall(text)]
    if name.endswith("_") and "in place" in part:
        return f"tensor.{name[3:].removesuffix('_scalar_').rstrip('_')}_()"
    plain = name.removeprefix("fy_").removesuffix("_with").replace("_", "")
    for word in words:
        last = re.sub(r"\(.*", "", word).split(".")[-1].replace("_", "").lower()
        if last and (last == plain or plain.endswith(last)):
            return word
    if name in entry.remarks and words:
        return words[0]
    if len(functions(entry)) <= 2 and words:
        return words[0]
    return None
