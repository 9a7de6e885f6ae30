#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# against_llmc.sh LLMC [ROUNDS]: compares the training steps of lesson 34's GPT with those of llm.c (github.com/karpathy/llm.c,
# a checkout in the folder LLMC): the same model size, batch and number of threads, float32 on the CPU, in turns. Prints the
# median time of a step of each, and their ratio.
set -eu
cd "$(dirname "$0")/../.."
llmc=$(cd "$1" && pwd)
rounds=${2:-5} steps=5 threads=2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# With the flags of llm.c's Makefile.
gcc -Ofast -march=native -fopenmp -w -I"$llmc" -DTRAIN_GPT2="\"$llmc/train_gpt2.c\"" tests/chapters/against_llmc.c -lm -o "$work/llmc"

median() {
  sed -n 's/^step \([0-9.]*\) ms$/\1/p' "$1" | sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

for _ in $(seq "$rounds"); do
  OMP_NUM_THREADS=$threads "$work/llmc" "$work/checkpoint" $steps >>"$work/theirs"
  OMP_NUM_THREADS=$threads FERRY_CUDA=off "${FERRY_BUILD:-build}/chapters/34_fast_gpt" --time $steps >>"$work/ours"
done
echo "llm.c: median $(median "$work/theirs") ms per step"
echo "Ferry: median $(median "$work/ours") ms per step"
awk -v theirs="$(median "$work/theirs")" -v ours="$(median "$work/ours")" 'BEGIN { printf "llm.c / Ferry: %.1f\n", theirs / ours }'
