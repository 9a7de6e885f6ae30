# SPDX-License-Identifier: MIT
"""Cycles of a load in the L1 cache: gpu-benches' measurements of access patterns, and the model's."""
import json
import os
import re
import subprocess

FILES = {"a100": "a100", "a40": "a40", "h200": "h200"}  # the GPU, the file in gpu-strides/
PITCH = 4098

# One warp's patterns are those of gpu-strides: a lane's element is STRIDE further than its neighbor's, or lanes are WIDTH beside each
# other in rows of PITCH. Each thread loads eight times.
PROGRAM = """#include <cuda_runtime.h>
template <typename T> __device__ T eight(const T *a) {{
  return a[0] + a[4] + a[8] + a[12] + a[16] + a[20] + a[24] + a[28];
}}
template <typename T, int STRIDE> __global__ void strided(T *out, const T *a) {{
  out[threadIdx.x] = eight(a + threadIdx.x % 64 * STRIDE);
}}
template <typename T, int WIDTH> __global__ void blocked(T *out, const T *a) {{
  out[threadIdx.x] = eight(a + threadIdx.x % WIDTH + threadIdx.x / WIDTH % 32 * {pitch} + {pitch});
}}
template <typename T> void run(void *out, void *a) {{
{launches}
}}
int main() {{
  void *out, *a;
  cudaMalloc(&out, 1 << 20);
  cudaMalloc(&a, 1 << 21);
  cudaMemset(a, 0, 1 << 21);
  run<float>(out, a);
  run<double>(out, a);
  cudaDeviceSynchronize();
  cudaFree(out);
  cudaFree(a);
}}
"""
PATTERN = re.compile(r"^(float|double) (stride|block)\s+(\d+)\s+\d+\s+([\d.]+)")


def patterns(text):
    """{(type, kind, number): measured cycles of a load}"""
    found = (PATTERN.match(line) for line in text.splitlines())
    return {(m.group(1), m.group(2), int(m.group(3))): float(m.group(4)) for m in found if m}


def counts(ferry, folder, wanted):
    """The model's counts of each pattern."""
    of_float = [(kind, number) for of, kind, number in sorted(wanted) if of == "float"]
    launches = "\n".join("  %s<T, %d><<<1, 1024>>>((T *)out, (const T *)a);" % ("strided" if kind == "stride" else "blocked", number)
                         for kind, number in of_float)
    path, report = os.path.join(folder, "strides.cu"), os.path.join(folder, "report")
    with open(path, "w") as file:
        file.write(PROGRAM.format(pitch=PITCH, launches=launches))
    subprocess.run([ferry, "inspect", path, "--once", "--no-registers", "--gpu", "a100", "--json", report], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    result = {}
    with open(report) as file:
        for row in map(json.loads, file):
            name = re.match(r"(strided|blocked)<(float|double), (\d+)>", row.get("kernel", "")) if row["type"] == "model_counts" else None
            if name:
                key = name.group(2), "stride" if name.group(1) == "strided" else "block", int(name.group(3))
                result[key] = row
    return result


# ---- latencies -------------------------------------------------------------------------------------------------------

CHASES = {"a100": "a100_40", "a100-80gb": "a100_80", "h100-pcie": "h100_pcie", "l40": "l40", "v100": "v100"}
LEVELS = [("L1 cache", 16), ("L2 cache", 2048), ("device memory", 1 << 30)]  # KiB of the working set; the last: the largest there is


def chase(text):
    """[(KiB, nanoseconds)] of dependent loads."""
    rows = [line.split() for line in text.splitlines() if line.startswith("  ")]
    return [(float(row[2]), 1000 * float(row[4]) / float(row[1])) for row in rows]


def chase_requests(gpu, level):
    """Two kernels of one warp, whose times differ by 1000 loads that wait for each other."""
    missing = 0 if level == "L1 cache" else 1e8
    beyond = 32 * missing if level == "device memory" else 0
    return ["%s kernel blocks=1 threads=32 loads=1 load_sectors=1e8 l1_misses=%g dram_reads=%g ways=%d" % (gpu, missing, beyond, ways)
            for ways in (1000, 2000)]
