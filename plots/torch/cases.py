# SPDX-License-Identifier: MIT
"""What is compared, and what Ferry is to reach: the cases, and PyTorch's settings they are measured against."""

import glob
import os


# The class of a processor: the instructions that Ferry's code uses, as plots/bench/worker.c says it. What the shares of the ceiling
# of multiply-adds are to be there.
AVX512, AVX2 = "AVX-512", "AVX2"
SHARES = {AVX512: 0.9, AVX2: 0.95}

# What keeps PyTorch, oneDNN, MKL and NumPy to the instructions of AVX2 on a processor that has more.
LIMITS = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


class Case:
    """A benchmark by its name in plots/bench/table.c, which plots/torch/worker.py has, too."""

    def __init__(self, name, size, group, two=1.0, tuned=1.0, of2=None, avx2=None, share=False, rounds=5, least=3, rows=None,
                 quick=True):
        self.name, self.size, self.group = name, size, group
        # PyTorch's time over Ferry's, at least; None for no target. PyTorch 2 is faster than 1, so it has its own.
        self.old = {"two": two, "tuned": tuned}
        self.new = dict(zip(("two", "tuned"), of2)) if of2 else self.old
        self.avx2 = {"two": avx2, "tuned": avx2} if avx2 else self.new  # with code for AVX2, and PyTorch 2
        self.share = share  # of what the processor's multiply-adds can do: what no ratio can pass, with PyTorch 2
        self.rounds, self.least = rounds, least
        self.rows = rows  # the settings it is measured against; None for all
        self.quick = quick

    def target(self, row_key, torch_version, level=AVX512):
        """None for other levels of instructions than these two, for which no targets were set."""
        if level not in SHARES:
            return None
        return (self.old if torch_version < 2 else self.avx2 if level == AVX2 else self.new).get(row_key)

    def share_target(self, level):
        return SHARES.get(level) if self.share else None


CASES = [
    Case("train_100_50_10", 64, "training", 8, 7, of2=(12, 10)),
    Case("train_784_256_128_10", 64, "training", 4, 2, of2=(3, 2.4)),
    Case("train_784_256_128_10", 256, "training", 2.5, 1.4, of2=(1.7, 1.4)),
    Case("train_1024_2048_2048_10", 256, "training", of2=(1, 1), avx2=1.1),
    Case("autocast_1024_2048_2048_10", 256, "training", of2=(1.5, 1.5)),
    Case("train_cnn_001", 256, "training", 4, 2, of2=(1, 1), share=True),
    Case("autocast_cnn_001", 256, "training", of2=(1.5, 1.5)),
    Case("train_cnn_002", 128, "training", 3.5, 1.6, of2=(1, 1), share=True),
    # With fy_backends_set_benchmark; on a CPU PyTorch has no such switch.
    Case("benchmark_cnn_001", 256, "training", share=True),
    Case("benchmark_cnn_002", 128, "training", share=True),
    # An epoch in 6 s where PyTorch takes 16. Twenty steps stand for its 235.
    Case("train_fashion", 20, "training", 16 / 6, None, rounds=2, least=1, rows=("two", "tuned"), quick=False),
    Case("matmul", 64, "product"),
    Case("matmul", 256, "product", avx2=1.05),
    Case("matmul", 512, "product", avx2=1.05),
    Case("matmul", 1000, "product", avx2=1.05),
    Case("matmul", 2048, "product", avx2=1.05, rounds=3),
    Case("matmul", 5000, "product", rounds=2, least=1, rows=("two",), quick=False),
    Case("conv_1_32_28", 128, "product"),
    Case("conv_32_64_14", 128, "product", 1.05, 1.05),
    Case("conv_3_32_32", 128, "product"),
    Case("conv_32_64_16", 128, "product", 1.05, 1.05),
    Case("benchmark_conv_32_64_14", 128, "product", 1.05, 1.05),
    Case("benchmark_conv_32_64_16", 128, "product", 1.05, 1.05),
    Case("relu_pool", 256, "product"),
    # 100 ns, 150 ns and 1 us where PyTorch takes 0.86, 1.24 and 9.3 us.
    Case("small_add", 3, "overhead", 8.6, 8.6),
    Case("small_add_graph", 3, "overhead", 8.3, 8.3),
    Case("small_backward", 3, "overhead", 9.3, 9.3),
    Case("add_square", 4096, "elementwise"),
    Case("tanh_square", 4096, "elementwise"),
    Case("relu", 16777216, "elementwise", quick=False),
    Case("exp", 16777216, "elementwise", quick=False),
    Case("gelu", 16777216, "elementwise", quick=False),
    Case("add_", 16777216, "elementwise", avx2=1.05, quick=False),
    Case("sum", 16777216, "reduction", avx2=1.05, quick=False),
    Case("max", 16777216, "reduction", avx2=1.05, quick=False),
    Case("sum_rows", 16777216, "reduction", avx2=1.05, quick=False),
    Case("sum_columns", 16777216, "reduction", quick=False),
    Case("argmax_rows", 16777216, "reduction", quick=False),
    Case("softmax", 4096, "reduction"),
    Case("layer_norm", 2048, "reduction", None, None),
    Case("layer_norm", 16384, "reduction", None, None),
    Case("attention", 64, "product", None, None),
    Case("attention", 256, "product", None, None),
    Case("attention", 1024, "product", None, None, rounds=3),
    Case("transposed", 4096, "reduction"),
    Case("cross_entropy", 8192, "reduction"),
    Case("randn", 10000000, "random"),
    Case("dropout", 10000000, "random"),
    Case("adam_1", 10000000, "optimizer"),
    Case("adam_100", 10000000, "optimizer"),
]

