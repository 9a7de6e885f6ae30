# SPDX-License-Identifier: MIT
"""Each magic command, in a kernel. usage: check_magics.py FOLDER"""

import html
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from ferry_notebook.process import descendants

from kernel import ROOT, Kernel, result, wait_until, without_times

work = Path(sys.argv[1])
here = work / "beside the notebook"
here.mkdir()
(work / "tmp").mkdir()
os.environ["TMPDIR"] = str(work / "tmp")
os.environ["FERRY_WORK"] = str(work / "workspace")
FERRY = ROOT / "ferry"


def terminal(*words, cell=None, suffix=".cu"):
    """What ./ferry says in a terminal about a file whose lines are those of the cell."""
    folder = work / "terminal"
    folder.mkdir(exist_ok=True)
    if cell is not None:
        (folder / ("cell" + suffix)).write_text(re.sub(r"^%%ferry", "// %%ferry", cell).rstrip("\n") + "\n")
    said = subprocess.run([FERRY, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return said.stdout, said.stderr


def line_of(cell, text):
    """From 1, as Jupyter counts."""
    return next(i for i, line in enumerate(cell.split("\n"), 1) if text in line)


def file(name):
    return (ROOT / name).read_text()


HELLO = '#include <stdio.h>\nint main(int argc, char **argv) {\n  printf("hello %s\\n", argc > 1 ? argv[1] : "?");\n  return argc > 1 ? 0 : 3;\n}'
RACE = file("chapters/kernels/broken/race.cu")
RIGHT, WRONG = file("solutions/20_1_saxpy.cu"), file("tests/hidden/20_1_saxpy/wrong_down.cu")
STUB = file("exercises/20_1_saxpy.cu")


def check_run(run):
    got = run('%%ferry -- "a b"\n' + HELLO)
    result(got.out == "hello a b\n" and run.status() == 0, "a CUDA cell runs, with arguments", got.text)
    got = run("%%ferry\n" + RIGHT_PROGRAM)
    result("kernel launches" in got.html and "cudasim: counted in this run" in got.plain and not got.err, "what was counted is shown", got.text)
    got = run("%%ferry\n" + HELLO)
    result(run.status() == 3 and "exit status 3" in got.err, "a program's exit status is told", got.text)

    cell = "%%ferry\n__global__ void k(int *x) { *x = 1; }\nint main() {\n  int x = 1\n  return x;\n}"
    got, line = run(cell), line_of(cell, "return x")
    result(f"line {line - 1}: error" in got.html or f"line {line}: error" in got.html, "a compile error is at the cell's line", got.html[-800:])
    _, said = terminal("cuda", "cell.cu", cell=cell)
    result(got.plain.strip() == said.strip() != "" and run.status() != 0, "and the text is what a terminal shows", got.text)
    got = run('%%ferry c\n#include "ferry.h"\nint main(void) {\n  fy_print(fy_ones(fy_shape(2)));\n  return 0;\n}')
    result("tensor([1., 1.])" in got.out and "counted by the library" in got.plain, "a C cell runs with the library", got.text)
    cell = '%%ferry c\n#include "ferry.h"\nint main(void) {\n  fy_print(fy_ones(fy_shape(2)), nothing);\n  return 0;\n}'
    got = run(cell)
    result(f"line {line_of(cell, 'nothing')}: error" in got.html, "a compile error in C is at the cell's line", got.text)
    (here / "beside.h").write_text("#define BESIDE 7\n")
    for language in ("", " c"):
        got = run(f'%%ferry{language}\n#include "beside.h"\n#include <stdio.h>\nint main(void) {{ printf("%d\\n", BESIDE); return 0; }}')
        result(got.out == "7\n", f"a header beside the notebook is found{language and ' in C'}", got.text)
    got = run("%%ferry -D N=5 --devices 3\n#include <stdio.h>\nint main() { int n; cudaGetDeviceCount(&n); printf(\"%d %d\\n\", N, n); return 0; }")
    result(got.out == "5 3\n", "-D and --devices", got.text)
    got = run('%%ferry\n#include <stdio.h>\nint main() { for (int i = 0; i < 3000000; i++) printf("x"); return 0; }')
    result(1 << 20 <= len(got.out) < (1 << 20) + 100 and "cut" in got.out, "endless output is cut", len(got.out))
    got = run("%%ferry\n__global__ void k(int *x) { *x = 1; }")
    result("no main" in got.text and "%%ferry inspect --grid" in got.text, "a cell without main: what to do", got.text)


def check_lesson(run):
    code = "__global__ void scale(float *x, float a, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    x[i] = %s;\n}"
    head = "%%ferry --lesson 20 --part scale --section 1 -- --quick\n"
    got = run(head + code % "a * x[i]")
    result("x[1] = 3" in got.out and "2. " not in got.out, "a cell takes its place in a lesson, of which one section is shown", got.text)
    got = run(head + code % "2 * a * x[i]")
    result("x[1] = 6" in got.out, "and changes what the lesson's program does", got.text)
    cell = head + code % "a * x[j]"
    got = run(cell)
    result(f"line {line_of(cell, 'x[j]')}: error" in got.html, "an error is at the cell's line, not the program's", got.text)
    cell = "%%ferry inspect --lesson 20 --part scale --kernel scale -- --quick\n" + (code % "a * x[i]").replace("if (i < n)", "")
    got, line = run(cell), line_of(code % "" + "\n", "x[i]") + 1
    result(f'<td class="dim">{line}</td>' in got.html and "out of bounds" in got.html, "and so is a finding", got.text)
    result("has no part" in run("%%ferry --lesson 20 --part nothing\nint x;").text, "a part that is not there")
    result("there is no lesson 99" in run("%%ferry --lesson 99 --part x\nint x;").text, "a lesson that is not there")
    got = run('%%ferry --lesson 3 --part there --section 2 -- --quick\nstatic void already_there(FyDevice device) {\n  heading("Mine");\n  printf("%d\\n", (int)device.index);\n}')
    result(got.out.startswith("2. Mine"), "a cell takes its place in a lesson in C", got.text)


def check_inspect(run):
    cell = "%%ferry inspect --no-registers\n" + RACE
    got, line = run(cell), line_of(cell, "chunk[t] = in[t];")
    row = re.search(rf'<tr[^>]*>(?:(?!</tr>).)*<td class="dim">{line}</td>.*?</tr>\s*<tr>.*?</tr>', got.html, re.S)
    result(row is not None and "data race within a block" in row[0], "a race is shown below the cell's own line", got.html[-1500:])
    result(run.status() == 1 and "2 findings" in got.html, "the findings are counted", got.text)
    result('class="hot" style="--heat: ' in got.html, "lines have heat")
    result("%%ferry step --at race-block@" in html.unescape(got.html), "a finding names the cell's command to see it")
    said, _ = terminal("inspect", "--no-registers", "cell.cu", cell=cell)
    result(same_words(got.plain, said), "the text is what a terminal shows", got.plain)
    cell = "%%ferry inspect --no-registers --grid 2 --block 64 --arg n=100\n__global__ void k(float *x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    x[i] = 2;\n}"
    got = run(cell)
    result("no finding" in got.html and f'<td class="dim">{line_of(cell, "= 2")}</td>' in got.html and run.status() == 0, "a kernel without main is launched", got.text)
    got = run(cell.replace("= 2;", "= 2"))
    result(f"line {line_of(cell, '= 2')}: error" in got.html, "a compile error is at the cell's line", got.text)
    got = run("%%ferry inspect --no-registers --table\n" + RACE)
    result("neighbors" in got.out and not got.html, "--table is text", got.text)
    got = run("%ferry inspect chapters/kernels/broken/race.cu --no-registers")
    result(f'<td class="dim">{line_of(RACE, "chunk[t] = in[t];")}</td>' in got.html, "a file of Ferry's is inspected", got.text)


def same_words(one, other):
    """But for the folder of the file, the same; longer paths are broken into lines elsewhere."""
    return one.split() == other.split() != []


def check_step(run):
    for name, source, at in (("at the first finding", RACE, "finding"), ("at the start, without a finding", RIGHT_PROGRAM, "0")):
        cell = "%%ferry step\n" + source
        got = run(cell)
        said, _ = terminal("step", "cell.cu", "--at", at, "--html", "page.html", cell=cell)
        page = (work / "terminal/page.html").read_text()
        frame = re.search(r'<iframe [^>]*sandbox="allow-scripts"[^>]* srcdoc="([^"]*)"></iframe>', got.html)
        shown = html.unescape(frame[1]) if frame else ""
        result(record_of(shown) == record_of(page) != "", f"the player is in the cell, {name}", got.text)
        result(same_words(got.plain, said), f"its text is the terminal's, {name}", got.plain)
    got = run("%%ferry step --height 300 --at end\n" + RACE)
    result('height="300"' in got.html and "step 39/39" in got.plain, "--height and --at", got.text)
    result("error" in run("%%ferry step\nint main() { return x; }").html, "a compile error is shown")


def record_of(page):
    record = re.search(r'id="ferry-record">(.*?)</script>', page, re.S)
    return re.sub(r"/[^\"]*/", "", record[1]) if record else ""


RIGHT_PROGRAM = "__global__ void k(int *x) {\n  *x = 1;\n}\nint main() {\n  int *x;\n  cudaMalloc(&x, 4);\n  k<<<1, 1>>>(x);\n  cudaDeviceSynchronize();\n  cudaFree(x);\n  return 0;\n}"


def check_answers(run):
    saved = work / "workspace/20_1_saxpy.cu"
    got = run("%%ferry check 20.1 --no-save\n" + WRONG)
    result(run.status() == 1 and re.search(r"✗ \d+ of \d+ tests fail", got.html) and "grid size rounded down" in got.html, "a wrong answer fails", got.text)
    result(not saved.parent.exists(), "--no-save makes no workspace")
    got = run("%%ferry check 20.1\n" + WRONG)
    result(run.status() == 1 and WRONG in saved.read_text(), "an answer is saved in the workspace", got.text)
    got = run("%%ferry check saxpy\n" + RIGHT)
    result(run.status() == 0 and re.search(r"✓ \d+ of \d+ tests passed", got.html) and 'class="box good"' in got.html, "a right answer passes", got.text)
    result("20_1_saxpy passed=1" in (work / "workspace/.progress").read_text(), "a pass is progress")
    result("milestone" in got.plain, "a milestone is named with the pass that reaches it", got.plain)
    got, (said, _) = run("%%ferry check saxpy\n" + RIGHT), terminal("run", "20.1")
    result(same_words(without_times(got.plain), without_times(said)), "the text is what a terminal shows", got.plain)
    got = run("%%ferry check 20.1\n" + STUB)
    result(run.status() == 1 and RIGHT in saved.read_text(), "the original never replaces an answer", got.text)
    saved.write_text("// mine\n" + RIGHT)
    got = run("%%ferry check 20.1\n" + RIGHT)
    kept = list((work / "workspace").glob("20_1_saxpy.cu.*"))
    result(len(kept) == 1 and kept[0].read_text() == "// mine\n" + RIGHT and str(kept[0]) in got.out, "changes from elsewhere are kept", got.text)
    cell = "%%ferry check 20.1 --no-save\n" + RIGHT.replace("float a, int n) {", "float a, int n) {\n  int mistake = nothing;", 1)
    got = run(cell)
    result(f"20_1_saxpy.cu:{line_of(cell, 'mistake')}:" in got.plain and run.status() == 1, "a compile error is at the cell's line", got.text)
    got = run("%%ferry check 99.9\n" + RIGHT)
    result("does not match exactly one exercise" in got.text, "an exercise that is not there", got.text)
    got = run("%%ferry check 3.1\n" + file(next((ROOT / "solutions").glob("03_1_*.c")).relative_to(ROOT)))
    result(run.status() == 0 and "✓" in got.html, "an answer in C passes", got.text)


def check_lines(run):
    result("1 of 3" in run("%ferry hint 20.1").out and "2 of 3" in run("%ferry hint 20.1").out, "each hint shows one more")
    said, _ = terminal("doctor")
    result(run("%ferry doctor").out.split() == said.split(), "doctor says what it says in a terminal")
    for name, text in (("", "%%ferry [c]"), ("inspect ", "--kernel NAME"), ("step ", "--launch N"), ("check ", "--replay"), ("hint ", "usage: ./ferry hint"), ("doctor ", "usage: ./ferry doctor")):
        got = run(f"%ferry {name}--help")
        result(text in got.out, f"%ferry {name}--help", got.text)
    got = run("%%ferry inspect --help\nint x;")
    result("--kernel NAME" in got.out, "a cell's --help", got.text)
    for line, text in (("%ferry nothing", "there is no command nothing"), ("%ferry watch", "a terminal has more"), ("%%ferry nothing\nx", "there is no command nothing"), ("%%ferry --nothing\nint main() {}", "there is no option --nothing"), ("%%ferry inspect --nothing\nint main() {}", "there is no option --nothing"), ("%%ferry check\nx", "which exercise?"), ('%ferry "', "cannot be read")):
        result(text in run(line).text, f"{line.splitlines()[0]}: what to do", run(line).text)


# ---- an interrupt --------------------------------------------------------------------------------------------------------------------

ENDLESS = "#include <unistd.h>\n__global__ void k(volatile int *x) {\n  while (*x == 0)\n    ;\n}\nint main() {\n  int *x;\n  cudaMalloc(&x, 4);\n  cudaMemset(x, 0, 4);\n  k<<<1, 1>>>(x);\n  cudaDeviceSynchronize();\n  return 0;\n}"
ENDLESS_ANSWER = "#include <cuda_runtime.h>\nextern \"C\" void saxpy_on_device(float *y, const float *x, float a, int n) {\n  for (volatile int i = 0;; i++)\n    ;\n}\n"


def age(pid):
    """What tells a process from a later one of the same number; None: it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if stat[0] in "ZX" else stat[19]


def busy(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat[11])


# Those that work before the program that never ends does.
BUILDERS = ("ferry", "cu2cpp", "g++", "cc1plus", "cc1", "as", "ld", "ld.gold", "ld.bfd", "collect2", "ptxas", "cicc", "nvcc")


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def check_interrupt(run, name, cell):
    """Interrupts when the program that never ends has computed for a while."""
    kernel = run.client.km.provisioner.pid
    seen = {}

    def runs():
        for pid in descendants(kernel):
            seen.setdefault(pid, age(pid))
        return any(name_of(pid) not in BUILDERS and busy(pid) > 20 for pid in descendants(kernel))

    def interrupt():
        reached.append(wait_until(runs))
        os.kill(kernel, 2)

    reached = []
    thread = threading.Thread(target=interrupt)
    thread.start()
    got = run(cell)
    thread.join()
    left = [pid for pid, born in seen.items() if born is not None and not wait_until(lambda: age(pid) != born, 5)]
    result(reached == [True] and "KeyboardInterrupt" in got.error, f"{name}: an interrupt ends the cell", got.text or reached)
    result(not left and not descendants(kernel), f"{name}: and leaves no process", left)
    result(run("print(1)").out == "1\n", f"{name}: the kernel goes on")


with Kernel(here) as run:
    got = run("%load_ext ferry_notebook")
    result(not got.text, "the extension is loaded", got.text)
    for check in (check_run, check_lesson, check_inspect, check_step, check_answers, check_lines):
        check(run)
    started = {"run": ("%%ferry\n" + ENDLESS), "inspect": ("%%ferry inspect --no-registers\n" + ENDLESS), "check": "%%ferry check 20.1 --no-save\n" + ENDLESS_ANSWER}
    for name, cell in started.items():
        check_interrupt(run, name, cell)
    left = [path.name for path in work.glob("tmp/ferry*")]
    result(not left, "no temporary folder is left", left)
