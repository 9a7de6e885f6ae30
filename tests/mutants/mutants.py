#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes right answers to the exercises in small ways, and says which changes the hidden tests do not notice."""
import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EQUIVALENT, SCORES = HERE / "equivalent.txt", HERE / "scores.txt"
KNOWN = ROOT / "build/mutants/verdicts"  # of changes that were judged before by the same hidden tests

# `line` counts from 1; `times` says the how-manieth line with this text in its file it is.
Mutant = collections.namedtuple("Mutant", "exercise file line times before after own")


def squeezed(text):
    return re.sub(r"\s+", "", text)


# ---- the answers and their mutants --------------------------------------------------------------------------------------


def answers(pattern):
    """{exercise: its solution and the other right answers}"""
    found = {}
    for solution in sorted((ROOT / "solutions").glob("*_[0-9]_*.c*")):
        if re.search(pattern, solution.stem):
            others = sorted((ROOT / "tests/hidden" / solution.stem).glob("right_*.c*"))
            found[solution.stem] = [solution] + others
    return found


def rule_files(file):
    own = [HERE / "ferry.rules"] + ([HERE / "cuda.rules"] if file.suffix == ".cu" else [])
    return ["universal.rules", "c_like.rules"] + [str(rules) for rules in own]


def broken_name(before, after):
    """A number in a name was changed (int64_t): that compiles nowhere."""
    return re.search(r"[A-Za-z_]\(\w+[+-]1\)", after) and not re.search(r"[A-Za-z_]\(\w+[+-]1\)", before)


def mutants_of(exercise, file):
    from universalmutator import mutator

    source = file.read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutator.mutants_regexp(source, ruleFiles=rule_files(file), ignorePatterns=[r"^\s*//", r"^\s*#"])
    seen, nth = set(), []
    for number, line in enumerate(source):
        nth.append(1 + sum(squeezed(line) == squeezed(other) for other in source[:number]))
    for number, after, (_, rule), _ in found:
        before = source[number - 1]
        key = (number, squeezed(after))
        if squeezed(after) != squeezed(before) and key not in seen and not broken_name(before, after):
            seen.add(key)
            own = "builtin" not in rule
            yield Mutant(exercise, file, number, nth[number - 1], before.rstrip("\n"), after.rstrip("\n"), own)


def drawn(exercise, files, seed):
    """All mutants of an exercise in an order that the seed decides; every other one is of the rules beside this file."""
    every = [m for file in files for m in mutants_of(exercise, file)]
    random.Random(f"{seed}:{exercise}").shuffle(every)
    own, general = [m for m in every if m.own], [m for m in every if not m.own]
    order = [m for pair in zip(own, general) for m in pair]
    shorter = min(len(own), len(general))
    return order + own[shorter:] + general[shorter:]


# ---- those that are listed as equivalent --------------------------------------------------------------------------------


def listed_equivalent():
    """{(exercise, file's name, times, before, after): reason}; the blocks' form is at the top of equivalent.txt"""
    listed, place, before, after = {}, None, None, []
    files = [EQUIVALENT] + sorted((ROOT / "tests/hidden").glob("*.equivalent"))  # those are of packs
    lines = [(file, number, line) for file in files for number, line in enumerate(file.read_text().splitlines(), 1)]
    for file, number, line in lines:
        kind, text = line[:2], line[2:]
        if kind == "@ ":
            exercise, name, *times = text.split()
            place = (exercise, name, int(times[0]) if times else 1)
        elif kind == "- ":
            before, after = squeezed(text), []
        elif kind == "+ ":
            after.append(squeezed(text))
        elif kind == "= " and place and before is not None and after:
            for one in after:
                listed[place + (before, one)] = text
            after = []
        elif line.strip() and not line.startswith("#"):
            sys.exit(f"{file}:{number}: not a line of a block: {line}")
    return listed


def key_of(m):
    return (m.exercise, m.file.name, m.times, squeezed(m.before), squeezed(m.after))


def check_list():
    """Each entry is of a line that is there."""
    bad = []
    for (exercise, name, times, before, _), _reason in listed_equivalent().items():
        file = next((f for f in answers(f"^{exercise}$").get(exercise, []) if f.name == name), None)
        lines = [squeezed(line) for line in file.read_text().splitlines()] if file else []
        if lines.count(before) < times:
            bad.append(f"{exercise} {name}: there is no such line any more: {before}")
    for line in sorted(set(bad)):
        print(line)
    return 1 if bad else 0


