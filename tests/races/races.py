#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the races that ./ferry inspect finds with the labels of public suites.

usage: make races ARGS="--hirace DIR --scor DIR --gpuverify DIR --faial DIR [options]"
  --hirace DIR      a checkout of JohnJacobsonIII/HiRace-Artifact-SC24 (590 programs of Indigo)
  --scor DIR        a checkout of csl-iisc/ScoR (its 32 microbenchmarks)
  --gpuverify DIR   a checkout of mc-imperial/gpuverify (testsuite/CUDA)
  --faial DIR       a checkout of elliotsayes/faial (examples/drf)
  --graph NAME      HiRace's input (default DAG_100n_200e)
  --half A|B|both   the programs whose name's hash is even (A, for development), or odd (B); default both
  --match PATTERN   only programs whose name matches this regular expression
  --jobs N          so many at a time (default 1)
  --prove           do not run the programs: try to prove GPUVerify's and Faial's kernels free of races, for any arguments
  --out FILE        where to write a line per program (default build/races.tsv)

The protocol, which is older than the results in docs/races.md:
- "Found" is a finding (no note) of the kinds data race, divergent barrier, divergent grid barrier or divergent warp function, in a
  run without other options than those below. The program runs twice, with threads in ascending and in descending order.
- HiRace: `FILE -I indigo/indigo_include -- GRAPH 256 1024`. Racy if the name has atomicBug, guardBug, syncBug or raceBug; a program
  with boundsBug alone has an access out of bounds and no race.
- ScoR: each file as it is. The name begins with race_ or norace_.
- GPUVerify: launched as the comment in its second line says (also its -D), with arrays of as many elements as threads and 4096 more; annotations are
  macros that do nothing, and `x == NUMBER` in __requires gives an argument. "pass" is clean. Of those that fail, racy are those whose comment speaks of a race ("race", "racy", "Write by thread") or that
  lie in fail_tests or cooperative_groups/fail; the others fail for assertions, null pointers and invariants, and are left out, as are
  those whose label is an error of GPUVerify's own tools.
- --prove: the kernel, its launch, macros and template arguments are the same. What the kernel requires or assumes (__requires, __assume) is
  assumed. "every launch" is a proof for all grids and blocks, "its launch" one for this block (and this grid).
- Faial: a kernel is launched with 4 blocks of 64 threads, such arrays, 4096 bytes of dynamic shared memory, and float as the type of a
  template;
  annotations are macros that do nothing. The name begins with racy- or drf-. Faial's own default is one block, so a label may differ.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RACES = re.compile(r"race-|divergent|lanes")
SECONDS = 300
# What GPUVerify and Faial write into kernels for their proofs.
ANNOTATIONS = "requires ensures invariant global_invariant assert assume modifies reads_from requires_fresh_array " \
    "function_wide_invariant candidate_invariant global_assert barrier_invariant".split()


class Program:
    def __init__(self, suite, name, label, arguments):
        self.suite, self.name, self.label, self.arguments = suite, name, label, arguments

    def half(self):
        return "AB"[hashlib.sha256(self.name.encode()).digest()[0] % 2]


def hirace(root, graph):
    sources, given = root / "indigo/indigo_sources", root / f"indigo/input/{graph}.egr"
    if not given.exists():
        sys.exit(f"races.py: there is no graph {given}")
    for file in sorted(sources.glob("*/*.cu")):
        racy = re.search("atomicBug|guardBug|syncBug|raceBug", file.stem)
        label = "racy" if racy else "bounds" if "boundsBug" in file.stem else "clean"
        arguments = [file, "-I", root / "indigo/indigo_include", "--", given, "256", "1024"]
        yield Program("HiRace", file.stem, label, arguments)


def scor(root):
    for file in sorted((root / "microbenchmarks/src").glob("*.cu")):
        yield Program("ScoR", file.stem, "racy" if file.stem.startswith("race_") else "clean", [file])


def annotations():
    """A header, included after the system's, in which annotations are empty macros."""
    header = ROOT / "build/races_annotations.h"
    header.write_text("#include <cassert>\n#include <cooperative_groups.h>\n#include <curand_kernel.h>\n" + "".join(f"#undef __{w}\n#define __{w}(...) (void)0\n" for w in ANNOTATIONS) +
                      "#define __axiom(...) static_assert(true)\n"
                      "namespace cooperative_groups { template <class G> void synchronize(G group) { group.sync(); } }\n")
    return ["-include", header, "--arg", "*=[threads + 4096]"]


