#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ./ferry inspect counts of arithmetic: by hand, and against the instructions that nvcc makes, where it is.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
[ "$(uname -m)" = x86_64 ] || skip_all 'arithmetic is counted on x86-64 alone'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/core/inspect/kernels/mix.cu
threads=64
"$ferry" inspect "$source" --gpu a100 --json "$work/json" >"$work/out" 2>&1
result $? 'the kernels are inspected' "$(head -n 3 "$work/out")"

of_kernel() { # KERNEL FIELD: a thread's share
  sed -nE "s/^\{\"type\": \"kernel\", \"kernel\": \"$1\".*\"$2\": ([0-9.]+).*/\1/p" "$work/json" | awk -v t=$threads '{ print $1 / t }'
}
requests() { # KERNEL load|store: of shared memory, by a thread
  grep "\"type\": \"line\", \"kernel\": \"$1\"" "$work/json" | grep -oE "requests_wavefronts_$2\": [0-9]+" |
    awk -v warps=$((threads / 32)) '{ n += $2 } END { print n / warps }'
}

# KERNEL FIELD and what a thread does: 16 steps, of which the first multiplies by 1; 8 products of 4 by 4;
# 16 calls of fmaf and of fma; one subtraction
while read -r kernel field want; do
  got=$(of_kernel "$kernel" "$field")
  [ "$got" = "$want" ]
  result $? "$kernel: $want $field" "counted $got"
done <<'END'
polynomial fma 15
polynomial fp32 16
outer fma 128
outer fp32 128
named fma 16
named fp32 16
named fp64 16
difference fma 0
difference fp32 1
difference fp64 1
END

# 33 threads: an IEEE division each, of eight float32 instructions and a reciprocal; a barrier of two warps
while read -r field want; do
  got=$(sed -nE "s/^\{\"type\": \"model_counts\", \"kernel\": \"quotient\".*\"$field\": ([0-9.]+).*/\1/p" "$work/json")
  [ "$got" = "$want" ]
  result $? "quotient: $want $field" "counted $got"
done <<'END'
barriers 2
special 2
fp32 16
blocks 1
END

nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
if [ -z "$nvcc" ] || ! "$nvcc" -ptx -O3 -arch=sm_80 -o "$work/ptx" "$source" >"$work/nvcc" 2>&1; then
  printf '# SKIP against the PTX: %s\n' "${nvcc:-there is no nvcc}"
else
  in_ptx() { # KERNEL PATTERN: how many instructions
    awk -v begin="\\.entry _Z[0-9]+$1" -v what="$2" '$0 ~ begin { on = 1 } on && $0 ~ what { n++ } /^}/ { on = 0 } END { print n + 0 }' "$work/ptx"
  }
  for kernel in polynomial outer; do
    [ "$(of_kernel $kernel fma)" = "$(in_ptx $kernel 'fma\\.rn\\.f32')" ]
    result $? "$kernel: as many multiply-adds as in the PTX" "$(of_kernel $kernel fma), PTX $(in_ptx $kernel 'fma\\.rn\\.f32')"
    [ "$(requests $kernel load)" = "$(in_ptx $kernel 'ld\\.shared')" ]
    result $? "$kernel: as many loads from shared memory" "$(requests $kernel load), PTX $(in_ptx $kernel 'ld\\.shared')"
  done
  [ "$(requests outer store)" = "$(in_ptx outer 'st\\.shared')" ]
  result $? 'outer: as many stores to shared memory' "$(requests outer store), PTX $(in_ptx outer 'st\\.shared')"
fi
finish
