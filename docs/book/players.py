# SPDX-License-Identifier: MIT
"""The players in lessons: records the block of each figure <figure class="ferry-step" data-record="NAME">, as records.txt says."""

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "docs/book/records.txt"
FERRY = ROOT / os.environ.get("FERRY_BUILD", "build") / "ferry"
MOST_RECORDED = 500_000  # bytes of records in one lesson
FIGURE = re.compile(r'<figure class="ferry-step" data-record="([\w-]+)"[^>]*>(.*?)</figure>', re.S)


def commands():
    """Name of a record: the arguments of ./ferry step."""
    lines = (line.split(": ", 1) for line in LIST.read_text().splitlines() if line and line[0] != "#")
    return {name: arguments for name, arguments in lines}


def record(name, arguments, file):
    """Records the block again if the program, ./ferry or the list is newer than its record. Returns what went wrong."""
    words = shlex.split(arguments)
    newest = max(p.stat().st_mtime for p in (ROOT / words[0], FERRY, LIST))
    if file.exists() and file.stat().st_mtime >= newest:
        return ""
    own = words.index("--") if "--" in words else len(words)
    run = subprocess.run([FERRY, "step", *words[:own], "--json", file, *words[own:]], cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else f"{name}: ./ferry step {arguments}: {run.stderr.strip()}"


def figures(path, known):
    """The records that a lesson plays. Each figure's caption has the command, for readers without JavaScript."""
    names = []
    for name, inside in FIGURE.findall(path.read_text()):
        if name not in known:
            sys.exit(f"{path.name} plays the record {name}, which is not in {LIST.name}")
        if f"<code>./ferry step {known[name]}</code>" not in html.unescape(inside):
            sys.exit(f"{path.name}: the caption of {name} does not say: ./ferry step {known[name]}")
        names.append(name)
    return names


def write_players(lessons, pages, records):
    """The player, and its records: step/records/NAME.js."""
    known = commands()
    played = {path: figures(path, known) for path in lessons}
    unused = set(known) - {name for names in played.values() for name in names}
    if unused:
        sys.exit(f"{LIST.name}: no lesson plays {', '.join(sorted(unused))}")
    if not FERRY.exists():
        sys.exit(f"{FERRY.relative_to(ROOT)}, which records the blocks of the lessons' players, is missing: run make ferry")
    records.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as two:
        wrong = [w for w in two.map(lambda item: record(*item, records / f"{item[0]}.json"), known.items()) if w]
    if wrong:
        sys.exit("\n".join(wrong))
    (pages / "step/records").mkdir(parents=True, exist_ok=True)
    parts = [ROOT / "core/step" / name for name in ("recording.js", "lanes.js", "player.js")]
    (pages / "step/player.js").write_text("".join(part.read_text() for part in parts))
    shutil.copy(ROOT / "core/step/player.css", pages / "step")
    for path, names in played.items():
        size = 0
        for name in names:
            text = (records / f"{name}.json").read_text()
            (pages / f"step/records/{name}.js").write_text(f"ferryStep({json.dumps(name)}, {text});\n")
            size += len(text)
        if size > MOST_RECORDED:
            sys.exit(f"the records that {path.name} plays have {size} bytes, of at most {MOST_RECORDED}: record fewer steps (--limit)")
