# SPDX-License-Identifier: MIT
"""Search spaces of autotuners: published times of a kernel's configurations, and the counts of each (docs/dev/model_measured.md)."""
import hashlib
import json
import math
import os
import random
import re
import subprocess
import tempfile

from checkouts import stored  # in tests/support

SEED = 20261130

CONVOLUTION = """#include <cuda_runtime.h>
int main() {{
  float *out, *in;
  cudaMalloc(&out, 4096L * 4096 * 4);
  cudaMalloc(&in, 4200L * 4200 * 4);
  cudaMemset(in, 0, 4200L * 4200 * 4);
  convolution_kernel<<<dim3({across}, {down}), dim3({x}, {y})>>>(out, in, in);
  cudaDeviceSynchronize();
  cudaFree(out);
  cudaFree(in);
}}
"""
# The shifts are those of dispersed radio signals, as in the autotuner's script.
DEDISPERSION = """#include <cuda_runtime.h>
#include <vector>
int main() {{
  std::vector<float> delays(nr_channels);
  const double top = 1425.0 + (nr_channels - 1) * 0.1953125, turn = nr_samples * 0.00004096;
  for (int i = 0; i < nr_channels; i++) {{
    const double f = 1425.0 + i * 0.1953125;
    delays[i] = i + 1 < nr_channels ? (float)(4148.808 * (1 / (f * f) - 1 / (top * top)) * nr_samples / turn) : 0;
  }}
  unsigned char *in;
  float *out, *shifts;
  cudaMalloc(&in, (long)nr_channels * nr_samples_per_channel);
  cudaMalloc(&out, (long)nr_dms * nr_samples * 4);
  cudaMalloc(&shifts, nr_channels * 4);
  cudaMemset(in, 0, (long)nr_channels * nr_samples_per_channel);
  cudaMemcpy(shifts, delays.data(), nr_channels * 4, cudaMemcpyHostToDevice);
  dedispersion_kernel<<<dim3({across}, {down}), dim3({x}, {y})>>>(in, out, shifts);
  cudaDeviceSynchronize();
  cudaFree(in);
  cudaFree(out);
  cudaFree(shifts);
}}
"""
# Normally distributed points; a polygon whose vertices are on the unit circle.
POLYGON = """#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>
int main() {{
  const int n = {blocks} * {x} * {tile};
  std::mt19937 chance(1);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> angle(0, 6.2831853f);
  std::vector<float2> points(n), vertices(VERTICES);
  std::vector<float> angles(VERTICES), slopes(VERTICES);
  for (float2 &p : points)
    p = make_float2(normal(chance), normal(chance));
  for (float &a : angles)
    a = angle(chance);
  std::sort(angles.rbegin(), angles.rend());
  for (int i = 0; i < VERTICES; i++)
    vertices[i] = make_float2(std::cos(angles[i]), std::sin(angles[i]));
  for (int i = 0; i < VERTICES; i++) {{
    const float2 a = vertices[i], b = vertices[(i + VERTICES - 1) % VERTICES];
    slopes[i] = (b.x - a.x) / (b.y - a.y);
  }}
  int *inside;
  float2 *on_device;
  cudaMalloc(&inside, n * sizeof *inside);
  cudaMalloc(&on_device, n * sizeof *on_device);
  cudaMemcpy(on_device, points.data(), n * sizeof *on_device, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(d_vertices, vertices.data(), VERTICES * sizeof(float2));
  cudaMemcpyToSymbol(d_slopes, slopes.data(), VERTICES * sizeof(float));
  cn_pnpoly<<<{blocks}, {x}>>>(inside, on_device, n);
  cudaDeviceSynchronize();
  cudaFree(inside);
  cudaFree(on_device);
}}
"""


def rounds(n, each):
    return (n + each - 1) // each


class Kernel:
    """A kernel with search spaces: what holds unless it says otherwise."""

    @staticmethod
    def usable(_):
        return True

    @staticmethod
    def outputs(_):
        return 1

    @staticmethod
    def is_as_published(*_):
        return True


