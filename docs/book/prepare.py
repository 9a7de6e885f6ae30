# SPDX-License-Identifier: MIT
"""Writes the pages of the book, from what stands elsewhere: lessons, headers, exercises and their hidden tests' own words.

usage: prepare.py FOLDER     (docs/book/build.sh calls it)
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import headers
import marks
import players

ROOT = headers.ROOT
OUT = Path(sys.argv[1])
PAGES = OUT / "pages"
REPOSITORY_FOLDERS = ("core", "chapters", "exercises", "solutions", "plots", "tests", "docs")

PARTS = (
    ("Part one: tensors and devices", range(1, 11)),
    ("Part two: making it fast", range(11, 19)),
    ("Part three: inside the GPU", range(19, 33)),
    ("Part four: a GPT", range(33, 36)),
)
TOOLS = ("performance", "predict", "inspector", "races", "step", "live", "editors", "notebook", "model", "scaling", "cuda_programs", "grading")


def write(name, text):
    path = PAGES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def title_of(text):
    return re.search(r"^# (.*)", text, re.M).group(1)


# ---- pages of source code: what the book's pages link to ----------------------------------------------------------------------

LANGUAGES = {".c": "c", ".h": "c", ".cu": "cuda", ".cuh": "cuda", ".sh": "bash", ".py": "python", ".tsv": "text", ".proto": "protobuf"}
sources = set()


def source_page(path):
    """The page that shows a file of the project, relative to the pages' folder."""
    sources.add(path)
    return f"source/{path}.md"


def write_sources():
    for path in sorted(sources):
        text = (ROOT / path).read_text(errors="replace")
        language = LANGUAGES.get(Path(path).suffix, "text")
        fence = "~~~~~~"
        write(
            f"source/{path}.md",
            f"---\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n# `{path}`\n\n{fence} {{.{language} linenums=\"1\"}}\n{text.rstrip()}\n{fence}\n",
        )


# ---- lessons and the pages beside them ----------------------------------------------------------------------------------------


