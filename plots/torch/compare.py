# SPDX-License-Identifier: MIT
"""Ferry and PyTorch in turn, the same work, the same threads: tables of ratios and a TSV file.

Each side is one long-lived process that does what it is told (plots/bench/worker.c, plots/torch/worker.py). For each case
both set up; then, round by round, one side runs it for a moment while the other waits, A B, B A, A B, so that what else
happens on the machine meets both. A ratio is PyTorch's time over Ferry's within a round: above 1, Ferry is faster.
"""

import argparse
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

import cases
import stats

HERE = os.path.dirname(os.path.abspath(__file__))
SETTLE = 0.02  # seconds for threads of the side that was on to stop spinning
CASE_SECONDS = 8.0  # a case has fewer rounds than planned, but two at least, where they would take longer than that


class CaseError(Exception):
    """A worker said that it cannot do a case."""


class Worker:
    """A process that answers commands."""

    def __init__(self, command, environment):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise SystemExit("compare: %s ended at \"%s\": %s" % (self.process.args[0], command, self.error_text()))
        if not answer.startswith("ok"):
            raise CaseError(answer.strip())
        return answer[2:].strip()

    def time(self, seconds):
        return [float(word) for word in self.ask("time %g" % seconds).split()]

    def error_text(self):
        self.errors.seek(0)
        return self.errors.read().strip()[-2000:] or "it left no message"

    def end(self):
        """Waits until it has ended, and gives what it wrote as errors."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        text = self.error_text()
        self.errors.close()
        return text


class Comparison:
    def __init__(self, options):
        self.options = options
        self.core = None
        self.level = "other"  # of Ferry's instructions
        self.limited = False  # PyTorch, to AVX2, on a processor that has more
        self.seconds = 0.05 if options.quick else 0.12
        self.lines = []  # of the TSV
        self.missed, self.undecided = [], []
        self.undisturbed = {}  # by case: the ratio of the row "two", which the busy table refers to
        self.met = 0
        self.others = 0.0  # cores that other programs kept busy meanwhile

    # ---- processes ------------------------------------------------------------------------------------------------------

    def ferry(self, row):
        command = [self.options.bench, "--worker", "--device", self.options.device]
        environment = cases.environment(row, self.options.threads, None, False, self.limited)
        if self.options.device != "cpu":
            environment["FERRY_CUDA"] = "real"  # a simulated device has no times to compare
        return Worker(command, environment)

    def torch(self, row, verbose=False):
        environment = cases.environment(row, self.options.threads, self.core, True, self.limited)
        if verbose:
            environment["OPENBLAS_VERBOSE"] = "2"
        if self.options.other:
            return Worker(shlex.split(self.options.other), environment)
        command = [self.options.python, os.path.join(HERE, "worker.py"), "--device", self.options.device]
        command += ["--threads", str(self.options.threads)] if row.clean else []
        return Worker(command + (["--tuned"] if row.tuned else []), environment)

    def onnxruntime(self, row, folder):
        environment = cases.environment(row, self.options.threads, None, False)
        if self.options.other:
            return Worker(shlex.split(self.options.other), environment)
        command = [self.options.onnx_python, os.path.join(HERE, "onnx_worker.py"), "--folder", folder]
        return Worker(command + ["--threads", str(self.options.threads)], environment)

    def find_core(self):
        """OpenBLAS's generic builds fall back to old kernels on processors newer than they are: then one is named."""
        worker = self.torch(cases.ROWS[1], verbose=True)
        worker.ask("info")
        found = re.search(r"Core: (\w+)", worker.end())
        reported = found.group(1) if found else None
        self.core = cases.native_core(reported, cpu_flags()) if reported else None
        if self.core:
            return "OpenBLAS takes this processor for %s: OPENBLAS_CORETYPE=%s is set for PyTorch" % (reported, self.core)
        return "OpenBLAS runs kernels for %s" % reported if reported else "BLAS names no kernels"

    def find_level(self):
        worker = self.ferry(cases.ROWS[1])
        self.level = cases.level_of(worker.ask("info"))
        worker.end()
        self.limited = self.level == cases.AVX2 and "avx512f" in cpu_flags()
        targets = "targets for %s" % self.level if self.level in cases.SHARES else "no targets: there are none for this processor"
        return targets + (" (set for both sides: %s)" % " ".join("%s=%s" % one for one in cases.LIMITS.items()) if self.limited else "")

    # ---- what is measured -----------------------------------------------------------------------------------------------

    def rounds(self, ours, theirs, case, count, least):
        """Samples of each round, first Ferry's, then PyTorch's."""
        samples = ([], [])
        sides = (ours, theirs)
        command = "case %s %d" % case
        for side in sides:
            side.ask(command)
        begin = time.perf_counter()
        for turn in range(count):
            if turn >= 2 and (time.perf_counter() - begin) * (turn + 1) / turn > CASE_SECONDS:
                break
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                time.sleep(SETTLE)
                samples[side].append(sides[side].time(self.seconds if least > 1 else 1e-6)[: None if least > 1 else 1])
        for side in sides:
            side.ask("end")
        return samples

    def ceiling(self, ours):
        """Multiply-adds in registers by as many threads, in GFLOP/s: measured beside the case, so at the same clock. The best
        of a few moments, since what disturbs one only lowers it."""
        ours.ask("case ceiling_fma %d" % self.options.threads)
        flops = float(ours.ask("flops"))
        rate = flops / min(stats.median(ours.time(0.1)) for _ in range(5)) / 1e9
        ours.ask("end")
        return rate

    def share_of_ceiling(self, ours, case, ratio, row_key):
        """Says which share of the processor's arithmetic the case reached."""
        ours.ask("case %s %d" % (case.name, case.size))
        flops = float(ours.ask("flops"))
        ours.ask("end")
        ceiling = self.ceiling(ours)
        share = flops / ratio.ours / 1e9 / ceiling
        target = case.share_target(self.level)
        verdict = self.judge("share of the ceiling of %s %d" % (case.name, case.size), row_key, share >= target)
        print("%34s %.0f of %.0f GFLOP/s, %.2f of the ceiling; target %.2f: %s" % (
            "", share * ceiling, ceiling, share, target, verdict), flush=True)
        self.lines.append(("share-" + row_key, case.name, case.size, "GFLOP/s", share * ceiling, ceiling, share, share,
                           share, 1, "%.2f" % target, verdict))

    def compare(self, ours, theirs, case, row_key, target=None, count=5, least=3):
        try:
            ratio = stats.Ratio(*self.rounds(ours, theirs, case, count, least))
        except CaseError as error:
            for side in (ours, theirs):  # whichever of the two has set the case up
                try:
                    side.ask("end")
                except CaseError:
                    pass
            print("%-22s %9d  left out: %s" % (case + (error,)))
            return None
        if target is not None:
            verdict = self.judge("%s %d" % case, row_key, ratio.median >= target, ratio.q3 >= target)
            target_text = "%.2f x" % target
        else:
            verdict, target_text = "", ""
        print("%-22s %9d  %9s  %9s  %7.2f x  %6.2f .. %-6.2f  %9s  %s" % (
            case + (stats.seconds_text(ratio.ours), stats.seconds_text(ratio.theirs), ratio.median, ratio.q1, ratio.q3,
                    target_text, verdict)), flush=True)
        self.lines.append((row_key, case[0], case[1], "s", ratio.ours, ratio.theirs, ratio.median, ratio.q1, ratio.q3,
                           ratio.rounds, target_text or "-", verdict or "-"))
        return ratio

    def judge(self, what, row_key, met, in_spread=False):
        """in_spread: the target lies among the rounds' middle half, so that another run might decide otherwise."""
        if met:
            self.met += 1
            return "met"
        (self.undecided if in_spread else self.missed).append("%s (%s)" % (what, row_key))
        return "within the spread" if in_spread else "MISSED"

    def wanted(self, name, group):
        only = self.options.only
        return not only or name in only or group in only

    # ---- tables ---------------------------------------------------------------------------------------------------------

    def heading(self, title, other="PyTorch"):
        print("\n%s\n%-22s %9s  %9s  %9s  %9s  %-16s  %9s" % (
            title, "case", "size", "Ferry", other[:9], "ratio", "middle half", "target"))
        print("-" * 104)

    def row_table(self, row):
        chosen = [c for c in cases.CASES if self.wanted(c.name, c.group) and (not c.rows or row.key in c.rows)]
        if self.options.quick:
            chosen = [c for c in chosen if c.quick]
        if not chosen:
            return
        ours, theirs = self.ferry(row), self.torch(row)
        title = row.title % {"threads": self.options.threads} if row.clean else row.title
        self.heading("PyTorch %s" % title)
        info = theirs.ask("info")
        print("(%s; %s)" % (ours.ask("info"), info))
        version = torch_major(info)
        for case in chosen:
            count = min(case.rounds, 2 if self.options.quick else 5)
            ratio = self.compare(ours, theirs, (case.name, case.size), row.key, case.target(row.key, version, self.level), count,
                                 case.least)
            if ratio and case.share_target(self.level) and version >= 2 and row.clean and self.options.device == "cpu":
                self.share_of_ceiling(ours, case, ratio, row.key)
            if ratio and row.key == "two":
                self.undisturbed[case.name, case.size] = ratio
        ours.end()
        theirs.end()

    def check_table(self):
        chosen = [c for c in cases.CHECKS if self.wanted(c[0], "training")]
        if not chosen:
            return
        print("\nThe same work: numbers of parameters, and the losses of three steps from the same weights and inputs")
        row = cases.ROWS[1 if self.options.device == "cpu" else 0]
        ours, theirs = self.ferry(row), self.torch(row)
        for case in chosen:
            a, b = ([float(word) for word in side.ask("check %s %d" % case).split()] for side in (ours, theirs))
            same = stats.same_losses(a, b)
            print("%-22s %9d parameters, losses %s and %s: %s" % (
                case[0], a[0], " ".join("%.5f" % loss for loss in a[1:]), " ".join("%.5f" % loss for loss in b[1:]),
                "the same" if same else "NOT THE SAME"))
            if not same:
                self.missed.append("%s does not do the same work" % case[0])
        ours.end()
        theirs.end()

    def onnx_table(self):
        """Traced networks against onnxruntime, which runs the files that Ferry writes of them."""
        chosen = [c for c in cases.ONNX if self.wanted(c[0], "onnx")]
        if not chosen:
            return
        if not self.options.onnx_python and not self.options.other:
            print("\nonnxruntime: left out, no python3 has onnx and onnxruntime "
                  "(.ci/build/python_with_onnx.sh --venv puts them into build/venv)")
            return
        row = cases.ROWS[1]
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = self.ferry(row), self.onnxruntime(row, folder)
            self.heading("onnxruntime on the file of the traced network, %d threads" % self.options.threads, "onnxrt")
            print("(%s; %s)" % (ours.ask("info"), theirs.ask("info")))
            if self.limited:
                print("(nothing limits onnxruntime to AVX2)")
            for name, size, targets in chosen:
                for command in ("case %s %d" % (name, size), "onnx " + folder, "end"):
                    ours.ask(command)
                self.compare(ours, theirs, (name, size), "onnx", targets.get(self.level), 2 if self.options.quick else 5)
            ours.end()
            theirs.end()

    def busy_table(self):
        row = cases.ROWS[1]
        chosen = [c for c in cases.BUSY if self.wanted(c[0], "busy")]
        if not chosen:
            return
        ours, theirs = self.ferry(row), self.torch(row)
        self.heading("Beside one other busy process (PyTorch with %d threads)" % self.options.threads)
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            for case in chosen:
                ratio = self.compare(ours, theirs, case, "busy", 1.0, 2 if self.options.quick else 5)
                self.slow_down(case, ratio)
        finally:
            busy.kill()
            busy.wait()
        ours.end()
        theirs.end()

    def slow_down(self, case, busy):
        """How many times as long each side takes as it took without the other process."""
        before = self.undisturbed.get(case)
        if before and busy:
            ours, theirs = busy.ours / before.ours, busy.theirs / before.theirs
            print("%34s Ferry %.2f times, PyTorch %.2f times as long as without it" % ("", ours, theirs), flush=True)
            self.lines.append(("slow-down", case[0], case[1], "x", ours, theirs, theirs / ours, theirs / ours,
                               theirs / ours, 1, "-", "-"))

    def alone(self, start, commands):
        """Runs one worker for some commands: its last answer, and the seconds of its life."""
        begin = time.perf_counter()
        worker = start(cases.ROWS[1])
        answers = [worker.ask(command) for command in commands]
        worker.end()
        return answers[-1], time.perf_counter() - begin

    def memory_table(self):
        chosen = [c for c in cases.MEMORY if self.wanted(c[0], "memory")]
        if chosen:
            print("\nPeak memory of a process that does this alone\n%-22s %9s  %9s  %9s  %9s  %27s" % (
                "case", "size", "Ferry", "PyTorch", "ratio", "target"))
            print("-" * 104)
        for case in chosen:
            commands = ["case %s %d" % case, "time %g" % (0.2 if case[0] == "train_fashion" else 1), "end", "rss"]
            try:
                a, b = (float(self.alone(start, commands)[0]) for start in (self.ferry, self.torch))
            except CaseError as error:
                print("%-22s %9d  left out: %s" % (case + (error,)))
                continue
            verdict = self.judge("memory of %s %d" % case, "two", b / a >= cases.MEMORY_TARGET)
            print("%-22s %9d  %5.0f MiB  %5.0f MiB  %7.2f x  %25.2f x  %s" % (
                case + (a / 2**20, b / 2**20, b / a, cases.MEMORY_TARGET, verdict)), flush=True)
            self.lines.append(("memory", case[0], case[1], "B", a, b, b / a, b / a, b / a, 1,
                               "%.2f x" % cases.MEMORY_TARGET, verdict))

    def start_table(self):
        if not self.wanted("start", "start"):
            return
        commands = ["case small_add 3", "time 1e-6", "end", "rss"]
        count = 3 if self.options.quick else 5
        ours, theirs = ([self.alone(start, commands) for _ in range(count)] for start in (self.ferry, self.torch))
        a, b = (stats.median([seconds for _, seconds in side]) for side in (ours, theirs))
        memory = [stats.median([float(rss) for rss, _ in side]) for side in (ours, theirs)]
        met = a <= cases.START_SECONDS and memory[0] <= cases.START_BYTES
        verdict = self.judge("start-up", "two", met)
        print("\nStart, one small operation, end: Ferry %s and %.1f MiB, PyTorch %s and %.0f MiB; target %s and %d MiB: %s" % (
            stats.seconds_text(a), memory[0] / 2**20, stats.seconds_text(b), memory[1] / 2**20,
            stats.seconds_text(cases.START_SECONDS), cases.START_BYTES / 2**20, verdict))
        self.lines.append(("start", "start", 0, "s", a, b, b / a, b / a, b / a, count,
                           "<= " + stats.seconds_text(cases.START_SECONDS), verdict))

    def run(self):
        begin = time.perf_counter()
        print("%s, %d cores; %s" % (cpu_name(), os.cpu_count(), time.strftime("%Y-%m-%d")))
        others = others_seconds()
        rows = cases.ROWS if self.options.device == "cpu" else cases.ROWS[:1]
        if self.options.device == "cpu":
            print(self.find_level())
            print(self.find_core())
        self.check_table()
        for row in rows:
            if not self.options.rows or row.key in self.options.rows:
                self.row_table(row)
        if self.options.device == "cpu" and not self.options.rows:
            self.onnx_table()
            self.busy_table()
            self.memory_table()
            self.start_table()
        self.others = (others_seconds() - others) / (time.perf_counter() - begin)
        if self.others > 0.1:
            print("\nOther programs kept %.1f cores busy meanwhile. Threads that wait for each other suffer most from that,\n"
                  "so these ratios are not those of an idle machine." % self.others)
        print("\n%d targets met, %d missed, %d within the spread of the rounds" % (
            self.met, len(self.missed), len(self.undecided)))
        for verdict, names_of in (("missed", self.missed), ("within the spread", self.undecided)):
            for what in names_of:
                print("  %s: %s" % (verdict, what))
        self.write()
        print("\n%.0f s; written to %s" % (time.perf_counter() - begin, self.options.out))

    def write(self):
        folder = os.path.dirname(self.options.out)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(self.options.out + ".new", "w") as file:
            print("# Ferry and PyTorch (in the row onnx: onnxruntime) in turn; ratio: the other's over Ferry's, within a round", file=file)
            print("# machine: %s, %d cores\n# threads: %d\n# device: %s\n# date: %s" % (
                cpu_name(), os.cpu_count(), self.options.threads, self.options.device, time.strftime("%Y-%m-%d")), file=file)
            print("# others: %.2f" % self.others, file=file)
            print("# openblas_coretype: %s" % (self.core or "-"), file=file)
            print("# class: %s" % self.level, file=file)
            print("row\tcase\tsize\tunit\tferry\tpytorch\tratio\tq1\tq3\trounds\ttarget\tverdict", file=file)
            for line in self.lines:
                print("\t".join("%.6g" % field if isinstance(field, float) else str(field) for field in line), file=file)
        os.replace(self.options.out + ".new", self.options.out)


