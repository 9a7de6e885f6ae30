# SPDX-License-Identifier: MIT
"""Several processes that train one model: how well they scale, beside PyTorch's DDP over gloo, and all-reduce beside MPI's own.

Both sides are ranks that live as long as the comparison (plots/bench/ranks.c, plots/torch/ranks_worker.py). In each round one
rank alone, all ranks without any exchange, and all ranks together train for a moment, side by side; ratios are taken within a
round.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time

import compare
import stats

HERE = os.path.dirname(os.path.abspath(__file__))
# benchmark, samples for each rank, efficiency at least
TRAININGS = [("train_cnn_001", 128, 0.95), ("train_784_256_128_10", 128, 0.9)]
OVER_TORCH, OVER_MPI = 1.5, 0.9
SIZES = [4096, 1 << 20, 16 << 20]


class Ferry(compare.Worker):
    def __init__(self, options, environment):
        launcher = [options.mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(options.ranks)]
        launcher += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        super().__init__(launcher + [options.bench, "--ranks"], environment)


class Torch:
    """Ranks that are all told the same."""

    def __init__(self, options, environment):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = dict(environment, WORLD_SIZE=str(options.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        command = [options.python, os.path.join(HERE, "ranks_worker.py")]
        self.ranks = [compare.Worker(command, dict(environment, RANK=str(r), LOCAL_RANK=str(r)))
                      for r in range(options.ranks)]

    def ask(self, command):
        for rank in self.ranks:
            rank.process.stdin.write(command + "\n")
            rank.process.stdin.flush()
        answers = [rank.process.stdout.readline() for rank in self.ranks]
        if not all(answer.startswith("ok") for answer in answers):
            raise SystemExit("ranks: PyTorch at \"%s\": %s" % (command, " ".join(a.strip() for a in answers) or self.ranks[0].error_text()))
        return answers[0][2:].strip()

    def end(self):
        for rank in self.ranks:
            rank.process.stdin.close()
        for rank in self.ranks:
            rank.process.wait()


class Ranks:
    def __init__(self, options):
        self.options = options
        self.seconds = 0.05 if options.quick else 0.25
        self.rounds = 2 if options.quick else 9
        self.lines, self.missed, self.undecided = [], [], []
        self.met = 0

    def sides(self):
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        self.ferry = Ferry(self.options, environment)
        print(self.ferry.ask("info"))
        self.torch = None
        if self.options.python:
            self.torch = Torch(self.options, environment)
            print(self.torch.ask("info"))
        else:
            print("PyTorch: left out, no python3 has torch (.ci/build/python_with_torch.sh --venv puts it into build/venv)")

    def take(self, asked):
        """A list of commands without their counts, as (side, command): samples of each, in rounds that go back and forth."""
        counts = []
        for side, command in asked:
            once = float(side.ask(command + " 2"))
            counts.append(max(2, int(self.seconds / once)))
        samples = [[] for _ in asked]
        for turn in range(self.rounds):
            order = range(len(asked))
            for i in order if turn % 2 == 0 else reversed(order):
                time.sleep(compare.SETTLE)
                side, command = asked[i]
                samples[i].append([float(side.ask("%s %d" % (command, counts[i])))])
        return samples

    def row(self, key, case, size, ours, theirs, target=None, scale=1.0):
        """The ratio: theirs over ours, times `scale`."""
        ratio = stats.Ratio(ours, theirs)
        median, q1, q3 = (scale * value for value in (ratio.median, ratio.q1, ratio.q3))
        verdict = "-"
        if target is not None:
            verdict = "met" if median >= target else "within the spread" if q3 >= target else "MISSED"
            self.met += verdict == "met"
            if verdict != "met":
                (self.missed if verdict == "MISSED" else self.undecided).append("%s %s %d" % (key, case, size))
        print("%-16s %-22s %9d  %9s  %9s  %6.2f  %6.2f .. %-6.2f  %5s  %s" % (
            key, case, size, stats.seconds_text(ratio.ours), stats.seconds_text(ratio.theirs), median, q1, q3,
            "%.2f" % target if target else "", verdict if target else ""), flush=True)
        self.lines.append((key, case, size, "s", ratio.ours, ratio.theirs, median, q1, q3, ratio.rounds,
                           "%.2f" % target if target else "-", verdict))

    def training(self, name, batch, target):
        sides = [side for side in (self.ferry, self.torch) if side]
        for side in sides:
            side.ask("case %s %d" % (name, batch))
        kinds = ("alone", "apart", "ranks")
        samples = self.take([(side, kind) for side in sides for kind in kinds])
        # steps of one batch each: n ranks do n batches in a step's time
        self.row("efficiency", name, batch, samples[2], samples[0], target if self.options.ranks == 2 else None)
        self.row("apart", name, batch, samples[1], samples[0])
        if self.torch:
            self.row("torch-efficiency", name, batch, samples[5], samples[3])
            self.row("torch-apart", name, batch, samples[4], samples[3])
            self.row("over-torch", name, batch, samples[2], samples[5], OVER_TORCH)

    def all_reduce(self, size):
        asked = [(self.ferry, "reduce %d" % size), (self.ferry, "mpi %d" % size)]
        asked += [(self.torch, "reduce %d" % size)] if self.torch else []
        samples = self.take(asked)
        self.row("over-mpi", "all_reduce", size, samples[0], samples[1], OVER_MPI)
        if self.torch:
            self.row("over-gloo", "all_reduce", size, samples[0], samples[2])

    def run(self):
        begin, others = time.perf_counter(), compare.others_seconds()
        print("%s, %d cores; %s" % (compare.cpu_name(), os.cpu_count(), time.strftime("%Y-%m-%d")))
        self.sides()
        print("\n%-16s %-22s %9s  %9s  %9s  %6s  %-16s  %6s" % ("row", "case", "size", "Ferry", "other", "ratio", "middle half", "target"))
        print("-" * 112)
        for case in TRAININGS:
            self.training(*case)
        for size in SIZES:
            self.all_reduce(size)
        self.ferry.end()
        if self.torch:
            self.torch.end()
        others = (compare.others_seconds() - others) / (time.perf_counter() - begin)
        if others > 0.1:
            print("\nOther programs kept %.1f cores busy meanwhile: ranks wait for whichever of them lost its core, so these\n"
                  "ratios are not those of an idle machine." % others)
        print("\n%d targets met, %d missed, %d within the spread of the rounds" % (
            self.met, len(self.missed), len(self.undecided)))
        self.write(others)
        print("%.0f s; written to %s" % (time.perf_counter() - begin, self.options.out))

    def write(self, others):
        os.makedirs(os.path.dirname(self.options.out) or ".", exist_ok=True)
        with open(self.options.out + ".new", "w") as file:
            print("# Ranks of one thread each, side by side; ratio: the other's seconds over Ferry's, within a round (of an\n"
                  "# efficiency: one rank's over that of all)\n"
                  "# machine: %s, %d cores\n# ranks: %d\n# date: %s\n# others: %.2f" % (
                      compare.cpu_name(), os.cpu_count(), self.options.ranks, time.strftime("%Y-%m-%d"), others), file=file)
            print("row\tcase\tsize\tunit\tferry\tother\tratio\tq1\tq3\trounds\ttarget\tverdict", file=file)
            for line in self.lines:
                print("\t".join("%.6g" % field if isinstance(field, float) else str(field) for field in line), file=file)
        os.replace(self.options.out + ".new", self.options.out)


def parse():
    parser = argparse.ArgumentParser(
        prog="make bench-ranks ARGS=...",
        description="Training by several processes: scaling efficiency, PyTorch's DDP over gloo, and all-reduce beside MPI's.",
        epilog="ARGS=--venv, before all others, takes the newest PyTorch, from PyPI, which goes into build/venv once.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="processes, a core each (%(default)s)")
    parser.add_argument("--out", default="build/bench/ranks-%s.tsv" % time.strftime("%Y%m%d-%H%M%S"), metavar="FILE")
    parser.add_argument("--bench", default="build/plots/bench/bench", help=argparse.SUPPRESS)
    parser.add_argument("--python", default="", help="an interpreter that has torch; none: Ferry and MPI alone")
    options = parser.parse_args()
    if options.ranks < 2:
        parser.error("--ranks %d: it needs at least 2" % options.ranks)
    if options.ranks > (os.cpu_count() or 1):
        parser.error("--ranks %d: there are %d cores, and ranks that share one have no efficiency to measure" % (
            options.ranks, os.cpu_count() or 1))
    options.mpirun = shutil.which("mpirun")
    if not options.mpirun:
        sys.exit("ranks: there is no mpirun: install Open MPI (Debian: openmpi-bin, libopenmpi-dev), then run make")
    return options


if __name__ == "__main__":
    Ranks(parse()).run()
