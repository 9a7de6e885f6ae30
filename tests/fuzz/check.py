# SPDX-License-Identifier: MIT
"""Runs programs on both sides and judges what differs: rounding, accepted, or a failure, which is made shorter."""

import os
import re

import compare
import oracle
from draw import Draw
from process import Interpreter
from shrink import Shrinker, pruned
from streams import ADDED, complete

SETTINGS = {"cpu": ("cpu", {"FERRY_CUDA": "off"}),
            "threads": ("cuda:0", {"FERRY_CUDA": "sim", "FERRY_SIM_MODE": "threads", "FERRY_SIM_DEVICES": "2"}),
            "lazy": ("cuda:0", {"FERRY_CUDA": "sim", "FERRY_SIM_MODE": "lazy", "FERRY_SIM_DEVICES": "2"}),
            "real": ("cuda:0", {"FERRY_CUDA": "real"})}


class Failure:
    """An unexplained difference, with the shortest program that shows it."""

    def __init__(self, seed, setting, device, statements, found, before=()):
        self.seed, self.setting, self.device, self.statements, self.found = seed, setting, device, statements, found
        self.before = before  # programs that a crash needs before this one

    def key(self):
        """Equal for what probably is one defect."""
        d = self.found[0]
        if d.aspect in ("error", "class", "text"):
            ferry, torch = (re.sub(r"\d+", "N", text)[:60] for text in (d.ferry, d.torch))
            return "%s of %s: %s | %s" % (d.aspect, d.statement, ferry, torch)
        return d.aspect + ": " + " ".join(s.name for s in self.statements if s.name != "tensor")