def torch_major(info):
    """2 for "PyTorch 2.15.0, 2 threads"; what is no PyTorch counts as the newest."""
    found = re.search(r"PyTorch (\d+)", info)
    return int(found.group(1)) if found else 2


def cpu_info(key):
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), "")
    except OSError:
        return ""


def cpu_name():
    return cpu_info("model name") or platform.processor() or "unknown CPU"


def cpu_flags():
    return cpu_info("flags").split()


def others_seconds():
    """Processor seconds that everything but this process and its ended children has used; 0 where nobody says."""
    try:
        with open("/proc/stat") as file:
            user, nice, system, _, _, interrupts, soft, steal = (int(word) for word in file.readline().split()[1:9])
    except (OSError, ValueError):
        return 0.0
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ticks = user + nice + system + interrupts + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK") - sum(usage.ru_utime + usage.ru_stime for usage in own)


def names(text):
    return [word for word in text.split(",") if word]


def parse():
    parser = argparse.ArgumentParser(
        prog="make bench-torch ARGS=...", description="Ferry and PyTorch in turn: a table of ratios and a TSV file.",
        epilog="ARGS=--venv, before all others, takes the newest PyTorch, from PyPI, which goes into build/venv once.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer cases")
    parser.add_argument("--only", type=names, metavar="NAME,...", help="these cases or groups alone (--list)")
    parser.add_argument("--rows", type=names, metavar="KEY,...", help="PyTorch's settings: default, two, tuned (all)")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), metavar="N",
                        help="of both sides in the rows two and tuned (%(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda on a machine with a GPU and a PyTorch for it")
    parser.add_argument("--out", default="build/bench/torch-%s.tsv" % time.strftime("%Y%m%d-%H%M%S"), metavar="FILE")
    parser.add_argument("--list", action="store_true", help="the cases and their targets")
    parser.add_argument("--bench", default="build/plots/bench/bench", help=argparse.SUPPRESS)
    parser.add_argument("--python", default="python3", help="an interpreter that has torch")
    parser.add_argument("--onnx-python", default="", help=argparse.SUPPRESS)
    parser.add_argument("--other", metavar="COMMAND", help="a worker in PyTorch's place, to test this program")
    options = parser.parse_args()
    if options.threads < 1:
        parser.error("--threads %d: it needs at least 1" % options.threads)
    known = {c.name for c in cases.CASES} | {c.group for c in cases.CASES} | {"onnx", "busy", "memory", "start"}
    known |= {case[0] for case in cases.ONNX}
    for name in options.only or []:
        if name not in known:
            parser.error("there is no case or group %s (--list has them)" % name)
    for key in options.rows or []:
        if key not in {row.key for row in cases.ROWS}:
            parser.error("--rows %s: it is default, two or tuned" % key)
    return options