def mended_links(text, folder="docs"):
    """Links of a file in `folder`: those to docs/ and exercises lead to their pages, those to other files to pages that show them."""

    def mend(match):
        label, target = match.group(1), match.group(2)
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match.group(0)
        path, _, anchor = target.partition("#")
        plain = os.path.normpath(f"{folder}/{path}")
        if path.endswith(".md") and plain.startswith("docs/") and plain.count("/") == 1:
            name = "lessons.md" if plain == "docs/README.md" else plain[5:]
            return f"[{label}]({name}{'#' + anchor if anchor else ''})"
        exercise = re.match(r"(?:exercises|solutions)/(\d+_\d_\w+)\.cu?$", plain)
        if exercise:
            return f"[{label}](exercise/{exercise.group(1)}.md)"
        if (ROOT / plain).is_file() and plain.split("/")[0] in REPOSITORY_FOLDERS:
            return f"[{label}]({source_page(plain)})"
        return label  # a folder, or a file outside of the book: its name alone

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(p if p.startswith("```") else re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", mend, p) for p in pieces)


def with_themed_pictures(text):
    """<picture> follows the system's theme; these follow the book's switch. Each links to the image alone, which a browser can zoom."""

    def themed(match):
        dark = re.search(r'srcset="([^"]+)"', match.group(0)).group(1)
        light = re.search(r'src="([^"]+)"', match.group(0)).group(1)
        alt = re.search(r'alt="([^"]*)"', match.group(0)).group(1)
        return f"[![{alt}]({light}#only-light)]({light}){{ .zoom }}\n[![{alt}]({dark}#only-dark)]({dark}){{ .zoom }}\n"

    return re.sub(r"<picture>.*?</picture>", themed, text, flags=re.S)


def page(path):
    text = path.read_text()
    text = marks.predictions(marks.listings(text, source_page))
    text = re.sub(r"^<!-- (code|output|printed|table).*?-->\n", "", text, flags=re.M)
    text = re.sub(r"<details(?= |>)", '<details markdown="1"', text)
    return with_themed_pictures(mended_links(text))


def lessons():
    return sorted((ROOT / "docs").glob("[0-9][0-9]_*.md"))


def slug(term):
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def terms():
    """Headword of the glossary, without a bracketed part: its meaning as plain text."""
    found = {}
    for term, meaning in re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", (ROOT / "docs/glossary.md").read_text(), re.M):
        if term not in ("term", "---") and not meaning.startswith("See "):
            plain = re.sub(r" ?\((?:\[[^\]]*\]\([^)]*\)(?:, )?)+\)", "", meaning)
            found[term] = re.sub(r"[*`]", "", plain).replace(" .", ".")
    return found


def write_glossary():
    text = page(ROOT / "docs/glossary.md")
    text = re.sub(r"^\| (?!---|term )([^|]+?) \|", lambda m: f'| <a id="{slug(m.group(1))}"></a>{m.group(1)} |', text, flags=re.M)
    write("glossary.md", text)
    (OUT / "terms.json").write_text(json.dumps({t: [slug(t), meaning] for t, meaning in terms().items()}))


def write_lessons():
    for path in lessons():
        text = page(path)
        write(path.name, text)
    for path in (ROOT / "docs").glob("*.md"):
        if not path.name[0].isdigit() and path.name != "glossary.md":
            write("lessons.md" if path.name == "README.md" else path.name, page(path))
    shutil.copytree(ROOT / "docs/images", PAGES / "images", dirs_exist_ok=True)


# ---- exercises -----------------------------------------------------------------------------------------------------------------


def c_strings(text):
    return "".join(json.loads(f'"{s}"') for s in re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def read_exercise(folder):
    text = (folder / "check.c").read_text()
    record = text[text.index("EXERCISE = {") :]

    def expanded(expression):
        for name in re.findall(r"(?<![\"\w])[A-Z_]+(?![\"\w])", re.sub(r'"[^"]*"', '""', expression)):
            macro = re.search(rf"^#define {name} (.*)$", text, re.M)
            expression = expression.replace(name, expanded(macro.group(1)) if macro else "")
        return expression

    def value(name):
        found = re.search(rf"\.{name} =\s*((?:\w+|\"(?:[^\"\\]|\\.)*\"|\s)+)", record)
        return c_strings(expanded(found.group(1))) if found else ""

    hints = re.search(r"\.hints =\s*\{(.*?)\},\n\s+\.", record, re.S)
    hint_list = []
    for piece in re.findall(r'((?:"(?:[^"\\]|\\.)*"\s*)+)', hints.group(1) if hints else ""):
        hint_list.append(c_strings(piece))
    mistakes = re.findall(r"Mistake \w+\s*=\s*\{\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+),", text)
    source = next((ROOT / "exercises").glob(folder.name + ".c*"))
    return {
        "id": folder.name,
        "title": value("title"),
        "kind": value("kind"),
        "lesson": value("lesson"),
        "chapter": int(re.search(r"\.chapter = (\d+)", record).group(1)),
        "hints": hint_list,
        "facts": " · ".join(re.search(r" · (\w+) · (\d+ min)", source.read_text()).groups()),
        "mistakes": [c_strings(m) for m in mistakes],
        "source": source,
    }


def number(exercise):
    """26_2_inclusive_scan is exercise 26.2"""
    lesson, order = exercise.split("_")[:2]
    return f"{int(lesson)}.{order}"


EXERCISES = [read_exercise(f) for f in sorted((ROOT / "tests/hidden").glob("[0-9]*")) if (f / "check.c").exists()]


def task_and_stub(source):
    lines = source.read_text().split("\n")
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    task = [line[2:].removeprefix(" ") for line in lines[1:end]]
    return "\n".join(task), "\n".join(lines[end:]).strip()


LABEL = re.compile(r"^(Task|Example|Write|Fix|Inputs|Required|Stars) +(.*)")


def as_prose(task):
    """An exercise's text, which is aligned in columns for a terminal, as Markdown."""
    sections = []
    for line in task.split("\n"):
        label = LABEL.match(line)
        if label:
            sections.append((label.group(1), [label.group(2)]))
        elif sections:
            sections[-1][1].append(line[10:] if line.startswith(" " * 10) else line.strip())
    out = []
    for label, lines in sections:
        body = inputs(lines) if label == "Inputs" else bullets(lines) if label in ("Required", "Stars") else paragraphs(lines)
        out.append(f"**{label}.** {body}" if not body.startswith(("-", "~~~", "|")) else f"**{label}**\n\n{body}")
    return "\n\n".join(out)


def in_text(line):
    """A line of plain text for Markdown: nothing in it is markup."""
    return re.sub(r"([*_<\[`|])", r"\\\1", line.strip())


def paragraphs(lines):
    out, code = [], []
    for line in [*lines, ""]:
        if line.startswith("    "):
            code.append(line[4:])
            continue
        if code:
            out += ["", "~~~text", *code, "~~~", ""]
            code = []
        out.append(in_text(line))
    return "\n".join(out).strip()


def bullets(lines):
    out = []
    for line in lines:
        mark = re.match(r"(?:-|(\*+)) +(.*)", line)
        if mark:
            out.append("- " + ("★" * len(mark.group(1)) + " " if mark.group(1) else "") + in_text(mark.group(2)))
        else:
            out[-1:] = [f"{out[-1] if out else '-'} {in_text(line)}"]
    return "\n".join(out)


def inputs(lines):
    """Rows of names and what they are; a row goes on where its names would be blank."""
    rows = []
    for line in lines:
        row = re.match(r"(\S.*?)(?:  +|$)(.*)", line)
        if row and row.group(2):
            rows.append([row.group(1), row.group(2)])
        elif rows:
            rows[-1][1] += " " + line.strip()
        else:
            return paragraphs(lines)
    if not rows:
        return paragraphs(lines)
    cells = [f"| {', '.join(f'`{n.strip()}`' for n in names.split(','))} | {in_text(what)} |" for names, what in rows]
    return "\n".join(["| name | value |", "| --- | --- |", *cells])


def solution_code(path):
    """Without its task, its tags and what only the stub has."""
    code = task_and_stub(path)[1]
    code = re.sub(r"^ *// \[stub\]\n.*?^ *// \[end\]\n?", "", code, flags=re.M | re.S)
    return re.sub(r"^ *// \[(answer|end)\]\n?", "", code, flags=re.M)


def write_exercises():
    for e in EXERCISES:
        task, stub = task_and_stub(e["source"])
        lesson = mended_links(f"[lesson {e['chapter']}]({e['lesson'].removeprefix('docs/')})").replace("](", "](../")
        language = "cuda" if e["source"].suffix == ".cu" else "c"
        text = f"# {number(e['id'])}. {e['title']}\n\n{e['kind'].capitalize()} · {lesson} · {e['facts']} · `./ferry run {number(e['id'])}`\n\n"
        text += f"{as_prose(task)}\n\n## The file\n\n`{e['source'].relative_to(ROOT)}`\n\n```{{.{language} data-exercise=\"{e['id']}\"}}\n{stub}\n```\n\n"
        if e["hints"]:
            text += "## Hints\n\n" + "".join(
                f"<details markdown=\"1\"><summary>Hint {i}</summary>\n\n{hint}\n</details>\n\n" for i, hint in enumerate(e["hints"], 1)
            )
        page = ROOT / f"solutions/{e['id']}.md"
        if page.exists():
            worked = re.sub(r"\]\((?!https?:)", "](../", mended_links(page.read_text().split("\n", 2)[2].strip(), "solutions"))
            worked = re.sub(r"^## ", "**", worked, flags=re.M)
            worked = re.sub(r"^(\*\*[^*\n]+)$", r"\1**", worked, flags=re.M)
            code = solution_code(ROOT / "solutions" / e["source"].name)
            text += f"## Solution\n\n<details markdown=\"1\"><summary>The worked solution</summary>\n\n```{language}\n{code}\n```\n\n{worked}\n</details>\n\n"
        if e["mistakes"]:
            names = "".join(f"- {html.escape(m)}\n" for m in sorted(set(e["mistakes"])))
            text += (
                "## Mistakes that the hidden tests know by name\n\nEach was made on purpose in an answer that they refuse."
                f"\n\n<details markdown=\"1\"><summary>Their names (a hint in themselves)</summary>\n\n{names}\n</details>\n"
            )
        write(f"exercise/{e['id']}.md", text)


# ---- the reference -------------------------------------------------------------------------------------------------------------

HEADERS = headers.all_headers()


def api_page(header):
    return "api/" + header.path.removeprefix("core/").removesuffix(".h").replace("/", "_") + ".md"


def index_of_names():
    """Public name: the page and anchor that explain it."""
    index = {}
    for header in HEADERS:
        for _, _, entries in header.parts:
            for entry in entries:
                for name in entry.names:
                    index.setdefault(name, f"{api_page(header)}#{name.lower()}")
    return index


def definitions():
    """Function: the file and line where it is written out."""
    found = {}
    for path in sorted((ROOT / "core").rglob("*.c")):
        if "/sim/" in str(path):
            continue
        for number, line in enumerate(path.read_text().split("\n"), 1):
            match = re.match(r"(?:_Noreturn )?[A-Za-z][\w ]*[ *]+(fy_\w+)\(", line)
            if match and not line.rstrip().endswith(";"):
                found.setdefault(match.group(1), (str(path.relative_to(ROOT)), number))
    return found


def uses():
    """Name: the lessons whose pages or programs call it."""
    found = {}
    for path in lessons():
        number = path.name[:2]
        text = path.read_text()
        for program in list((ROOT / "chapters").glob(f"{number}_*.c")) + list((ROOT / "chapters").glob(f"{number}_*.cu")):
            text += program.read_text()
        for name in set(re.findall(r"\bfy_\w+", text)):
            found.setdefault(name, []).append(path)
    return found


def prose(lines):
    """A comment as text: indented lines are code, lines that begin like a list are one."""
    out, code = [], False
    for line in lines:
        indented = line.startswith("  ") and not code and (not out or not out[-1].strip() or out[-1].startswith("    ")) or (
            code and (line.startswith("  ") or not line.strip())
        )
        if indented and not code:
            out += ["", "```c"]
            code = True
        elif code and not indented:
            out += ["```", ""]
            code = False
        out.append(line[2:] if code else escaped(line))
    if code:
        out.append("```")
    return "\n".join(out).strip()


def escaped(line):
    line = line.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[").replace("_", "\\_")
    return re.sub(r"(?<![\w`])((?:fy\\_|FY\\_|Fy)[\w\\]*(?:\([^()]*\))?)", lambda m: "`" + m.group(1).replace("\\", "") + "`", line)


def function_names(header):
    return [n for _, _, entries in header.parts for e in entries for n in e.names]


def plumbing(name):
    """What a macro stands on: shown in the declaration, without a heading of its own."""
    base = re.sub(r"_(with|of|open|close|begin|end|leave|opened)$", "", name)
    return base != name and base in ALL_NAMES


ALL_NAMES = {n for h in HEADERS for n in function_names(h)}


def write_reference():
    where, used = definitions(), uses()
    same = []
    for header in HEADERS:
        out = [f"# {header.path.removeprefix('core/')}", "", f"In [`{header.path}`](../{source_page(header.path)}).", "", prose(header.about), ""]
        for title, about, entries in header.parts:
            if title:
                out += [f"## {title.rstrip(':').capitalize() if title.islower() else title}", "", prose(about), ""]
            for entry in entries:
                names = [n for n in entry.names if n.startswith("fy_") and not plumbing(n)] or entry.names[:1]
                anchors = "".join(f'<a id="{n.lower()}"></a>' for n in entry.names)
                out += [f"### {', '.join(f'`{n}`' for n in names)} {{ #{names[0].lower()}-entry }}", "", anchors, "", "```c", *entry.code, "```", ""]
                if entry.comment:
                    out += [prose(entry.comment), ""]
                facts = []
                pytorch = {n: headers.pytorch_name(n, entry, title) for n in names}
                for n, word in pytorch.items():
                    if word:
                        same.append((n, word, api_page(header)))
                    elif n.startswith("fy_"):
                        same.append((n, None, api_page(header)))
                words = sorted({w for w in pytorch.values() if w})
                if words:
                    facts.append("PyTorch: " + ", ".join(f"`{w}`" for w in words))
                files = {}
                for n in entry.names:
                    if n in where:
                        files.setdefault(where[n][0], []).append(where[n][1])
                if files:
                    facts.append(
                        "Implemented in "
                        + ", ".join(f"[`{f}`](../{source_page(f)}#__codelineno-0-{min(lines)})" for f, lines in files.items())
                    )
                mine = sorted({p for n in names for p in used.get(n, [])})
                if mine:
                    facts.append("Lessons " + ", ".join(f"[{int(p.name[:2])}](../{p.name})" for p in mine))
                if facts:
                    out += ["<small>" + " · ".join(facts) + "</small>", ""]
        write(api_page(header), "\n".join(out))
    write_same(same)


def write_same(same):
    rows = sorted((w.removeprefix("with "), n, p) for n, w, p in same if w)
    out = ["# The same in PyTorch", "", "What each of Ferry's functions is called in PyTorch, as its header says it.", ""]
    out += ["| PyTorch | Ferry |", "| --- | --- |"]
    out += [f"| `{w}` | [`{n}`]({p}#{n.lower()}) |" for w, n, p in rows]
    own = sorted((n, p) for n, w, p in same if not w)
    out += ["", "## Without a name there", "", "Ferry's own, or what Python has in its language: lifetimes, errors, lists, options read one by one.", ""]
    out += [", ".join(f"[`{n}`]({p}#{n.lower()})" for n, p in own), ""]
    write("pytorch.md", "\n".join(out))


# ---- the first page, and what is where -----------------------------------------------------------------------------------------


def write_index():
    text = (ROOT / "README.md").read_text()
    text = re.sub(r"^<!-- .*?-->\n", "", text, flags=re.M)
    text = re.sub(r"(src|srcset)=\"docs/", r'\1="', text)

    write("index.md", with_themed_pictures(mended_links(text, ".")))


def short(title):
    return re.sub(r"^\d+\. ", "", title)


def navigation():
    nav = [{"Ferry": "index.md"}]
    for name, numbers in PARTS:
        mine = [p for p in lessons() if int(p.name[:2]) in numbers]
        if mine:
            items = [{f"{int(p.name[:2])}. {short(title_of(p.read_text()))}": p.name} for p in mine]
            nav.append({name: ([{"All pages": "lessons.md"}] if 1 in numbers else []) + items})
    nav.append({"Exercises": [{"All exercises": "exercises.md"}] + [{f"{number(e['id'])} {e['title']}": f"exercise/{e['id']}.md"} for e in EXERCISES]})
    tools = [n for n in TOOLS if (ROOT / f"docs/{n}.md").exists()]
    nav.append({"Measuring and tools": [f"{n}.md" for n in tools]})
    extra = ["glossary.md"] if (ROOT / "docs/glossary.md").exists() else []
    nav.append(
        {
            "Reference": [{"The same in PyTorch": "pytorch.md"}, *extra]
            + [{h.path.removeprefix("core/"): api_page(h)} for h in sorted(HEADERS, key=lambda h: h.path)]
        }
    )
    listed = {Path(v).name for group in nav for items in group.values() if isinstance(items, list) for i in items for v in ([i] if isinstance(i, str) else i.values())}
    rest = [p.name for p in sorted((ROOT / "docs").glob("*.md")) if p.name not in listed and p.name != "README.md"]
    if rest:
        nav.append({"More": rest})
    return nav


def version():
    """As ./ferry version says it: the number, and the commit if there is one."""
    header = (ROOT / "core/base/version.h").read_text()
    number = ".".join(re.search(rf"#define FERRY_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return number + (f" ({commit})" if commit else "")


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    write_index()
    write_lessons()
    players.write_players(lessons(), PAGES, OUT / "records")
    write_glossary()
    write_exercises()
    write_reference()
    write_sources()
    shutil.copytree(ROOT / "docs/book/theme", PAGES / "theme", dirs_exist_ok=True)
    (OUT / "names.json").write_text(json.dumps(index_of_names()))
    config = json.loads((ROOT / "docs/book/mkdocs.json").read_text())
    config["nav"] = navigation()
    config["docs_dir"] = str(PAGES.resolve())
    config["site_dir"] = str((OUT / "site").resolve())
    config["copyright"] = "Ferry " + version()
    config["hooks"] = [str(ROOT / "docs/book/hooks.py")]
    (OUT / "mkdocs.yml").write_text(json.dumps(config, indent=1))  # JSON is YAML
    print(f"{len(lessons())} lessons, {len(EXERCISES)} exercises, {len(HEADERS)} headers, {len(sources)} files of source")


main()
