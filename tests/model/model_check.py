#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares modeled times with published measurements of other projects' kernels (docs/dev/model_measured.md)."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import spaces

BUILD = os.environ.get("FERRY_BUILD", "build")
ARCHITECTURES = {"a100": "sm_80", "rtx2080ti": "sm_75"}  # the others: sm_86


def modeled(requests):
    """(Microseconds, limit) of each request, see plots/model/requests.c."""
    program = os.path.join(BUILD, "plots/model/check")
    answer = subprocess.run([program, "--requests"], input="\n".join(requests) + "\n", stdout=subprocess.PIPE, universal_newlines=True, check=True)
    rows = [line.split("\t") for line in answer.stdout.splitlines()]
    return [(1e6 * float(row[0]), row[1]) for row in rows]


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
        if not row["counts"]:
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
        for (configuration, time), (us, limit) in zip(wanted, answers):
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
    middle = [sorted(column)[len(column) // 2] for column in zip(*results)]
    print("| **median of %d spaces** | | | %.2f | %.2f | x%.2f | |" % (len(results), *middle))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark-hub", metavar="DIR", help="AutoTuningAssociation/benchmark_hub, a clone or bare")
    parser.add_argument("--sealed", action="store_true", help="the half that is not for development")
    parser.add_argument("--counts", metavar="FILE", help="keep the inspector's counts here, and use those that are there")
    parser.add_argument("--count-only", action="store_true", help="inspect, and compare nothing")
    parser.add_argument("--rows", metavar="FILE", help="write a row for each configuration")
    options = parser.parse_args()
    if not options.benchmark_hub:
        parser.error("nothing to compare: name a checkout")
    rows_file = open(options.rows, "w") if options.rows else None
    if options.benchmark_hub:
        compare_spaces(options, rows_file)
    if rows_file:
        rows_file.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
