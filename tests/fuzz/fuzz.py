#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random programs over tensors, in Ferry and in PyTorch; whatever differs is shrunk and printed in C and in Python."""

import argparse
import collections
import multiprocessing
import os
import queue
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    p = argparse.ArgumentParser(
        prog="make fuzz-torch ARGS=", formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
        epilog="exit status: 0 no unexplained difference, 1 some, 2 it could not run.\n"
               "environment: PYTHON (one that has torch), NO_COLOR, OMP_NUM_THREADS.\n"
               "Accepted differences stand in tests/fuzz/accepted.txt, with reasons.")
    p.add_argument("--programs", type=int, default=2000, metavar="N", help="how many (2000)")
    p.add_argument("--seed", type=int, default=1, metavar="S", help="the first program's seed; the others count on (1)")
    p.add_argument("--seconds", type=float, metavar="T", help="stop after so long")
    p.add_argument("--device", choices=("cpu", "cuda", "all"), default="all", help="where Ferry runs (all)")
    p.add_argument("--mode", choices=("threads", "lazy", "real", "all"), default="all",
                   help="of the simulated devices (all: threads and lazy); real: a GPU")
    p.add_argument("--style", choices=("single", "mixed"), help="only programs on one device, or on several")
    p.add_argument("--length", type=int, default=24, metavar="N", help="statements of the longest program (24)")
    p.add_argument("--only", metavar="A,B", help="draw these calls alone, beside what they need")
    p.add_argument("--autocast", action="store_true",
                   help="each statement in a region of autocast, in bfloat16 (with --device cpu)")
    p.add_argument("--replay", metavar="FILE", help="the programs of a file instead of random ones")
    p.add_argument("--accepted", action="append", default=[], metavar="FILE", help="a further list of accepted differences")
    p.add_argument("--failures", type=int, default=10, metavar="N", help="stop after so many different ones (10)")
    p.add_argument("--jobs", type=int, default=max(os.cpu_count() or 1, 1), metavar="N", help="processes (the cores)")
    p.add_argument("--timeout", type=float, default=60, metavar="T", help="seconds for one program (60)")
    p.add_argument("--out", default="build/fuzz", metavar="DIR", help="where failures are written (build/fuzz)")
    p.add_argument("--no-shrink", action="store_true", help="print programs as they were drawn")
    p.add_argument("--print", action="store_true", help="print the programs, and run nothing")
    p.add_argument("--calls", action="store_true", help="print what programs are made of")
    p.add_argument("--build", default="build", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.programs < 0 or options.length < 2 or options.jobs < 1:
        p.error("--programs, --length and --jobs are counts")
    if options.autocast and options.device != "cpu":
        p.error("--autocast is for --device cpu: CUDA's lists are others, and what PyTorch is asked here is the CPU")
    if options.autocast:
        os.environ["FUZZ_AUTOCAST"] = "1"  # for the interpreter, oracle.py and emit.py
    return options


def settings_of(options):
    modes = ("threads", "lazy") if options.mode == "all" else (options.mode,)
    return [name for name in ("cpu",) + modes if (name == "cpu") == (options.device == "cpu") or options.device == "all"]


def only_of(options):
    return options.only.split(",") if options.only else None


# ---- the workers -------------------------------------------------------------------------------------------------------


def make_checker(options):
    import oracle
    from accepted import Accepted
    from check import Checker
    accepted = Accepted([os.path.join(HERE, "accepted.txt")] + options.accepted, oracle.VERSION)
    return Checker(os.path.join(options.build, "tests", "fuzz", "interpreter"), settings_of(options), accepted,
                   options.timeout, 0 if options.no_shrink else 600)


def taken(chunks):
    """What is in a queue that is filled already."""
    while True:
        try:
            yield chunks.get(timeout=3)
        except queue.Empty:
            return


def work(options, chunks, results, progress):
    """Takes ranges of seeds until there are none. `progress`: the range, and the seed that PyTorch is at."""
    from check import draw_programs
    try:
        checker = make_checker(options)
        for begin, end in taken(chunks):
            progress[:] = begin, end, begin
            before = dict(checker.counts)
            failures = checker.check_batch(draw_programs(range(begin, end), options.style, options.length,
                                                         only_of(options), progress))
            counts = {k: v - before[k] for k, v in checker.counts.items()}
            used, checker.used = checker.used, {}
            results.put(("done", counts, used, [plain(f) for f in failures]))
        results.put(("end", checker.close()))
    except KeyboardInterrupt:
        pass
    except Exception:  # the worker's own fault: shown by the parent
        import traceback
        results.put(("broken", traceback.format_exc()))


def plain(failure):
    """A failure as text, which crosses between processes."""
    import emit
    indices = {d.index for d in failure.found if d.index is not None and d.aspect in ("error", "class", "text")}
    raising = [i for i in indices if not failure.found[0].ferry.startswith("ok")]
    device = {"cpu": "cpu"}.get(failure.setting, "cuda:0")
    return {
        "key": failure.key(), "seed": failure.seed, "setting": failure.setting, "size": len(failure.statements),
        "found": [str(d) for d in failure.found],
        "before": "".join("program %s %s\n%s\nrun\n\n" % (name, where, "\n".join(s.line() for s in statements))
                          for name, where, statements in failure.before),
        "program": "program %s %s\n%s\n" % (failure.seed, failure.device if failure.device == "none" else "dev",
                                            "\n".join(s.line() for s in failure.statements)),
        "c": emit.c_program(failure.statements, device, raising, failure.found),
        "python": emit.python_program(failure.statements, indices, failure.found)}


# ---- the parent --------------------------------------------------------------------------------------------------------


class Screen:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total):
        self.total, self.begin = total, time.time()
        self.on = sys.stderr.isatty()
        self.color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def show(self, done, failures):
        if self.on:
            rate = done / max(time.time() - self.begin, 1e-9)
            filled = 30 * done // max(self.total, 1)
            sys.stderr.write("\r[%-30s] %d/%d programs, %d/s, %d different\033[K" %
                             ("#" * filled, done, self.total, rate, failures))
            sys.stderr.flush()

    def clear(self):
        if self.on:
            sys.stderr.write("\r\033[K")

    def red(self, text):
        return "\033[31m%s\033[0m" % text if self.color else text


