# SPDX-License-Identifier: MIT
"""HTML for the output of a cell. Colors are mixed with the page's own, so that they fit dark and light themes."""

import html
import re

STYLE = """<style>
.ferry-nb { --hot: #d64520; --bad: #d93c2c; --good: #2c9a4b; --note: #b98900; line-height: 1.45; }
.ferry-nb .box { border-left: 4px solid var(--bad); padding: .3em .8em; margin: .3em 0;
  background: color-mix(in srgb, currentColor 6%, transparent); }
.ferry-nb .box.good { border-color: var(--good); } .ferry-nb .box.note { border-color: var(--note); }
.ferry-nb pre { margin: .3em 0; padding: 0; background: none; color: inherit; font-size: 12px; line-height: 1.4; white-space: pre; overflow-x: auto; }
.ferry-nb code { background: none; color: inherit; padding: 0; }
.ferry-nb .wide { overflow-x: auto; }
.ferry-nb table { border-collapse: collapse; margin: .3em 0; font: 12px/1.5 ui-monospace, monospace; color: inherit; }
.ferry-nb tr { background: none !important; }
.ferry-nb td, .ferry-nb th { padding: 0 .6em; text-align: right; white-space: pre; border: 0; color: inherit; background: none; font-weight: normal; }
.ferry-nb th { opacity: .75; }
.ferry-nb tr.hot td { background: color-mix(in srgb, var(--hot) var(--heat), transparent); }
.ferry-nb td.code, .ferry-nb th.code { text-align: left; border-left: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.ferry-nb td.poor { font-weight: bold; text-decoration: underline; }
.ferry-nb td.finding { text-align: left; white-space: normal; font-family: system-ui, sans-serif; }
.ferry-nb td.finding .box { max-width: 36em; }
.ferry-nb .small { font-size: 12px; }
.ferry-nb .dim { opacity: .75; }
</style>"""

DIAGNOSTIC = re.compile(r"^(?:(\S.*?):)?(\d+):(?:(\d+):)? (fatal error|error|warning): (.*)$", re.M)
COLUMNS = (("sectors", "load"), ("sectors", "store"), ("wavefronts", "load"), ("wavefronts", "store"))


def escape(text):
    return html.escape(str(text), quote=True)


def block(inner):
    return f'{STYLE}<div class="ferry-nb">{inner}</div>'


def box(kind, title, body=""):
    return f'<div class="box {kind}" role="note"><b>{escape(title)}</b>{body}</div>'


def bundle(inner, text):
    """What is displayed: HTML, and the same as text where there is none."""
    return {"text/html": block(inner), "text/plain": text}


# ---- messages of the compiler ---------------------------------------------------------------------------------------------------


def diagnostics(text):
    """[(file, line, severity, message)] of a compiler's messages."""
    return [(m[1] or "", int(m[2]), m[4], m[5]) for m in DIAGNOSTIC.finditer(text)]


def messages(text, own_file):
    found = diagnostics(text)
    errors = sum("error" in severity for _, _, severity, _ in found)
    title = f"{errors} error{'s' if errors != 1 else ''}" if errors else "warnings"
    items = "".join(
        f"<li>{'line ' if file == own_file else escape(file) + ':'}{line}: {escape(severity)}: {escape(message)}</li>"
        for file, line, severity, message in found
    )
    return bundle(box("" if errors else "note", title, f"<ul>{items}</ul><pre>{escape(text)}</pre>"), text)