class Convolution(Kernel):
    name = "convolution"
    drawn, compared = 64, {"development": 12, "sealed": 16}
    source = "kernels/convolution_milo.cu"
    headers = []
    spaces = {
        "a100": "cachefiles/convolution_milo/A100.json.gz",
        "a4000": "cachefiles/convolution_milo/A4000.json.gz",
        "a6000": "cachefiles/convolution_milo/A6000.json.gz",
        "rtx2080ti": "currently_unused/cachefiles/convolution/RTX_2080_Ti.json.gz",
        "rtx3090": "currently_unused/cachefiles/convolution/RTX_3090.json.gz",
        "rtx3060-laptop": "currently_unused/cachefiles/KernelTuner data/convolution/RTX_3060_laptop.json.gz",
    }
    keys = ["block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "read_only", "use_padding"]

    @staticmethod
    def usable(row):  # the published source has no variant without shared memory
        return row.get("use_shmem", 1) == 1

    @staticmethod
    def outputs(configuration):  # of a thread; g++ takes minutes for many
        return configuration[2] * configuration[3]

    @staticmethod
    def is_as_published(gpu, configuration):  # the times in these files are the same with and without padding
        return not (Convolution.spaces[gpu].startswith("currently_unused") and configuration[5] == 1)

    @staticmethod
    def program(p):
        macros = dict(p, filter_height=15, filter_width=15)
        return macros, CONVOLUTION.format(x=p["block_size_x"], y=p["block_size_y"], across=3, down=2)

    @staticmethod
    def whole(p, counts):
        """The counts of the whole launch."""
        blocks = rounds(4096, p["block_size_x"] * p["tile_size_x"]) * rounds(4096, p["block_size_y"] * p["tile_size_y"])
        return scaled(counts, blocks / counts["blocks"], blocks, 4110 * 4110 * 4, 4096 * 4096 * 4)


class Dedispersion(Kernel):
    name = "dedispersion"
    drawn, compared = 80, {"development": 42, "sealed": 17}
    source = "kernels/dedisp_milo/dedispersion.cu"
    headers = ["kernels/dedisp_milo/dedispersion.h"]
    spaces = {gpu: "cachefiles/dedispersion_milo/%s.json.gz" % gpu.upper() for gpu in ["a100", "a4000", "a6000"]}
    keys = ["block_size_x", "block_size_y", "block_size_z", "tile_size_x", "tile_size_y", "tile_stride_x", "tile_stride_y",
            "loop_unroll_factor_channel"]

    @staticmethod
    def launched(p):
        outputs = p["block_size_x"] * p["tile_size_x"] * p["block_size_y"] * p["tile_size_y"]
        return (2 if outputs < 4000 else 1), 1

    @staticmethod
    def program(p):
        across, down = Dedispersion.launched(p)
        return p, DEDISPERSION.format(x=p["block_size_x"], y=p["block_size_y"], across=across, down=down)

    @staticmethod
    def whole(p, counts):
        wide, high = p["block_size_x"] * p["tile_size_x"], p["block_size_y"] * p["tile_size_y"]
        across, down = Dedispersion.launched(p)
        more = 25000 * 2048 / (across * wide * min(2048, down * high))
        return scaled(counts, more, rounds(25000, wide) * rounds(2048, high), 1536 * 25650 + 1536 * 4, 25000 * 2048 * 4)


class Polygon(Kernel):
    name = "point in polygon"
    drawn, compared = 80, {"development": 40, "sealed": 26}
    source = "currently_unused/kernels/pnpoly.cu"
    headers = []
    spaces = {
        "rtx2080ti": "currently_unused/cachefiles/pnpoly/RTX_2080_Ti.json.gz",
        "rtx3090": "currently_unused/cachefiles/pnpoly/RTX_3090.json.gz",
        "rtx3060-laptop": "currently_unused/cachefiles/KernelTuner data/pnpoly/RTX_3060_laptop.json.gz",
    }
    keys = ["between_method", "block_size_x", "tile_size", "use_method"]

    @staticmethod
    def launched(p):
        return max(1, 3000 // (p["block_size_x"] * p["tile_size"]))

    @staticmethod
    def program(p):
        return p, POLYGON.format(blocks=Polygon.launched(p), x=p["block_size_x"], tile=p["tile_size"])

    @staticmethod
    def whole(p, counts):
        each = p["block_size_x"] * p["tile_size"]
        return scaled(counts, 2e7 / (Polygon.launched(p) * each), rounds(20000000, each), 2e7 * 8, 2e7 * 4)


KERNELS = [Dedispersion, Polygon, Convolution]
OF_A_BLOCK = ["threads", "shared_bytes", "registers", "ways"]


def scaled(counts, more, blocks, read, written):
    """Of the whole launch, which moves each input and each output once."""
    all_blocks = {name: count if name in OF_A_BLOCK else count * more for name, count in counts.items()}
    all_blocks.update(blocks=blocks, dram_reads=read, dram_writes=written)
    return all_blocks


def measured(folder, kernel, gpu):
    """Microseconds of each configuration that ran."""
    text = stored(folder, kernel.spaces[gpu]).rstrip().rstrip(",")
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        data = json.loads(text + "}}")  # a file to which the autotuner may append
    times = {}
    for row in data["cache"].values():
        if isinstance(row["time"], (int, float)) and 0 < row["time"] < 1e10 and kernel.usable(row):
            times[tuple(row[key] for key in kernel.keys)] = 1000 * row["time"]
    return times


def is_sealed(kernel, configuration):
    text = "%s:%s" % (kernel.name, ",".join(map(str, configuration)))
    return hashlib.sha256(text.encode()).hexdigest()[0] >= "8"


def drawn(kernel, times, sealed):
    """A half of the sample, as far as it is compared: few outputs first. `times`: of each GPU."""
    common = sorted(set.intersection(*(set(of_gpu) for of_gpu in times.values())))
    sample = random.Random(SEED).sample(common, min(kernel.drawn, len(common)))
    half = sorted((c for c in sample if is_sealed(kernel, c) == sealed), key=kernel.outputs)
    return half[:kernel.compared["sealed" if sealed else "development"]]


def inspected(ferry, folder, hub, kernel, configuration):
    """The counts of the inspected blocks; None: it could not be inspected."""
    p = dict(zip(kernel.keys, configuration))
    macros, main = kernel.program(p)
    path, report = os.path.join(folder, "kernel.cu"), os.path.join(folder, "report")
    source = re.sub(r"#pragma unroll loop_unroll_factor_\w+", "", stored(hub, kernel.source))  # as the autotuner does for the value 0
    with open(path, "w") as file:
        file.write("".join("#define %s %s\n" % m for m in macros.items()) + source + "\n" + main)
    for header in kernel.headers:
        with open(os.path.join(folder, os.path.basename(header)), "w") as file:
            file.write(stored(hub, header))
    if os.path.exists(report):
        os.remove(report)
    subprocess.run([ferry, "inspect", path, "--once", "--no-registers", "--gpu", "a100", "--json", report], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(report):
        return None
    with open(report) as file:
        rows = [json.loads(line) for line in file]
    return next({name: r[name] for name in r if name not in ("type", "kernel")} for r in rows if r["type"] == "model_counts")


def registers(nvcc, folder, architecture):
    """Of the kernel that was inspected last: registers, and bytes of local memory, of a thread; 0 without nvcc."""
    if not nvcc:
        return 0, 0
    run = subprocess.run([nvcc, "-std=c++17", "-O2", "-w", "-arch=" + architecture, "-Xptxas", "-v", "-cubin", "-o", os.path.join(folder, "cubin"),
                          os.path.join(folder, "kernel.cu")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = run.stdout.decode()
    found = re.search(r"\d+convolution_kernel|dedispersion_kernel|\d+cn_pnpoly\w*(?<!naive)P", said)
    used = re.search(r"Used (\d+) registers", said[found.start():] if found else "")
    local = re.search(r"(\d+) bytes stack frame", said[found.start():] if found else "")
    return int(used.group(1)) if used else 0, int(local.group(1)) if local else 0


# ---- statistics ------------------------------------------------------------------------------------------------------


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    result, first = [0.0] * len(values), 0
    while first < len(order):
        end = first
        while end < len(order) and values[order[end]] == values[order[first]]:
            end += 1
        for i in range(first, end):
            result[order[i]] = (first + end - 1) / 2
        first = end
    return result


def correlation(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    both = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return both / math.sqrt(sum((a - mean_x)**2 for a in x) * sum((b - mean_y)**2 for b in y))


def spearman(x, y):
    return correlation(ranks(x), ranks(y))


def geometric(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def error(ratios):
    return geometric([max(r, 1 / r) for r in ratios])


def best_of(modeled, times):
    return times[min(range(len(modeled)), key=lambda i: modeled[i])] / min(times)
