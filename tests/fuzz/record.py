#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records programs with PyTorch's answers, for machines that have none: tests/fuzz/recorded.txt.

    make fuzz && build/venv/bin/python tests/fuzz/record.py [--programs 400] [--seed 1] [--accepted FILE]

A program is recorded when Ferry's answers agree in every setting. Where they differ from PyTorch's for an accepted reason,
Ferry's answer stands in the file, below a line `# accepted: NAME`; an unexplained difference ends the recording. The name of a
program is its seed. One that runs alike on the CPU and on simulated devices is for `dev`; `none` names its devices.
"""

import argparse
import os
import sys

import compare
import oracle
from accepted import Accepted
from check import Checker, draw_programs

HERE = os.path.dirname(os.path.abspath(__file__))


def recorded_lines(statements, device, setting, checker, lines, values):
    """Lines to expect, and the entries behind those that are Ferry's; None for an unexplained difference."""
    got = checker.ferry[setting].run([("p", checker.device_in(setting, device), statements)])[0]
    entries = []
    for d in compare.differences(statements, got, lines, values):
        entry = checker.accepted.without_program(d, setting) or checker.accepted.with_program(d, setting, statements)
        if not entry and d.aspect in compare.NUMBERS.values() and not checker.real(d, statements, device):
            entries.append("rounding")
        elif not entry:
            return None, d
        else:
            entries.append(entry.name)
    if entries:
        return got, sorted(set(entries))
    numbers = {compare.key_of(line): values[i] for i, line in enumerate(lines) if i in values}
    return [with_numbers(line, numbers.get(compare.key_of(line))) for line in got], []


def with_numbers(line, numbers):
    """Ferry's line, which says nothing else, with PyTorch's numbers."""
    if numbers is None:
        return line
    head = line.partition(" :")[0]
    dtype = head.split(" ")[2]
    return head + " :" + "".join(" " + shorter(v, dtype) for v in numbers)


def shorter(v, dtype):
    if dtype in ("float32", "float16", "bfloat16") and v == v and abs(v) != float("inf") and v != int(v):
        return "%.9g" % v
    return oracle.text_of(v)


def is_the_same(checker, name, device, statements, expected):
    """Do all settings answer so?"""
    for setting in checker.settings:
        if checker.device_in(setting, device):
            got = checker.ferry[setting].run([(name, checker.device_in(setting, device), statements)])[0]
            if any(line.startswith(("crash", "leak")) for line in got) or len(got) != len(expected):
                return False
            if any(a != b and not close(a, b) for a, b in zip(got, expected)):
                return False
    return True


def close(got, want):
    """As same_line in report.c."""
    head, _, tail = got.partition(" :")
    if head != want.partition(" :")[0] or not tail:
        return False
    a, b = tail.split(), want.partition(" :")[2].split()
    dtype = head.split(" ")[2]
    rtol = {"bfloat16": 3e-2, "float16": 4e-3, "float64": 1e-7}.get(dtype, 2e-5)
    numbers = [float(v) for v in b]
    scale = max([abs(v) for v in numbers if v == v and abs(v) != float("inf")] + [1])
    return len(a) == len(b) and all(x == y or float(x) == v or abs(float(x) - v) <= rtol * scale
                                    for x, y, v in zip(a, b, numbers))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--programs", type=int, default=400)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--build", default="build")
    p.add_argument("--accepted", action="append", default=[])
    p.add_argument("--skip", action="store_true", help="leave out programs with unexplained differences, and say so")
    options = p.parse_args()
    accepted = Accepted([os.path.join(HERE, "accepted.txt")] + options.accepted, oracle.VERSION)
    checker = Checker(os.path.join(options.build, "tests", "fuzz", "interpreter"), ["cpu", "threads", "lazy"], accepted)
    written, seed, differing = [], options.seed, 0
    while len(written) < options.programs:
        seed, drawn = seed + 1, draw_programs([seed], None, 20, None)[0]
        _, device, statements, lines, values = drawn
        expected, why = recorded_lines(statements, device, "lazy" if device == "none" else "cpu", checker, lines, values)
        if expected is None:
            print("seed %d: %s" % (drawn[0], why), file=sys.stderr)
            if not options.skip:
                return 1
            continue
        if not is_the_same(checker, str(drawn[0]), device, statements, expected):
            differing += 1
            if device == "none":
                continue
            device = "cpu"
        text = "".join("# accepted: %s\n" % name for name in why)
        written.append("program %d %s\n%s\nexpect\n%s%s\n.\n" %
                       (drawn[0], device, "\n".join(s.line() for s in statements), text, "\n".join(expected)))
    with open(os.path.join(HERE, "recorded.txt"), "w") as f:
        f.write("# Written by record.py with PyTorch %s: programs from seed %d on, and what comes of them.\n" %
                (oracle.torch.__version__, options.seed))
        f.writelines(written)
    checker.close()
    print("%d programs, %d of them for the CPU alone" % (len(written), differing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