class Checker:
    """Compares in some settings of Ferry: cpu, threads, lazy."""

    def __init__(self, binary, settings, accepted, timeout=60, shrink_limit=600):
        environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        self.settings = settings
        self.ferry = {name: Interpreter(binary, dict(environment, **SETTINGS[name][1]), timeout) for name in settings}
        self.accepted, self.shrink_limit = accepted, shrink_limit
        self.counts = {"programs": 0, "runs": 0, "statements": 0, "rounding": 0, "shrunk": 0}
        self.used = {}  # accepted entries: how often

    def close(self):
        """Ends the processes; returns what their sanitizers said."""
        return [said for said in (process.close() for process in self.ferry.values()) if said]

    def device_in(self, setting, device):
        """What `dev` stands for, or None when the program does not run there."""
        if device == "none":
            return None if setting == "cpu" else "none"
        if device == "cpu":
            return "cpu" if setting == "cpu" else None
        return SETTINGS[setting][0]

    def both(self, statements, setting, device):
        """Runs a program on both sides: (differences, whole program)."""
        whole = complete(statements)
        got = self.ferry[setting].run([("p", self.device_in(setting, device), whole)])[0]
        lines, values = oracle.run_program(whole, device)
        return compare.differences(whole, got, lines, values), whole

    def real(self, d, whole, device):
        """False for a difference that is rounding alone."""
        return not (d.aspect in compare.NUMBERS.values() and compare.is_rounding(whole, device, d, d.ferry))

    def first(self, found, whole, setting, device):
        """The first difference that no entry accepts by itself, and those accepted before it."""
        accepted = []
        for d in found:
            entry = self.accepted.without_program(d, setting)
            if entry:
                accepted.append((d, entry))
            elif self.real(d, whole, device):
                return d, accepted
            else:
                self.counts["rounding"] += 1
        return None, accepted

    def check_batch(self, drawn):
        """drawn: (seed, device, statements, lines, values). Returns the failures."""
        failures = []
        self.counts["programs"] += len(drawn)
        self.counts["statements"] += sum(len(p[2]) for p in drawn)
        for setting in self.settings:
            mine = [p for p in drawn if self.device_in(setting, p[1])]
            histories = {}
            answers = self.ferry[setting].run([(str(p[0]), self.device_in(setting, p[1]), p[2]) for p in mine], histories)
            self.counts["runs"] += len(mine)
            for (seed, device, statements, lines, values), got in zip(mine, answers):
                found = compare.differences(statements, got, lines, values)
                if found:
                    found[0].history = histories.get(str(seed), [])
                    bare = [s for s in statements if s.name not in ADDED]
                    failure = self.judge(seed, setting, device, bare, found, statements)
                    failures += [failure] if failure else []
        return failures

    def judge(self, seed, setting, device, statements, found, whole):
        """Accepts, or shrinks to a failure. Behind an accepted error the program goes on without its statement."""
        for _ in range(20):
            d, accepted = self.first(found, whole, setting, device)
            for _, entry in accepted:
                self.used[entry.name] = self.used.get(entry.name, 0) + 1
            if d is not None:
                failure, guilty = self.shrunk(seed, setting, device, statements, d, whole)
                if failure:
                    return failure
                accepted = [(guilty, None)]
            index = next((a.index for a, _ in accepted if a.aspect in ("error", "made presence") or d is not None), None)
            if index is None:
                return None
            victim = whole[index]
            statements = pruned([s for s in statements if s is not victim])
            found, whole = self.both(statements, setting, device)
        return None

    def shrunk(self, seed, setting, device, statements, d, whole):
        """The failure that a difference is, or None and the difference when an entry accepts its shortest program."""
        self.counts["shrunk"] += 1
        best = [d]
        if d.aspect == "crash":
            failure = self.crash_of_many(seed, setting, device, d, whole)
            if failure:
                return failure, d

        def stays(candidate):
            found, all_of_it = self.both(candidate, setting, device)
            for other in found:
                if other.signature() == d.signature() and not self.accepted.without_program(other, setting) and \
                        self.real(other, all_of_it, device):
                    best[0] = other
                    return True
            return False

        short = Shrinker(stays, self.shrink_limit).shrink(statements)
        found, whole_short = self.both(short, setting, device)
        same = [o for o in found if o.signature() == d.signature()] or [best[0]]
        entry = self.accepted.with_program(same[0], setting, short)
        if entry:
            self.used[entry.name] = self.used.get(entry.name, 0) + 1
            return None, d
        return Failure(seed, setting, device, whole_short, same), d


    def crash_of_many(self, seed, setting, device, d, whole):
        """A crash that its program alone does not show: with those that ran before it, as few as will do."""
        ferry = self.ferry[setting]
        program = (str(seed), self.device_in(setting, device), whole)
        if any(ferry.crashes([program]) for _ in range(3)):
            return None
        programs = ferry.least_crashing(d.history) if d.history else None
        d.ferry += " (not of this program alone%s)" % ("" if programs else ", and not again")
        return Failure(seed, setting, device, whole, [d], programs or d.history)


def draw_programs(seeds, style, length, only, progress=None):
    """Random programs with PyTorch's answers, as check_batch takes them. progress[2]: the seed at work."""
    drawn = []
    for seed in seeds:
        if progress:
            progress[2] = seed
        draw = Draw(seed, style, only)
        statements = draw.whole(draw.r.randint(2, length))
        whole = complete(statements)
        lines, values = (draw.oracle.lines, draw.oracle.values) if len(whole) == len(statements) else \
            oracle.run_program(whole, draw.device)
        drawn.append((seed, draw.device, whole, lines, values))
    if progress:
        progress[2] = progress[1]
    return drawn


def read_programs(path):
    """Programs of a file: (name, device, statements)."""
    from table import parse_line
    programs, current = [], None
    with open(path) as f:
        for line in f:
            line = line.rstrip("\n")
            head = re.fullmatch(r"program (\S+) (\S+)", line)
            if head:
                current = (head.group(1), head.group(2), [])
                programs.append(current)
            elif line in ("run", "expect"):
                current = None
            elif current and line:
                current[2].append(parse_line(line))
    return programs
