#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ./ferry inspect --gpu counts of kernels for which nvcc's code, or hardware's counters, are known.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
[ "$(uname -m)" = x86_64 ] || skip_all 'instructions are counted on x86-64 alone'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/core/inspect/kernels/hardware.cu
inspect() { # OPTION...
  "$ferry" inspect "$source" --once --json "$work/json" "$@" >"$work/out" 2>&1
}
of_kernel() { # KERNEL FIELD: as the report has it
  sed -nE "s/^\{\"type\": \"kernel\", \"kernel\": \"$1\".*\"$2\": ([0-9.]+).*/\1/p" "$work/json"
}

# ---- registers ----

nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
if [ -z "$nvcc" ] || ! inspect --gpu t4 --kernel hoards || ! grep -q 'registers (ptxas' "$work/out"; then
  printf '# SKIP registers: %s\n' "${nvcc:-there is no nvcc}"
else
  grep -q 'registers (ptxas, sm_75)' "$work/out"
  result $? "ptxas counts registers for the modeled GPU" "$(grep registers "$work/out")"
  registers=$(of_kernel hoards registers)
  want=$((65536 / ((registers * 32 + 255) / 256 * 256 * 8)))
  [ "$registers" -ge 96 ] && grep -q " $want resident blocks per SM; " "$work/out"
  result $? "they limit the resident blocks of the modeled GPU" "$registers registers: $(grep resident "$work/out")"
  inspect --gpu t4 --kernel hoards --no-registers
  grep -q ' 4 resident blocks per SM, registers not counted' "$work/out"
  result $? "and without them its threads do" "$(grep resident "$work/out")"
  inspect --gpu v100 --kernel hoards
  grep -q 'registers (ptxas, sm_[0-9]*): [0-9]' "$work/out"
  result $? "a GPU that nvcc no longer compiles for has the registers of the oldest" "$(grep registers "$work/out")"
fi

# ---- members of vectors ----

loads() { # KERNEL: requests and sectors of its loads from global memory
  grep "\"type\": \"line\", \"kernel\": \"$1\"" "$work/json" |
    sed -nE 's/.*"sectors_load": ([0-9.]+),.*"requests_sectors_load": ([0-9]+).*/\2 \1/p' | awk '{ n += $1; s += $1 * $2 } END { print n, s }'
}
inspect --gpu a100 --no-registers
while read -r kernel want; do
  [ "$(loads $kernel)" = "$want" ]
  result $? "$kernel: requests and sectors of nvcc's loads" "counted $(loads $kernel), expected $want"
done <<'END'
all_members 1 16
all_members_cast 1 16
members_xy 1 16
members_xz 1 16
members_yzw 2 32
four_elements 4 64
own_struct 4 64
END

# ---- 8 bytes a lane ----

# gpu-benches' gpu-strides measured these wavefronts on A100, A40 and H200.
while read -r kernel want; do
  [ "$(of_kernel $kernel l1_wavefronts_load)" = "$want" ]
  result $? "$kernel: $want wavefronts of a load" "counted $(of_kernel $kernel l1_wavefronts_load)"
done <<'END'
broadcast_float 1
broadcast_double 2
rows_of_4 4
END

# ---- integers and branches ----

per_thread() { # KERNEL FIELD
  of_kernel "$1" "$2" | awk '{ print $1 / 256 }'
}
while read -r kernel field least most; do
  awk -v got="$(per_thread $kernel $field)" -v least="$least" -v most="$most" 'BEGIN { exit !(got >= least && got <= most) }'
  result $? "$kernel: $least to $most $field instructions a thread" "counted $(per_thread $kernel $field)"
done <<'END'
sum_2d integer 22 90
sum_2d fp32 225 225
add integer 4 4
add control 1 1
count_above control 1 1
loop_of_unknown_length control 11 12
loop_of_unknown_length fma 10 10
END

# ---- some blocks for all ----

"$ferry" inspect chapters/kernels/transpose.cu --once --no-registers --gpu a100 --blocks 8 >"$work/out" 2>&1
tr -s '\n ' ' ' <"$work/out" | grep -q 'overstates the reads of device memory'
result $? "extrapolated reads of device memory are said to be overstated" "$(tail -n 3 "$work/out")"
"$ferry" inspect chapters/kernels/transpose.cu --once --no-registers --gpu a100 >"$work/out" 2>&1
! tr -s '\n ' ' ' <"$work/out" | grep -q 'overstates'
result $? "and not where all blocks are instrumented" "$(grep -n overstates "$work/out")"
finish
