#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every chapter on kernels (chapters/*.cu), with --quick, on simulated devices, in each order of a block's threads, on a device that
# plays a GPU, and as nvcc built it on a real GPU where there is one: it exits with 0 and prints its essential lines. What each has
# to print stands in its source, a line `// prints: EXTENDED-REGULAR-EXPRESSION` for each.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=1
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_ORDER=descending
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_GPU=a100
# run: FERRY_CUDA=real
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
subject='chapters on kernels'
. tests/chapters/common.sh
if [ "$runtime" = real ]; then
  programs=build/cuda/chapters
fi

prints() { # SOURCE
  local line lines=0
  while IFS= read -r line; do
    has "$line"
    lines=$((lines + 1))
  done < <(sed -n 's,^// prints: ,,p' "$1")
  [ $lines -gt 0 ] || echo "not ok $chapter has something to print - no line '// prints: ' in $1"
}

refuses() { # WHAT ARGUMENT...
  run "$name" "${@:2}"
  if [ "$status" = 2 ] && grep -q -- "$1" "$work/err"; then
    echo "ok $name refuses ${*:2}"
  else
    echo "not ok $name refuses ${*:2} - status $status: $(head -n 1 "$work/err")"
  fi
}

for source in chapters/[0-9]*.cu; do
  name=$(basename "$source" .cu)
  if [ ! -x "$programs/$name" ]; then
    echo "not ok $name is built - there is no $programs/$name"
    continue
  fi
  if [ "$name" = 20_the_first_kernel ] && [ -n "${ASAN_OPTIONS:-}" ]; then
    echo "ok $name # SKIP the undefined-behavior sanitizer ends it at its null pointer"
    continue
  fi
  run "$name" --quick
  ends_well
  has '^device: cuda:0, '
  case $runtime/${FERRY_SIM_GPU:-} in
  real/*) has ', a real GPU$' ;;
  */a100) has ', times are modeled, not measured$' ;;
  *)
    has ', simulated: it has no times of a GPU$'
    hasnt '[0-9] (us|ms|GB/s)'
    ;;
  esac
  prints "$source"
  run "$name" --help
  has '^usage: '
  refuses 'unknown argument' --fast
  refuses 'number of a device' --device cuda:9
  refuses 'number of a device' --device tpu
done