def counts(text):
    title, *rows = text.strip("\n").split("\n")
    cells = "".join(f"<tr><td style=\"text-align: left\">{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in map(split_row, rows))
    return bundle(f'<div class="dim">{escape(title.removeprefix("cudasim: ").rstrip(":"))}</div><table>{cells}</table>', text)


def split_row(row):
    name, _, value = row.strip().partition("  ")
    return name, value.strip()


# ---- a verdict ------------------------------------------------------------------------------------------------------------------


def verdict(text, passed):
    title, _, rest = text.strip("\n").partition("\n")
    decisive = next((line for line in rest.split("\n") if line[:1] in "✓✗"), "")
    inner = box("good" if passed else "", title, f"<div>{escape(decisive)}</div>" if decisive else "")
    rest = "\n".join(line for line in rest.split("\n") if line != decisive)
    return bundle(inner + f"<pre>{escape(rest)}</pre>", text)


# ---- the inspector's report -------------------------------------------------------------------------------------------------------


def is_in_cell(record, own_file, key="line"):
    return record.get(key.replace("line", "file")) == own_file and record.get(key)


def finding(record, command):
    spots = [f"{record[p + 'file']}:{record[p + 'line']}" for p in ("", "other_") if p + "file" in record]
    where = " and ".join(spots)
    detail = f"{escape(record.get('kernel', ''))} {escape(where)}: {escape(record['detail'])}, {record['times']} times. "
    step = f"<br>See it: <code>{escape(command)}</code>" if command else ""
    return box("note" if record["type"] == "note" else "", record["title"], f" {detail}{escape(record['remedy'])}{step}")


def step_command(record):
    """The magic command that opens the player at the finding."""
    found = re.search(r"(?: --kernel \S+)?(?: --launch \S+)?(?: --block \S+)?(?: --test \S+)? --at \S+", record.get("step", ""))
    return "%%ferry step" + found[0] if found else None


def total(lines, what, kind):
    """Of several kernels in one line: the units, the ideal, and the requests."""
    units = ideal = requests = 0
    for line in lines:
        count = line.get(f"requests_{what}_{kind}", 0)
        units += line.get(f"{what}_{kind}", 0) * count
        ideal += line.get(f"{what}_{kind}_ideal", 0) * count
        requests += count
    return units, ideal, requests


def column(lines, what, kind):
    parts = [total(lines, what, k) for k in ((kind, "atomic") if kind == "store" else (kind,))]
    return tuple(map(sum, zip(*parts)))


def row(number, code, lines, most):
    sums = [column(lines, what, kind) for what, kind in COLUMNS]
    cells = "".join(
        f'<td{" class=poor" if units >= 2 * ideal else ""}>{units / n:.1f}/{ideal / n:.1f}</td>' if n else "<td></td>" for units, ideal, n in sums
    )
    cost = sum(units for units, _, _ in sums)
    heat = f' class="hot" style="--heat: {4 + 40 * cost / most:.0f}%"' if cost else ""
    lanes = f"{100 * sum(line['active_lanes'] for line in lines) / len(lines):.0f}%" if lines else ""
    return f'<tr{heat}><td>{lanes}</td>{cells}<td class="dim">{number}</td><td class="code">{escape(code)}</td></tr>'


def kernel_row(k):
    size = " x ".join(map(str, k["grid"])), " x ".join(map(str, k["block"]))
    registers = k["registers"] if k["registers"] is not None else "unknown"
    occupancy = f"{100 * k['occupancy']:.0f} %" if "occupancy" in k else f"at most {100 * k['occupancy_without_registers']:.0f} %"
    modeled = f"{k['modeled_us']:.1f} us ({k['limit']})" if "modeled_us" in k else ""
    values = (*size, k["launches"], f"{k['static_shared']} + {k['dynamic_shared']}", registers, occupancy, modeled)
    return f'<tr><td class="code">{escape(k.get("launch", k["kernel"]))}</td>' + "".join(f"<td>{escape(v)}</td>" for v in values) + "</tr>"


def inspection(records, source, own_file, text):
    """`records`: the objects of ./ferry inspect --json. `source`: the lines of the cell with their numbers."""
    findings = [r for r in records if r["type"] in ("finding", "note")]
    kernels = [r for r in records if r["type"] == "kernel"]
    lines = {}
    for r in records:
        if r["type"] == "line" and r["file"] == own_file:
            lines.setdefault(r["line"], []).append(r)
    errors = sum(r["type"] == "finding" for r in findings)
    title = f"{errors or 'no'} finding{'s' if errors != 1 else ''}"
    inner = box("" if errors else "good", title)
    inner += "".join(finding(r, step_command(r)) for r in findings if not is_in_cell(r, own_file))
    heads = ("", "grid", "block", "launches", "shared bytes", "registers", "occupancy")
    heads += ("modeled time",) if any("modeled_us" in k for k in kernels) else ()
    inner += '<div class="wide"><table><tr>' + "".join(f"<th>{h}</th>" for h in heads) + "</tr>" + "".join(map(kernel_row, kernels)) + "</table></div>"
    most = max((sum(column(of_line, w, k)[0] for w, k in COLUMNS) for of_line in lines.values()), default=1) or 1
    heads = ("active lanes", "global load", "store", "shared load", "store", "line")
    inner += '<div class="wide"><table><tr>' + "".join(f"<th>{h}</th>" for h in heads) + '<th class="code">source</th></tr>'
    for number, code in source:
        inner += row(number, code, lines.get(number, []), most)
        inner += "".join(
            f'<tr><td colspan="6"></td><td class="code finding">{finding(r, step_command(r))}</td></tr>'
            for r in findings
            if is_in_cell(r, own_file) == number
        )
    inner += '</table></div><div class="dim small">global memory: sectors per request / ideal; shared memory: wavefronts per request / ideal. '
    inner += "The warmer a line, the more sectors and wavefronts it took.</div>"
    return bundle(inner, text)


# ---- the player -------------------------------------------------------------------------------------------------------------------


def player(page, height, text):
    frame = (
        f'<iframe title="Ferry step: a block of a kernel, step by step" sandbox="allow-scripts" width="100%" height="{height}" '
        f'style="border: 0" srcdoc="{escape(page)}"></iframe>'
    )
    return {"text/html": frame, "text/plain": text}