def wrapped(text, width=78):
    return text if len(text) <= width else text[:width - 3] + "..."


def print_failure(screen, number, failure, path):
    screen.clear()
    print(screen.red("difference %d" % number) + " (seed %s, %s)" % (failure["seed"], failure["setting"]))
    for line in failure["found"][:3]:
        print("  " + line[:700])
    print("---- in C\n%s---- in PyTorch\n%s---- again: --replay %s\n" % (failure["c"], failure["python"], path))
    sys.stdout.flush()


def save(options, number, failure):
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, "difference-%d.txt" % number)
    with open(path, "w") as f:
        f.write(failure["before"])
        f.write("%srun\n\n# %s\n# seed %s, %s\n\n" % (failure["program"], "\n# ".join(failure["found"]), failure["seed"],
                                                     failure["setting"]))
        f.write("/*\n%s*/\n\n%s" % (failure["python"], failure["c"]))
    return path


class Team:
    """The workers. PyTorch runs in them, and may itself crash: then another goes on behind the program that did it."""

    def __init__(self, options):
        self.options, self.context = options, multiprocessing.get_context("spawn")
        self.chunks, self.results = self.context.Queue(), self.context.Queue()
        step = max(min(100, options.programs // options.jobs or 1), 1)
        end = options.seed + options.programs
        for begin in range(options.seed, end, step):
            self.chunks.put((begin, min(begin + step, end)))
        self.workers = [self.worker() for _ in range(options.jobs)]

    def worker(self):
        progress = self.context.Array("q", 3)
        process = self.context.Process(target=work, args=(self.options, self.chunks, self.results, progress), daemon=True)
        process.start()
        return process, progress

    def next_message(self):
        while True:
            try:
                return self.results.get(timeout=2)
            except queue.Empty:
                for i, (process, progress) in enumerate(self.workers):
                    if process.exitcode:
                        return self.replace(i, process.exitcode, *progress)

    def replace(self, i, status, begin, end, seed):
        if seed >= end:
            return "broken", "a worker ended with status %d" % status
        for chunk in ((begin, seed), (seed + 1, end)):
            if chunk[0] < chunk[1]:
                self.chunks.put(chunk)
        self.workers[i] = self.worker()
        return "crashed", seed, status

    def stop(self):
        for process, _ in self.workers:
            process.terminate()


def fuzz(options):
    screen, team = Screen(options.programs), Team(options)
    counts, used, seen, ended, status = collections.Counter(), collections.Counter(), {}, 0, 0
    while ended < len(team.workers):
        message = team.next_message()
        if message[0] == "broken":
            screen.clear()
            print(message[1], file=sys.stderr)
            return 2
        if message[0] == "crashed":
            screen.clear()
            print("PyTorch itself ended with status %d at seed %d; going on behind it" % (message[2], message[1]))
            continue
        if message[0] == "end":
            ended += 1
            for said in message[1]:
                screen.clear()
                print(screen.red("at the interpreter's end:") + "\n" + said)
                status = 1
            continue
        counts.update(message[1])
        used.update(message[2])
        for failure in message[3]:
            seen.setdefault(failure["key"], []).append(failure)
            if len(seen[failure["key"]]) == 1:
                print_failure(screen, len(seen), failure, save(options, len(seen), failure))
        screen.show(counts["programs"], len(seen))
        if len(seen) >= options.failures or options.seconds and time.time() - screen.begin > options.seconds:
            break
    screen.clear()
    team.stop()
    summary(options, counts, used, seen, time.time() - screen.begin)
    return 1 if seen else status


def summary(options, counts, used, seen, seconds):
    import oracle
    print("%d programs from seed %d, %d runs in Ferry (%s)" %
          (counts["programs"], options.seed, counts["runs"], ", ".join(settings_of(options))))
    print("PyTorch %s; %.0f s, %.0f programs a second" %
          (oracle.torch.__version__, seconds, counts["programs"] / max(seconds, 1e-9)))
    print("rounding looked at again: %d; accepted: %d" % (counts["rounding"], sum(used.values())))
    for name, n in used.most_common():
        print("  %6d  %s" % (n, name))
    for key, failures in sorted(seen.items(), key=lambda item: -len(item[1])):
        print("  %6d  UNEXPLAINED %s" % (len(failures), wrapped(key, 60)))
    print("%d unexplained difference%s" % (len(seen), "" if len(seen) == 1 else "s"))


def replay(options):
    """Each program of a file, in each setting: what differs."""
    import check
    import emit
    from streams import ADDED, complete
    checker, bad = make_checker(options), 0
    for name, device, statements in check.read_programs(options.replay):
        bare = [s for s in statements if s.name not in ADDED]
        for setting in checker.settings:
            if not checker.device_in(setting, device):
                continue
            found, whole = checker.both(bare, setting, device)
            d, accepted = checker.first(found, whole, setting, device)
            entry = d and checker.accepted.with_program(d, setting, bare)
            print("program %s, %s: %s" % (name, setting, "equal" if not found else "accepted: " + entry.name if entry else
                                          "accepted: " + ", ".join(e.name for _, e in accepted) if d is None and accepted else
                                          "rounding" if d is None else str(d)))
            bad += d is not None and not entry
        print(emit.c_program(complete(bare), "cuda:0" if options.device == "cuda" else "cpu"))
        print(emit.python_program(bare))
    checker.close()
    return 1 if bad else 0


def main():
    options = arguments()
    if options.calls:
        from table import ROWS
        for row in ROWS.values():
            print("%-24s %-10s %s" % (row.name, row.kind, row.python))
        return 0
    binary = os.path.join(options.build, "tests", "fuzz", "interpreter")
    if not os.path.exists(binary):
        print("fuzz-torch: %s is not there: `make fuzz` builds it" % binary, file=sys.stderr)
        return 2
    if options.print:
        from check import draw_programs
        seeds = range(options.seed, options.seed + options.programs)
        for seed, device, statements, _, _ in draw_programs(seeds, options.style, options.length, only_of(options)):
            print("program %s %s\n%s\nrun" % (seed, device, "\n".join(s.line() for s in statements)))
        return 0
    return replay(options) if options.replay else fuzz(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print()
        sys.exit(130)