# ---- the same machine code ----------------------------------------------------------------------------------------------


def object_code(exercise, source, folder, name):
    """What a compiler makes of an answer with -O2; None where it does not compile."""
    header = ROOT / "tests/hidden" / exercise / "answer.h"
    include = ["-include", str(header)] if header.exists() else []
    path, out = folder / f"{exercise}{name}", folder / "answer.o"
    path.write_text(source)
    if name == ".cu":
        cpp = folder / "answer.cpp"
        if subprocess.run([ROOT / "build/cu2cpp", path, cpp], capture_output=True).returncode:
            return None
        path = cpp
        words = ["g++", "-std=c++17", "-DFERRY_SIM=1", f"-I{ROOT}/core/sim/include"]
    else:
        words = ["gcc", "-std=c17", f"-I{ROOT}/core", f"-I{ROOT}/build/include"]
    words += ["-D_GNU_SOURCE", "-O2", "-w", "-fopenmp", *include, "-c", str(path), "-o", str(out)]
    done = subprocess.run(words, capture_output=True, cwd=folder)
    return out.read_bytes() if done.returncode == 0 else None


def mutated(m):
    lines = m.file.read_text().splitlines(keepends=True)
    lines[m.line - 1] = m.after + "\n"
    return "".join(lines)


def same_code(m, folder):
    first = object_code(m.exercise, m.file.read_text(), folder, m.file.suffix)
    return first is not None and first == object_code(m.exercise, mutated(m), folder, m.file.suffix)


# ---- the verdict on one -------------------------------------------------------------------------------------------------


def judge(m, ferry):
    """killed, survived, equivalent (the same machine code), invalid (it does not compile) or broken (the grader)"""
    environment = dict(os.environ, NO_COLOR="1", FERRY_CUDA="sim", OMP_WAIT_POLICY="passive")
    environment.setdefault("FERRY_ANSWER_SECONDS", "5")
    with tempfile.TemporaryDirectory(prefix="mutant.") as name:
        folder = pathlib.Path(name)
        file = folder / f"answer{m.file.suffix}"
        file.write_text(mutated(m))
        done = subprocess.run([ferry, "run", m.exercise, "--file", file, "--first"], env=environment, cwd=ROOT,
                              capture_output=True, text=True, errors="replace")
        if done.returncode == 1 and re.search("^compile error", done.stdout, re.M):
            return "invalid", ""
        if done.returncode == 1:
            failed = re.findall(r"^  (?:fail|crash|timeout|out of memory|output limit)  +(.*)", done.stdout, re.M)
            return "killed", failed[0] if failed else ""
        if done.returncode:
            return "broken", done.stdout + done.stderr
        return ("equivalent", "the same machine code") if same_code(m, folder) else ("survived", "")


# ---- verdicts of before: a campaign that was stopped goes on where it was -------------------------------------------------


def fingerprint(m, tests={}):
    """Of what is judged and of the tests that judge it. A change of the grader or the library is not in it: --again."""
    if m.exercise not in tests:
        folder = ROOT / "tests/hidden" / m.exercise
        files = sorted(f for f in folder.iterdir() if not re.match("right_|wrong_", f.name))
        tests[m.exercise] = b"".join(f.read_bytes() for f in files)
    return hashlib.sha256(tests[m.exercise] + mutated(m).encode()).hexdigest()[:24]


def known_verdicts():
    known = {}
    for line in KNOWN.read_text().splitlines() if KNOWN.exists() else []:
        with contextlib.suppress(ValueError):
            key, verdict, said = json.loads(line)
            known[key] = (verdict, said)
    return known


# ---- the campaign -------------------------------------------------------------------------------------------------------