def gpuverify_label(name, lines):
    comment = " ".join(line for line in lines[:12] if line.startswith("//"))
    if "pass" in lines[0].lower():
        return "clean"
    if "NOT_ALL_VERIFIED" not in lines[0]:
        return "tool"
    racy = re.search(r"\brac(e|y)\b|(Write|Read) by thread", comment)
    return "racy" if racy or re.match("fail_tests/|cooperative_groups/fail/", name) else "other"


def gpuverify(root):
    suite, shared = root / "testsuite/CUDA", annotations()
    for file in sorted(suite.glob("**/*.cu")):
        name, text = str(file.relative_to(suite)), file.read_text(errors="replace")
        arguments = [file, *shared, *re.findall(r"-D\S+", text.split("\n")[1])]
        for parameter, value in re.findall(r"__requires\(\s*(\w+)\s*==\s*(\d+)\s*\)", text):
            arguments += ["--arg", f"{parameter}={value}"]
        yield Program("GPUVerify", name, gpuverify_label(name, text.split("\n")), arguments)


def faial(root):
    shared = annotations()
    for file in sorted((root / "examples/drf").glob("*.cu")):
        label = "racy" if file.stem.startswith("racy-") else "clean" if file.stem.startswith("drf-") else "other"
        text = file.read_text(errors="replace")
        arguments = [file, *shared, "--grid", "4", "--block", "64", "--shared", "4096"]
        template = re.search(r"template\s*<\s*(typename|class)[^>]*>\s*__global__[^(]*?(\w+)\s*\(", text)
        if template:
            arguments += ["--kernel", f"{template.group(2)}<float>"]
        yield Program("Faial", file.stem, label, arguments)


def run(program):
    """found, bounds, none, error or time, the kinds with their lines, and seconds"""
    command = [ROOT / "build/ferry", "inspect", *program.arguments[:1], "--quiet", "--no-registers", "--json", "-"]
    began = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command + program.arguments[1:]], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "time", "", SECONDS
    seconds, findings = time.monotonic() - began, []
    for line in done.stdout.decode(errors="replace").splitlines():
        if line.startswith('{"type": "finding"'):
            finding = json.loads(line)
            findings.append((finding["kind"], finding.get("line", 0)))
    if done.returncode not in (0, 1):
        return "error", done.stderr.decode(errors="replace").strip().split("\n")[0][:120], seconds
    text = " ".join(f"{kind}:{line}" for kind, line in findings[:6])
    if any(RACES.match(kind) for kind, _ in findings):
        return "found", text, seconds
    return "bounds" if any(kind.startswith("bounds") for kind, _ in findings) else "none", text, seconds


