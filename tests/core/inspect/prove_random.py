#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks proofs of race freedom with the inspector, on random kernels.

usage: prove_random.py BUILD SEED COUNT [LAUNCHES]
Writes COUNT kernels with indices that are mostly affine in threadIdx and blockIdx. For each one that BUILD/prove-races proves, the
inspector runs it in LAUNCHES shapes (default 2), each with several sizes and inputs, and must find no data race. Prints a line of
counts, and each kernel whose proof is wrong. The exit status is 1 if there is one.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

LAUNCHES = [("3", "33"), ("2", "64"), ("4", "7"), ("1", "100")]


class Kernel:
    """Statements of a kernel with the device arrays a and b, the shared array s, and the sizes n and m."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0

    def index(self, shared):
        r, thread = self.random, "t" if shared else "i"
        text = r.choice([thread] * 6 + ["t", "2 * " + thread, thread + " * n", thread + " / 2", thread + " % 8", "(t ^ 1)",
                                        "(t & ~1)", "0", "n", thread + " * m + n", "(int)(blockDim.x - 1 - t)"])
        if self.loops:
            text = r.choice([text] * 3 + [f"{text} + k{self.loops}", f"k{self.loops} * (int)blockDim.x + t", f"{text} * 4 + k{self.loops} % 4"])
        if not shared:
            text = r.choice([text] * 4 + ["blockIdx.x * blockDim.x + " + text, f"blockIdx.x * n + {text}", "blockIdx.x"])
        return text + r.choice([""] * 5 + [" + 1", " + n", " + 64"])

    def place(self):
        array = self.random.choice("abss")
        return f"{array}[{'256 + ' if array != 's' else ''}{self.index(array == 's')}]"

    def condition(self, uniform):
        r = self.random
        same = ["n > 2", "m < n", "blockIdx.x == 0", "blockDim.x > 32"]
        return r.choice(same if uniform else [*same, "t == 0", "i < n", "t < n", "t % 2 == 0", "t < (int)blockDim.x / 2", "i % 4 == 1"])

    def statements(self, depth, barriers):
        text = "".join(self.statement(depth, barriers) for _ in range(self.random.randint(1, 3)))
        return "{ " + text + "}"

    def statement(self, depth, barriers):
        r = self.random
        kind = r.choice(["assign"] * 5 + ["barrier"] * 3 * barriers + ["if", "loop"] * (depth < 2))
        if kind == "barrier":
            return "__syncthreads(); "
        if kind == "if":
            uniform = r.random() < 0.4
            return f"if ({self.condition(uniform)}) {self.statements(depth + 1, barriers and uniform)} "
        if kind == "loop":
            self.loops += 1
            k, uniform = f"k{self.loops}", r.random() < 0.6
            head = r.choice([f"int {k} = 0; {k} < n; {k}++", f"int {k} = 1; {k} < (int)blockDim.x; {k} *= 2", f"int {k} = n; {k} > 0; {k}--"]
                            if uniform else [f"int {k} = i; {k} < n; {k} += gridDim.x * blockDim.x", f"int {k} = t; {k} < n; {k} += blockDim.x"])
            body = self.statements(depth + 1, barriers and uniform)
            body = body[:-1] + "__syncthreads(); }" if uniform and barriers and r.random() < 0.7 else body
            self.loops -= 1
            return f"for ({head}) {body} "
        return f"{self.place()} = {self.place()} + {r.choice(['t', '1', self.place()])}; "

    def source(self):
        return ("__global__ void k(int *a, int *b, int n, int m) { __shared__ int s[4096]; "
                "const int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x; (void)t; (void)i; " + self.statements(0, True)[2:-1] + "}\n")


def inspector_finds_race(build, file, grid, block):
    command = [build / "ferry", "inspect", file, "--kernel", "k", "--grid", grid, "--block", block, "--arg", "*=[65536]", "--arg", "m=3", "--no-proof",
               "--quiet", "--no-registers", "--json", "-"]
    said = subprocess.run([str(word) for word in command], capture_output=True, text=True).stdout
    return '"type": "finding", "kind": "race' in said and '"kind": "bounds' not in said


def main():
    build, seed, count = Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])
    shapes = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    tally = {"proved": 0, "race": 0, "not": 0}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for n in range(seed, seed + count):
            file = Path(folder) / "kernel.cu"
            file.write_text(Kernel(n).source())
            command = [build / "prove-races", file, "--kernel", "k", "--time", "2000"]
            said = subprocess.run([str(word) for word in command], capture_output=True, text=True).stdout
            tally[said.split()[0]] += 1
            if said.startswith("proved") and any(inspector_finds_race(build, file, *shape) for shape in LAUNCHES[:shapes]):
                wrong += 1
                print(f"a wrong proof: seed {n}: {file.read_text()}")
            if sys.stderr.isatty() or n % 20 == 0:
                print(f"{n - seed + 1} kernels: {tally}", file=sys.stderr)
    print(f"{count} kernels: {tally['proved']} proved, {tally['race']} with a counterexample, {tally['not']} neither; {wrong} proofs are wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
