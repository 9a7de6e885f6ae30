# SPDX-License-Identifier: MIT
"""Checks plots/torch/stats.py and cases.py by made-up numbers; the first that is wrong ends it with an error."""

import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "plots", "torch"))

import cases  # noqa: E402
import stats  # noqa: E402


def equal(a, b):
    assert abs(a - b) <= 1e-12 * max(abs(a), abs(b)), "%r is not %r" % (a, b)


def check_quantiles():
    equal(stats.median([3, 1, 2]), 2)
    equal(stats.median([4, 1, 2, 3]), 2.5)
    equal(stats.quantile([1, 2, 3, 4], 0.25), 1.75)
    equal(stats.quantile([1, 2, 3, 4], 0.75), 3.25)
    equal(stats.quantile([7], 0.25), 7)


def check_ratios():
    # The machine is three times as slow in the second round, for both: the ratio stays.
    ratio = stats.Ratio([[1, 1, 1], [3, 3, 3], [1, 1, 1]], [[2, 2, 2], [6, 6, 6], [2, 2, 2]])
    equal(ratio.median, 2)
    equal(ratio.q1, 2)
    equal(ratio.q3, 2)
    equal(ratio.ours, 1)
    equal(ratio.theirs, 2)
    # One sample that went wrong does not move a round, and one such round does not move the result.
    ratio = stats.Ratio([[1, 1, 100], [1, 1, 1], [50, 50, 50]], [[4, 4, 4], [4, 4, 4], [4, 4, 4]])
    equal(ratio.median, 4)
    assert ratio.q1 < 4 and ratio.rounds == 3
    for ours, theirs in (([], []), ([[1]], [])):
        try:
            stats.Ratio(ours, theirs)
        except ValueError:
            continue
        raise AssertionError("rounds %r and %r have a ratio" % (ours, theirs))


def check_losses():
    assert stats.same_losses([10, 2.0, 1.5], [10, 2.0001, 1.4999])
    assert not stats.same_losses([10, 2.0, 1.5], [11, 2.0, 1.5])
    assert not stats.same_losses([10, 2.0, 1.5], [10, 2.0, 1.6])
    assert not stats.same_losses([10, 2.0], [10, 2.0, 1.5])


def check_targets():
    case = cases.Case("made_up", 1, "product", 8, 7, of2=(3, 2), avx2=1.1, share=True)
    targets = {(version, level): [case.target(row, version, level) for row in ("default", "two", "tuned")]
               for version in (1, 2) for level in (cases.AVX512, cases.AVX2, "other")}
    assert targets[1, cases.AVX512] == targets[1, cases.AVX2] == [None, 8, 7]
    assert targets[2, cases.AVX512] == [None, 3, 2] and targets[2, cases.AVX2] == [None, 1.1, 1.1]
    assert targets[1, "other"] == targets[2, "other"] == [None, None, None]
    assert case.share_target(cases.AVX2) > case.share_target(cases.AVX512) and case.share_target("other") is None
    assert cases.Case("no_share", 1, "product").share_target(cases.AVX2) is None
    assert cases.level_of("Ferry 0.1.0, AVX2, 2 threads") == cases.AVX2
    assert cases.level_of("Ferry 0.1.0, AVX-512, 16 threads") == cases.AVX512
    assert cases.level_of("Ferry 0.1.0, neither AVX2 nor AVX-512, 2 threads") == "other"


def check_texts():
    assert stats.seconds_text(1.5e-7) == "150 ns" and stats.seconds_text(0.0025) == "2.5 ms"
    assert stats.seconds_text(0.15e-6) == "150 ns" and stats.seconds_text(12) == "12 s"


def check_cores():
    avx512 = ["sse2", "avx2", "fma", "avx512f"]
    assert cases.native_core("Prescott", avx512) == "SkylakeX"
    assert cases.native_core("Haswell", avx512) == "SkylakeX"
    assert cases.native_core("SkylakeX", avx512) is None
    assert cases.native_core("Prescott", ["sse2", "avx2", "fma"]) == "Haswell"
    assert cases.native_core("Zen", ["sse2", "avx2", "fma"]) is None
    assert cases.native_core("ARMV8", ["asimd"]) is None


def check_environments():
    for name in cases.LIMITS:
        os.environ.pop(name, None)
    os.environ.update(OPENBLAS_CORETYPE="Haswell", NVPL_BLAS_X="1", OMP_NUM_THREADS="7", MALLOC_TOP_PAD_="1", OTHER="kept")
    default, two, tuned = cases.ROWS
    assert cases.environment(default, 2, "SkylakeX", True)["OPENBLAS_CORETYPE"] == "Haswell"
    for row in (two, tuned):
        ours, theirs = (cases.environment(row, 2, "SkylakeX", is_torch) for is_torch in (False, True))
        for side in (ours, theirs):
            assert side["OMP_NUM_THREADS"] == "2" and side["OTHER"] == "kept" and "NVPL_BLAS_X" not in side
        assert "OPENBLAS_CORETYPE" not in ours and theirs["OPENBLAS_CORETYPE"] == "SkylakeX"
        assert "MALLOC_TOP_PAD_" not in ours
    assert "MALLOC_TOP_PAD_" not in cases.environment(two, 2, None, True)
    assert cases.environment(tuned, 2, None, True)["MALLOC_TOP_PAD_"] == "2000000000"
    for row in cases.ROWS:
        for name, value in cases.LIMITS.items():
            assert cases.environment(row, 2, None, True, True)[name] == value
            assert name not in cases.environment(row, 2, None, True)


def check_names():
    """Every case is a benchmark of Ferry's, and one of PyTorch's side."""
    bench = os.path.join(ROOT, os.environ.get("FERRY_BUILD", "build"), "plots", "bench", "bench")
    listed = subprocess.run([bench, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    ours = {line.split()[0] for line in listed.splitlines()[1:]}
    with open(os.path.join(ROOT, "plots", "torch", "worker.py")) as file:
        worker = file.read()
    named = {c.name for c in cases.CASES} | {name for name, _ in cases.BUSY + cases.MEMORY + cases.CHECKS}
    for name in named:
        assert name in ours, "%s is no benchmark" % name
        # The worker makes each training's autocast case of it, and the cases in benchmark mode of those without.
        model = name.replace("autocast_", "train_").replace("benchmark_cnn", "train_cnn").replace("benchmark_", "")
        assert '"%s":' % model in worker, "%s is not in worker.py" % name


check_quantiles()
check_ratios()
check_losses()
check_texts()
check_targets()
check_cores()
check_environments()
check_names()
