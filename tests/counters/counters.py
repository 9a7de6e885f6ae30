#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the inspector's counts with hardware counters that autotuners published (docs/dev/counters_measured.md).

The launches are those of three kernels on an RTX 2080 Ti: a 15 x 15 convolution and a point-in-polygon test (benchmark_hub), and a
Coulomb sum (KTT). Their files have NVIDIA's counters for each configuration. A sample of them is drawn with SEED; each is compiled
from the unaltered kernel with its parameters as macros, inspected for a few blocks, and scaled to the grid of the file.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from checkouts import stored  # noqa: E402

SEED = 20261129  # of the sample for development; nothing was fitted to another one
DEVELOPMENT = 200
GPU = "rtx2080super"  # the Turing GPU in the table that is nearest

# Of a line of the report: requests, and units per request.
LINE = "requests_{0}_{1}", "{0}_{1}"

COUNTERS = {
    "global load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "shared load wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared store wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "L2 read sectors": "lts__t_sectors_op_read.sum",
    "L2 write sectors": "lts__t_sectors_op_write.sum",
    "float32 thread instructions": "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "integer thread instructions": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "control thread instructions": "smsp__sass_thread_inst_executed_op_control_pred_on.sum",
    "warp instructions": "smsp__inst_executed.sum",
}

CONVOLUTION = """#include <cuda_runtime.h>
int main() {{
  float *out, *in;
  cudaMalloc(&out, 4096L * 4096 * 4);
  cudaMalloc(&in, 4200L * 4200 * 4);
  cudaMemset(in, 0, 4200L * 4200 * 4);
  convolution_kernel<<<dim3(3, 2), dim3({x}, {y})>>>(out, in, in);
  cudaDeviceSynchronize();
  cudaFree(out);
  cudaFree(in);
}}
"""
POLYGON = """#include <cuda_runtime.h>
int main() {{
  int n = {blocks} * {x} * {tile}, *inside;
  float2 *points;
  cudaMalloc(&inside, n * 4);
  cudaMalloc(&points, n * 8);
  cudaMemset(points, 0, n * 8);
  cn_pnpoly<<<{blocks}, {x}>>>(inside, points, n);
  cudaDeviceSynchronize();
  cudaFree(inside);
  cudaFree(points);
}}
"""
COULOMB = """#include <cuda_runtime.h>
int main() {{
  float *grid, *a;
  cudaMalloc(&grid, 256L * 256 * 256 * 4);
  cudaMalloc(&a, 4096 * 4);
  cudaMemset(grid, 0, 256L * 256 * 256 * 4);
  cudaMemset(a, 1, 4096 * 4);
  directCoulombSum<<<dim3(2, 2, 2), dim3({x}, {y})>>>((float4 *)a, a, a + 1024, a + 2048, a + 3072, 64, 0.5f, 256, grid);
  cudaDeviceSynchronize();
  cudaFree(grid);
  cudaFree(a);
}}
"""


def convolution(p):
    macros = {"block_size_x": p["BLOCK_SIZE_X"], "block_size_y": p["BLOCK_SIZE_Y"], "tile_size_x": p["TILE_SIZE_X"],
              "tile_size_y": p["TILE_SIZE_Y"], "read_only": p.get("READ_ONLY", 0), "filter_height": 15, "filter_width": 15,
              "use_padding": 0}  # the file's PADDING has no effect
    return macros, CONVOLUTION.format(x=p["BLOCK_SIZE_X"], y=p["BLOCK_SIZE_Y"]), 6