def list_cases():
    columns = ((1, cases.AVX512), (2, cases.AVX512), (2, cases.AVX2))
    print("PyTorch's time over Ferry's, at least. *: and a share of the ceiling of multiply-adds (with PyTorch 2)\nof %s\n" %
          ", ".join("%.2f (%s)" % (share, level) for level, share in cases.SHARES.items()))
    print("%-30s %8s  %-11s" % ("", "", "") + "".join("  %15s" % ("PyTorch %d" % version) for version, _ in columns))
    print("%-30s %8s  %-11s" % ("", "", "") + "".join("  %15s" % level for _, level in columns))
    print("%-30s %8s  %-11s" % ("case", "size", "group") + "  %7s %7s" % ("two", "tuned") * len(columns))
    for case in cases.CASES:
        targets = [case.target(row, *column) for column in columns for row in ("two", "tuned")]
        print("%-30s %8d  %-11s" % (case.name + " *" * case.share, case.size, case.group) +
              "  %7s %7s" * len(columns) % tuple("%.2f" % t if t else "-" for t in targets))
    print("and: onnx (traced networks against onnxruntime), busy (beside another process), memory (peak of a process), start (start-up)")


def main():
    options = parse()
    if options.list:
        list_cases()
    else:
        Comparison(options).run()


if __name__ == "__main__":
    main()
