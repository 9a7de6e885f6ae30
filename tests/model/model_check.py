#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares modeled times with published measurements of other projects' kernels (docs/dev/model_measured.md)."""
import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import kernelbench
import spaces
import strides
from checkouts import stored

BUILD = os.environ.get("FERRY_BUILD", "build")
ARCHITECTURES = {"a100": "sm_80", "rtx2080ti": "sm_75"}  # the others: sm_86


def modeled(requests):
    """(Microseconds, limit, microseconds of each limit) of each request, see plots/model/requests.c."""
    program = os.path.join(BUILD, "plots/model/check")
    answer = subprocess.run([program, "--requests"], input="\n".join(requests) + "\n", stdout=subprocess.PIPE, universal_newlines=True, check=True)
    rows = [line.split("\t") for line in answer.stdout.splitlines()]
    return [(1e6 * float(row[0]), row[1], [1e6 * float(term) for term in row[3:]]) for row in rows]


class Counts:
    """The counts of configurations, kept in a file: inspecting takes seconds for each, the model nothing."""

    def __init__(self, path, hub):
        self.path, self.hub, self.known = path, hub, {}
        self.ferry = os.path.join(BUILD, "ferry")
        self.nvcc = shutil.which("nvcc") or (os.path.exists("/usr/local/cuda/bin/nvcc") and "/usr/local/cuda/bin/nvcc")
        if path and os.path.exists(path):
            with open(path) as file:
                for row in map(json.loads, file):
                    self.known[row["kernel"], tuple(row["configuration"])] = row

    def of(self, kernel, configuration, folder):
        key = kernel.name, configuration
        if key not in self.known:
            counts = spaces.inspected(self.ferry, folder, self.hub, kernel, configuration)
            wanted = sorted({ARCHITECTURES.get(gpu, "sm_86") for gpu in kernel.spaces})
            compiled = {a: spaces.registers(self.nvcc, folder, a) for a in wanted}
            row = {"kernel": kernel.name, "configuration": configuration, "counts": counts, "registers": compiled}
            self.known[key] = row
            if self.path:
                with open(self.path, "a") as file:
                    file.write(json.dumps(row) + "\n")
        return self.known[key]


def compare_space(kernel, gpu, sample, times, rows_file):
    """Prints a row of the table; the result is (rho, best, error)."""
    requests, wanted = [], []
    for configuration, row in sample:
        if not row["counts"] or not kernel.is_as_published(gpu, configuration):
            continue
        counts = kernel.whole(dict(zip(kernel.keys, configuration)), dict(row["counts"]))
        counts["registers"] = row["registers"][ARCHITECTURES.get(gpu, "sm_86")][0]
        requests.append("%s kernel %s" % (gpu, " ".join("%s=%.10g" % c for c in counts.items())))
        wanted.append((configuration, times[configuration]))
    answers = modeled(requests)
    ours, theirs = [a[0] for a in answers], [w[1] for w in wanted]
    ratios = [a / b for a, b in zip(ours, theirs)]
    result = spaces.spearman(ours, theirs), spaces.best_of(ours, theirs), spaces.error(ratios)
    print("| %s | %s | %d | %.2f | %.2f | x%.2f | %.2f |" %
          (kernel.name, gpu, len(ours), result[0], result[1], result[2], spaces.geometric(ratios)))
    if rows_file:
        for (configuration, time), (us, limit, _) in zip(wanted, answers):
            rows_file.write("%s\t%s\t%s\t%.6g\t%.6g\t%s\n" % (kernel.name, gpu, ",".join(map(str, configuration)), time, us, limit))
    return result