# Traced networks against onnxruntime, on files that Ferry writes: what onnxruntime's time is over Ferry's, at least.
ONNX = [
    ("traced_cnn_001", 1, {AVX512: 1.0, AVX2: 1.1}), ("traced_cnn_001", 256, {AVX512: 1.0, AVX2: 1.0}),
    ("traced_cnn_002", 1, {AVX512: 1.0, AVX2: 1.1}), ("traced_cnn_002", 128, {AVX512: 1.0, AVX2: 1.0}),
    ("traced_784_256_128_10", 1, {AVX512: 1.3, AVX2: 1.3}), ("traced_784_256_128_10", 64, {AVX512: 1.3, AVX2: 1.1}),
]

# Beside one other process that keeps a core busy.
BUSY = [("train_784_256_128_10", 64), ("train_784_256_128_10", 256), ("train_cnn_001", 256), ("train_cnn_002", 128)]

# Peak memory of a process that does nothing else; PyTorch's over Ferry's, at least.
MEMORY = [
    ("train_100_50_10", 64), ("train_784_256_128_10", 64), ("train_cnn_001", 256), ("train_cnn_002", 128),
    ("train_fashion", 10),
]
MEMORY_TARGET = 3.0

# Start, one small operation, end.
START_SECONDS, START_BYTES = 0.020, 10 * 2**20

# The same weights, the same input: three losses each.
CHECKS = [("train_100_50_10", 64), ("train_784_256_128_10", 64), ("train_cnn_001", 16), ("train_cnn_002", 16)]

# Memory that malloc has had once stays with the process.
MALLOC = {
    "MALLOC_TOP_PAD_": "2000000000",
    "MALLOC_MMAP_THRESHOLD_": "8000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
}

# OpenBLAS's names for kernels, weakest first, as far as x86-64 goes.
CORES_AVX512 = ("SkylakeX", "Cooperlake", "SapphireRapids")
CORES_AVX2 = ("Haswell", "Zen", "Excavator") + CORES_AVX512


class Row:
    def __init__(self, key, title, tuned, blas, clean):
        self.key, self.title = key, title
        self.tuned = tuned  # --tuned, and malloc's settings
        self.blas = blas  # which of Debian's builds of OpenBLAS, None for what is there
        self.clean = clean  # fixed threads, and no BLAS settings of the environment


ROWS = [
    Row("default", "as it comes: its own threads, the environment as it is", False, None, False),
    Row("two", "%(threads)d threads, OpenBLAS with kernels for this processor", False, "pthread", True),
    Row("tuned", "tuned: %(threads)d threads, one OpenMP pool, malloc keeps pages, set_to_none, channels_last", True,
        "openmp", True),
]


def environment(row, threads, core, is_torch, limited=False):
    """The environment of one side of a row. `core`: what OPENBLAS_CORETYPE is to be, None to leave it alone. `limited`: to AVX2."""
    result = dict(os.environ, **(LIMITS if limited else {}))
    if not row.clean:
        return result
    for name in list(result):
        if name in LIMITS:
            continue
        if name.startswith(("OPENBLAS_", "NVPL_", "OMP_", "GOMP_", "MKL_", "MALLOC_")):
            del result[name]
    result["OMP_NUM_THREADS"] = str(threads)
    if is_torch and core:
        result["OPENBLAS_CORETYPE"] = core
    folders = glob.glob("/usr/lib/*/openblas-%s" % row.blas) if is_torch else []
    if folders:
        result["LD_LIBRARY_PATH"] = ":".join(filter(None, [folders[0], result.get("LD_LIBRARY_PATH")]))
    if is_torch and row.tuned:
        result.update(MALLOC)
    return result


def level_of(info):
    """The class of a processor by what the worker says: "Ferry 0.1.0, AVX2, 2 threads"."""
    return next((level for level in SHARES if ", %s, " % level in info), "other")


def native_core(reported, flags):
    """What OPENBLAS_CORETYPE should be for a processor with these flags, None where the reported core is as good."""
    if "avx512f" in flags:
        return None if reported in CORES_AVX512 else "SkylakeX"
    if "avx2" in flags and "fma" in flags:
        return None if reported in CORES_AVX2 else "Haswell"
    return None