class Campaign:
    def __init__(self, options):
        self.options = options
        self.listed = listed_equivalent()
        self.ends = time.monotonic() + options.limit if options.limit else None
        self.verdicts = collections.defaultdict(list)  # by exercise: (mutant, verdict, what was said)
        self.begun = time.monotonic()
        self.known = {} if options.again else known_verdicts()
        KNOWN.parent.mkdir(parents=True, exist_ok=True)
        self.kept = KNOWN.open("a")  # what was judged last counts

    def judge(self, m):
        if key_of(m) in self.listed:
            return "equivalent", self.listed[key_of(m)]
        key = fingerprint(m)
        if key in self.known:
            return self.known[key]
        verdict = judge(m, self.options.ferry)
        if verdict[0] != "broken":
            self.kept.write(json.dumps((key,) + verdict) + "\n")
            self.kept.flush()
        return verdict

    def late(self):
        return self.ends is not None and time.monotonic() > self.ends

    def take(self, m, verdict, said):
        self.verdicts[m.exercise].append((m, verdict, said))
        if verdict in ("survived", "broken"):
            print(f"{verdict}: {m.exercise} {m.file.relative_to(ROOT)}:{m.line}\n- {m.before.strip()}\n+ {m.after.strip()}",
                  flush=True)
            if said:
                print(said)

    def exercise(self, exercise, files, pool):
        """As many as were asked for that compile; the order of verdicts does not change which those are."""
        waiting = iter(drawn(exercise, files, self.options.seed))
        want = self.options.each or sys.maxsize
        valid = 0
        while valid < want and not self.late():
            batch = [m for m, _ in zip(waiting, range(min(want - valid, 8)))]
            if not batch:
                break
            for m, (verdict, said) in zip(batch, pool.map(self.judge, batch)):
                self.take(m, verdict, said)
                valid += verdict in ("killed", "survived", "equivalent")
        self.progress(exercise)

    def count(self, exercise):
        return collections.Counter(verdict for _, verdict, _ in self.verdicts[exercise])

    def progress(self, exercise):
        n = self.count(exercise)
        print(f"[{time.monotonic() - self.begun:4.0f} s] {exercise}: {n['killed']} killed, {n['survived']} survived, "
              f"{n['equivalent']} equivalent; {n['invalid']} did not compile", file=sys.stderr, flush=True)

    def run(self):
        chosen = answers(self.options.only)
        if not chosen:
            sys.exit(f"no exercise matches {self.options.only}")
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for exercise, files in chosen.items():
                if self.late():
                    print(f"the limit of {self.options.limit} s was reached before {exercise}", flush=True)
                    break
                self.exercise(exercise, files, pool)


def score(n):
    judged = n["killed"] + n["survived"]
    return 100 * n["killed"] / judged if judged else 100.0


def write_scores(campaign):
    """Scores of the exercises that were run replace those that stand in scores.txt."""
    rows = {}
    for line in SCORES.read_text().splitlines() if SCORES.exists() else []:
        if line and not line.startswith("#"):
            rows[line.split()[0]] = line
    for exercise in campaign.verdicts:
        n = campaign.count(exercise)
        if n["killed"] + n["survived"]:
            rows[exercise] = f"{exercise} {n['killed']} {n['survived']} {n['equivalent']}"
    SCORES.write_text("# Written by `make mutants ARGS=--write`: exercise, changes killed, survived, equivalent.\n" +
                      "".join(rows[exercise] + "\n" for exercise in sorted(rows)))


def summary(campaign):
    total = collections.Counter()
    for exercise in campaign.verdicts:
        total += campaign.count(exercise)
    print(f"{total['killed']} killed, {total['survived']} survived, {total['equivalent']} equivalent: "
          f"{score(total):.1f} % of those not equivalent; {total['invalid']} did not compile, {total['broken']} broke the grader")
    low = [f"{e} {score(campaign.count(e)):.0f} %" for e in campaign.verdicts if score(campaign.count(e)) < 95]
    if low:
        print("below 95 %: " + ", ".join(low))
    return 1 if total["broken"] or score(total) < 95 or not total["killed"] else 0


def arguments():
    p = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    p.add_argument("--only", default="", metavar="PATTERN", help="exercises whose ID matches this regular expression")
    p.add_argument("--each", type=int, default=0, metavar="N", help="number of mutants of each exercise (0: all)")
    p.add_argument("--seed", default="1", help="selects the mutants and their order (1)")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="answers at a time")
    p.add_argument("--limit", type=float, default=0, metavar="SECONDS", help="start no more mutants after this time")
    p.add_argument("--ferry", default=str(ROOT / "build/ferry"), help="the grader's program")
    p.add_argument("--again", action="store_true", help="judge mutants again that the same tests have already judged")
    p.add_argument("--write", action="store_true", help="write the scores to tests/mutants/scores.txt")
    p.add_argument("--check-list", action="store_true", help="only check that equivalent.txt matches the answers")
    return p.parse_args()


def main():
    options = arguments()
    if options.check_list:
        return check_list()
    campaign = Campaign(options)
    try:
        campaign.run()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    if options.write:
        write_scores(campaign)
    return summary(campaign)


if __name__ == "__main__":
    sys.exit(main())
