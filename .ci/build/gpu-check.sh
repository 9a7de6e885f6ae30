#!/bin/sh
# gpu-check.sh MAKE BUILD: on a machine with an NVIDIA GPU, everything that a GPU can show: the whole test suite on
# the real runtime, compute-sanitizer over the tests of the ops, the chapters, the benchmarks. Exits 2 where there is no GPU.
set -u
make=$1
build=$2
failed=

if ! gpus=$(nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version --format=csv,noheader 2>/dev/null) ||
  [ -z "$gpus" ]; then
  echo 'gpu-check: no NVIDIA GPU here (nvidia-smi finds none), so there is nothing to check.' >&2
  echo 'make test runs the same tests on simulated devices.' >&2
  exit 2
fi
printf 'GPU: %s\n' "$gpus"

step() {
  printf '\n== %s\n\n' "$1"
}

fail() {
  printf '\ngpu-check: %s FAILED\n' "$1" >&2
  failed="$failed
  $1"
}

step 'set-up and build'
if ! { $make cuda-arch && $make setup && $make all && $make cuda-check; }; then
  echo 'gpu-check: the build failed' >&2
  exit 1
fi
export FERRY_CUDA=real

step 'tests on the real runtime'
tests/run.sh --build "$build" || fail 'the tests'

step 'CUDA tests without the library, on the real runtime'
for program in $(find build/cuda/tests -type f -name 'test_*' ! -name '*.*' 2>/dev/null); do
  if timeout 300 "$program"; then
    echo "ok   $program"
  else
    fail "$program (status $?)"
  fi
done

sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null)
if [ -n "$sanitizer" ]; then
  step 'compute-sanitizer memcheck over the tests of the ops'
  TEST_UNDER="$sanitizer --tool memcheck --error-exitcode 99 --leak-check no" TEST_TIMEOUT=${TEST_TIMEOUT:-900} \
    tests/run.sh --build "$build" 'core/op/' || fail 'compute-sanitizer'
else
  step 'compute-sanitizer is not here: left out'
fi

step 'chapters'
.ci/build/chapters.sh "$build" --device cuda || fail 'the chapters'

if [ -x ./ferry ] && ./ferry bench --help >/dev/null 2>&1; then
  step 'benchmarks'
  ./ferry bench --device cuda || fail 'the benchmarks'
fi

if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1; then
  step 'PyTorch on the same GPU'
  plots/torch/compare.sh --build "$build" --device cuda || fail 'the comparison with PyTorch'
else
  step 'python3 has no PyTorch for this GPU: the comparison is left out'
fi

if [ -n "$failed" ]; then
  printf '\ngpu-check failed:%s\n' "$failed" >&2
  exit 1
fi
printf '\ngpu-check passed.\n'