def compare_spaces(options, rows_file):
    counts, results = Counts(options.counts, options.benchmark_hub), []
    print("| kernel | GPU | configurations | rho | modeled best | error | bias |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for kernel in spaces.KERNELS:
            times = {gpu: spaces.measured(options.benchmark_hub, kernel, gpu) for gpu in kernel.spaces}
            sample = []
            for n, configuration in enumerate(spaces.drawn(kernel, times, options.sealed)):
                sample.append((configuration, counts.of(kernel, configuration, folder)))
                print("\r%s: %d" % (kernel.name, n + 1), end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
            if options.count_only:
                continue
            failed = sum(not row["counts"] for _, row in sample)
            results += [compare_space(kernel, gpu, sample, times[gpu], rows_file) for gpu in kernel.spaces]
            if failed:
                print("%s: %d could not be inspected" % (kernel.name, failed), file=sys.stderr)
    if options.count_only:
        return
    middle = [statistics.median(column) for column in zip(*results)]
    print("| **median of %d spaces** | | | %.2f | %.2f | x%.2f | |" % (len(results), *middle))


# ---- KernelBench -----------------------------------------------------------------------------------------------------


def ordered(rows):
    """(Pairs in the measured order, pairs), without those that are within 5 %."""
    right = pairs = 0
    for i, (_, ours, theirs) in enumerate(rows):
        for _, our_other, other in rows[i + 1:]:
            if max(theirs, other) / min(theirs, other) > 1.05:
                pairs += 1
                right += (ours < our_other) == (theirs < other)
    return right, pairs


def in_order(groups):
    counted = [ordered(rows) for rows in groups]
    right, pairs = sum(c[0] for c in counted), sum(c[1] for c in counted)
    return "%d of %d (%.0f %%)" % (right, pairs, 100 * right / pairs) if pairs else "none"


def kernelbench_rows(folder, sealed):
    """(Table, GPU, kind, problem with its sizes, modeled and measured seconds)."""
    rows = []
    for commit, results, gpu in kernelbench.TABLES:
        measured, asked, owners = kernelbench.times(folder, commit, results), [], []
        for name, (kind, launched) in sorted(kernelbench.problems(folder, commit).items()):
            digit = hashlib.sha256(name.encode()).hexdigest()[0]
            if name in measured and (digit >= "8") == sealed:
                owners.append((name, kind, launched))
                asked += kernelbench.requests(gpu, launched)
        answers = iter(modeled(asked))
        for name, kind, launched in owners:
            us = sum(next(answers)[0] for _ in launched)
            rows.append((results, gpu, kind, name + str(launched), us * 1e-6, measured[name]))
    return rows


def compare_kernelbench(options, rows_file):
    rows = kernelbench_rows(options.kernelbench, options.sealed)
    print("\n| problems | GPUs | rows | pairs on one GPU | pairs of one problem | error | bias |\n| --- | --- | ---: | --- | --- | ---: | ---: |")

    def line(name, chosen):
        by_table, by_problem = {}, {}
        for row in chosen:
            by_table.setdefault(row[0], []).append(row[3:])
            by_problem.setdefault(row[3], []).append(row[3:])
        ratios = [row[4] / row[5] for row in chosen]
        print("| %s | %d | %d | %s | %s | x%.2f | %.2f |" % (name, len(by_table), len(chosen), in_order(by_table.values()),
                                                         in_order(by_problem.values()), spaces.error(ratios), spaces.geometric(ratios)))

    for kind in sorted({row[2] for row in rows}):
        line(kind, [row for row in rows if row[2] == kind])
    line("**all**", rows)
    line("**all but convolutions**", [row for row in rows if row[2] != "convolution"])
    print("\n| times of | GPU | rows | pairs | error | bias |\n| --- | --- | ---: | --- | ---: | ---: |")
    for _, results, gpu in kernelbench.TABLES:
        chosen = [row for row in rows if row[0] == results and row[2] != "convolution"]
        ratios = [row[4] / row[5] for row in chosen]
        print("| %s | %s | %d | %s | x%.2f | %.2f |" %
              (results, gpu, len(chosen), in_order([[row[3:] for row in chosen]]), spaces.error(ratios), spaces.geometric(ratios)))
    for row in rows if rows_file else []:
        rows_file.write("KernelBench %s\t%s\t%s\t%.6g\t%.6g\t%s\n" % (row[0], row[1], row[3], 1e6 * row[5], 1e6 * row[4], row[2]))


# ---- gpu-benches -----------------------------------------------------------------------------------------------------

L1, ARITHMETIC, LATENCY = 2, 4, 5  # limits


def compare_strides(options):
    tables = {gpu: strides.patterns(stored(options.gpu_benches, "gpu-strides/%s.txt" % name)) for gpu, name in strides.FILES.items()}
    with tempfile.TemporaryDirectory() as folder:
        counts = strides.counts(os.path.join(BUILD, "ferry"), folder, tables["a100"])
    print("\n| GPU | access patterns | rho | error | bias | largest |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for gpu, measured in tables.items():
        asked, patterns = ["%s kernel blocks=1 threads=32 shared_waves=1e6" % gpu], sorted(set(measured) & set(counts))
        for pattern in patterns:
            loads = {name: count for name, count in counts[pattern].items() if name.startswith("load")}
            loads["fp64" if pattern[0] == "double" else "fp32"] = loads["loads"] / 2  # the benchmark multiplies and adds two loads
            asked.append("%s kernel blocks=1 threads=32 %s" % (gpu, " ".join("%s=%g" % c for c in loads.items())))
        answers = modeled(asked)
        cycle = answers[0][2][L1] / 1e6
        ours = [max(a[2][L1], a[2][ARITHMETIC]) / cycle / counts[p]["loads"] for a, p in zip(answers[1:], patterns)]
        theirs = [measured[p] for p in patterns]
        ratios = [a / b for a, b in zip(ours, theirs)]
        print("| %s | %d | %.2f | x%.2f | %.2f | x%.2f |" % (gpu, len(ratios), spaces.spearman(ours, theirs), spaces.error(ratios),
                                                      spaces.geometric(ratios), max(max(r, 1 / r) for r in ratios)))


def compare_latencies(options):
    print("\n| GPU | working set | measured ns | modeled ns |\n| --- | --- | ---: | ---: |")
    for gpu, name in strides.CHASES.items():
        points = strides.chase(stored(options.gpu_benches, "gpu-latency/%s.txt" % name))
        for level, size in strides.LEVELS:
            measured = min(points, key=lambda p: abs(p[0] - size))[1]
            short, long = modeled(strides.chase_requests(gpu, level))
            print("| %s | %s | %.0f | %.0f |" % (gpu, level, measured, long[2][LATENCY] - short[2][LATENCY]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark-hub", metavar="DIR", help="AutoTuningAssociation/benchmark_hub, a clone or bare")
    parser.add_argument("--kernelbench", metavar="DIR", help="ScalingIntelligence/KernelBench, likewise")
    parser.add_argument("--gpu-benches", metavar="DIR", help="te42kyfo/gpu-benches, likewise")
    parser.add_argument("--sealed", action="store_true", help="the half that is not for development")
    parser.add_argument("--counts", metavar="FILE", help="keep the inspector's counts here, and use those that are there")
    parser.add_argument("--count-only", action="store_true", help="inspect, and compare nothing")
    parser.add_argument("--rows", metavar="FILE", help="write a row for each configuration")
    options = parser.parse_args()
    if not options.benchmark_hub and not options.kernelbench and not options.gpu_benches:
        parser.error("nothing to compare: name a checkout")
    rows_file = open(options.rows, "w") if options.rows else None
    if options.benchmark_hub:
        compare_spaces(options, rows_file)
    if options.kernelbench:
        compare_kernelbench(options, rows_file)
    if options.gpu_benches:
        compare_strides(options)
        compare_latencies(options)
    if rows_file:
        rows_file.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