def show(results):
    print("| suite | racy: found | missed | clean: silent | a race told | out of bounds only: a race told | not run | seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for suite in dict.fromkeys(program.suite for program, _ in results):
        of = [(p, r) for p, r in results if p.suite == suite]

        def count(label, *verdicts):
            return sum(p.label == label and r[0] in verdicts for p, r in of)

        bounds = sum(p.label == "bounds" for p, _ in of)
        broken = sum(p.label in ("racy", "clean", "bounds") and r[0] in ("error", "time") for p, r in of)
        total = sum(r[2] for _, r in of)
        print(f"| {suite} | {count('racy', 'found')} | {count('racy', 'none', 'bounds')} | {count('clean', 'none', 'bounds')} | "
              f"{count('clean', 'found')} | {count('bounds', 'found')} of {bounds} | {broken} | {total:.0f} |")
    print()
    for program, (verdict, what, _) in results:
        wrong = (program.label == "racy" and verdict in ("none", "bounds")) or (program.label != "racy" and verdict == "found")
        if wrong or verdict in ("error", "time"):
            print(f"{program.suite} {program.name}: labeled {program.label}, {verdict} {what}")


# ---- proofs ------------------------------------------------------------------------------------------------------------------------------


def assumptions():
    """As annotations, but what a kernel requires is assumed."""
    header = ROOT / "build/races_assumptions.h"
    empty = "".join(f"#undef __{w}\n#define __{w}(...) (void)0\n" for w in ANNOTATIONS if w not in ("requires", "assume"))
    header.write_text("#include <cassert>\n#include <cooperative_groups.h>\n" + empty + "#define __axiom(...) static_assert(true)\n#define __implies(a, b) (!(a) || (b))\n"
                      "namespace cooperative_groups { template <class G> __device__ void synchronize(G group) { group.sync(); } }\n"
                      "#define __requires(x) __builtin_assume(x)\n#define __assume(x) __builtin_assume(x)\n")
    return header


def prove(program):
    """The answer of build/prove-races, its lines and seconds"""
    text = program.arguments[0].read_text(errors="replace")
    words = [str(word) for word in program.arguments]

    def option(name, comment, default):
        found = re.search(comment + r"=\[?([\d, ]+)", text)
        return words[words.index(name) + 1] if name in words else found.group(1).replace(" ", "").strip(",") if found else default

    named = re.search(r"__global__\b[^;{]*?(\w+)\s*\(([^()]*)\)\s*\{", text)
    kernel = option("--kernel", "no such comment", named.group(1) if named else "unknown")
    command = [str(ROOT / "build/prove-races"), words[0], "--kernel", kernel, "--grid", option("--grid", "--gridDim", "1"), "--block",
               option("--block", "--blockDim", "1"), "-include", str(assumptions()), *(word for word in words if word.startswith("-D"))]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    said = done.stdout.strip().split("\n")
    verdict = ["every launch" if said[0].startswith("proved for every launch") else "its launch", "counterexample", "not proved", "not tried", "no tools"]
    return verdict[done.returncode], said[-1] if done.returncode else "", time.monotonic() - began


def show_proofs(results):
    kinds = ["every launch", "its launch", "counterexample", "not proved", "not tried"]
    print("| suite | race-free: " + " | ".join(kinds) + " | racy: proved | counterexample | neither | median seconds | longest |")
    print("| --- |" + " ---: |" * 10)
    for suite in dict.fromkeys((p.suite, p.half()) for p, _ in results):
        of = [(p, r) for p, r in results if (p.suite, p.half()) == suite]

        def count(label, *verdicts):
            return sum(p.label == label and r[0] in verdicts for p, r in of)

        times = sorted(r[2] for _, r in of)
        free = " | ".join(str(count("clean", kind)) for kind in kinds)
        print(f"| {suite[0]}, half {suite[1]} | {free} | {count('racy', *kinds[:2])} | {count('racy', kinds[2])} | {count('racy', *kinds[3:])} | "
              f"{times[len(times) // 2]:.1f} | {times[-1]:.1f} |")
    print()
    for program, (verdict, what, _) in results:
        if verdict not in (kinds[:2] if program.label == "clean" else ["counterexample"]):
            print(f"{program.suite} {program.name}: labeled {program.label}, {verdict}: {what}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "), add_help=True)
    for suite in ("hirace", "scor", "gpuverify", "faial"):
        parser.add_argument(f"--{suite}", type=Path)
    parser.add_argument("--graph", default="DAG_100n_200e")
    parser.add_argument("--half", choices=("A", "B", "both"), default="both")
    parser.add_argument("--match", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "build/races.tsv")
    parser.add_argument("--prove", action="store_true")
    given = parser.parse_args()
    programs = []
    if given.hirace:
        programs += hirace(given.hirace.resolve(), given.graph)
    for suite, listed in (("scor", scor), ("gpuverify", gpuverify), ("faial", faial)):
        if getattr(given, suite):
            programs += listed(getattr(given, suite).resolve())
    programs = [p for p in programs if given.half in ("both", p.half()) and re.search(given.match, p.name) and p.label not in ("tool", "other")]
    if not programs:
        sys.exit("races.py: no programs: --help says which suites there are")
    if given.prove:
        programs = [p for p in programs if p.suite in ("GPUVerify", "Faial")]
    results = []
    with ThreadPoolExecutor(given.jobs) as pool, open(given.out, "w") as out:
        for program, result in zip(programs, pool.map(prove if given.prove else run, programs)):
            results.append((program, result))
            print(program.suite, program.name, program.label, result[0], f"{result[2]:.2f}", result[1], sep="\t", file=out, flush=True)
            if sys.stderr.isatty():
                print(f"\r{len(results)} of {len(programs)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    (show_proofs if given.prove else show)(results)


if __name__ == "__main__":
    main()