def polygon(p):
    macros = {"block_size_x": p["BLOCK_SIZE_X"], "tile_size": p["TILE_SIZE"], "between_method": p["BETWEEN_METHOD"],
              "use_method": p["USE_METHOD"]}
    blocks = max(1, 1500 // (p["BLOCK_SIZE_X"] * p["TILE_SIZE"]))
    return macros, POLYGON.format(blocks=blocks, x=p["BLOCK_SIZE_X"], tile=p["TILE_SIZE"]), blocks


def coulomb(p):
    return p, COULOMB.format(x=p["WORK_GROUP_SIZE_X"], y=p["WORK_GROUP_SIZE_Y"]), 8


# Name, repository, kernel, counters, how to launch it.
KERNELS = [
    ("convolution", "hub", "currently_unused/kernels/convolution.cu",
     "currently_unused/cachefiles/KTT data/KTConvolutionOutput_2080Ti.json.gz", convolution),
    ("point in polygon", "hub", "currently_unused/kernels/pnpoly.cu",
     "currently_unused/cachefiles/KTT data/KTPnpolyOutput_2080Ti.json.gz", polygon),
    ("Coulomb sum", "ktt", "Examples/CoulombSum3d/CoulombSum3d.cu", "Examples/CoulombSum3d/coulomb_2080_full_search_space.json", coulomb),
]


def launches(folders):
    """All published launches: (kernel, parameters, blocks, counters)."""
    for kernel in KERNELS:
        for result in json.loads(stored(folders[kernel[1]], kernel[3]))["Results"]:
            if result.get("Status") != "Ok":
                continue
            parameters = {c["Name"]: c["Value"] for c in result["Configuration"]}
            outputs = parameters.get("TILE_SIZE_X", 1) * parameters.get("TILE_SIZE_Y", 1)
            if kernel[0] == "convolution" and outputs > 12:
                continue  # minutes of g++'s time
            run = result["ComputationResults"][0]
            counters = {c["Name"]: c["Value"] for c in run["ProfilingData"]["Counters"]}
            grid = run["GlobalSize"]
            yield kernel, parameters, grid["X"] * grid["Y"] * grid["Z"], counters


def drawn(folders, seed, count):
    """Of each kernel about as many."""
    by_kernel = {}
    for launch in launches(folders):
        by_kernel.setdefault(launch[0][0], []).append(launch)
    chance, sample = random.Random(seed), []
    for n, name in enumerate(sorted(by_kernel)):
        share = count // len(by_kernel) + (n < count % len(by_kernel))
        sample += chance.sample(by_kernel[name], min(share, len(by_kernel[name])))
    return sample


def counted(ferry, folder, source, kernel, parameters, blocks):
    """The inspector's counts, scaled to so many blocks; {}: it could not be inspected."""
    macros, main, launched = kernel[4](parameters)
    path, report = os.path.join(folder, "kernel.cu"), os.path.join(folder, "report")
    with open(path, "w") as file:
        file.write("".join("#define %s %s\n" % m for m in macros.items()) + source + "\n" + main)
    if os.path.exists(report):
        os.remove(report)
    subprocess.run([ferry, "inspect", path, "--once", "--no-registers", "--gpu", GPU, "--json", report],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(report):
        return {}
    with open(report) as file:
        rows = [json.loads(line) for line in file]
    of_kernel = next(r for r in rows if r["type"] == "kernel")

    def lines(what, kind, units=True):
        requests, each = (key.format(what, kind) for key in LINE)
        return sum(r.get(requests, 0) * (r.get(each, 0) if units else 1) for r in rows if r["type"] == "line")

    counts = {
        "global load requests": lines("sectors", "load", False),
        "shared load wavefronts": lines("wavefronts", "load"),
        "shared store wavefronts": lines("wavefronts", "store"),
        "L2 read sectors": of_kernel["l2_sectors_read"],
        "L2 write sectors": lines("sectors", "store"),
        "float32 thread instructions": of_kernel["fp32"],
        "integer thread instructions": of_kernel["integer"],
        "control thread instructions": of_kernel["control"],
        "warp instructions": of_kernel["warp_instructions"],
    }
    return {name: count * blocks / launched for name, count in counts.items()}


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--benchmark-hub", required=True, metavar="DIR", help="AutoTuningAssociation/benchmark_hub, a clone or bare")
    parser.add_argument("--ktt", required=True, metavar="DIR", help="HiPerCoRe/KTT, likewise")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--launches", type=int, default=DEVELOPMENT)
    parser.add_argument("--rows", metavar="FILE", help="write a row for each launch and counter")
    options = parser.parse_args()
    folders = {"hub": options.benchmark_hub, "ktt": options.ktt}
    ferry = os.path.join(os.environ.get("FERRY_BUILD", "build"), "ferry")
    ratios, rows, failed = {}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        sample = drawn(folders, options.seed, options.launches)
        for n, (kernel, parameters, blocks, hardware) in enumerate(sample):
            counts = counted(ferry, folder, stored(folders[kernel[1]], kernel[2]), kernel, parameters, blocks)
            failed += not counts
            for name, count in counts.items():
                measured = hardware[COUNTERS[name]]
                rows.append((kernel[0], parameters, name, measured, count))
                if count > 0 and measured > 0:
                    ratios.setdefault((kernel[0], name), []).append(count / measured)
            print("\r%d of %d" % (n + 1, len(sample)), end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if options.rows:
        with open(options.rows, "w") as file:
            for row in rows:
                file.write("\t".join(str(field) for field in row) + "\n")
    print("| kernel | counter | launches | error, median | 95 % | bias |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for (kernel, name), values in ratios.items():
        errors = [abs(math.log(v)) for v in values]
        print("| %s | %s | %d | x%.2f | x%.2f | %.2f |" % (
            kernel, name, len(values), math.exp(percentile(errors, 0.5)), math.exp(percentile(errors, 0.95)),
            math.exp(sum(math.log(v) for v in values) / len(values))))
    print("\n%d launches, seed %d; %d could not be inspected" % (len(sample), options.seed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
