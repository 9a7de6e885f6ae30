#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect runs kernels as loops over their block's threads where it counts no instructions: what it finds and counts is what it
# finds and counts of the threads one by one (FERRY_SIM_SPLIT=0).
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The report in $work/1.json and $work/0.json, the program's output in $work/1 and $work/0: by loops and by threads
both() { # FILE [ARGUMENTS]
  local split
  for split in 1 0; do
    FERRY_SIM_SPLIT=$split "$ferry" inspect "$1" --no-registers --once --json "$work/$split.json" "${@:2}" >"$work/$split" 2>&1
  done
}
# Findings, and lines that access memory. In which column of its line an index stands is known of threads alone.
told() { # 1|0
  grep -E '"type": "finding"|"requests' "$work/$1.json" | sed 's/ (column [0-9]*)//'
}
same() {
  difference=$(diff <(told 1) <(told 0))
}

for kernel in beyond null_pointer asserts agrees votes asks views sums; do
  both tests/core/inspect/kernels/loops.cu -- $kernel
  same
  result $? "$kernel: what is found and counted" "$difference"
  difference=$(diff <(grep -E '^cuda|thread:' "$work/1") <(grep -E '^cuda|thread:' "$work/0"))
  result $? "$kernel: what the program says" "$difference"
  case $kernel in
  beyond)
    grep -q 'thread 95' "$work/1.json" && ! grep -q column "$work/1.json" && grep -q column "$work/0.json"
    result $? 'one ran as loops, the other thread by thread' "$(grep -h finding "$work"/?.json)"
    ;;
  null_pointer) grep -q 'thread 70' "$work/1.json"; result $? 'the thread of a fault in a loop' "$(head -n 4 "$work/1")" ;;
  asserts) grep -q 'thread: \[71,0,0\]' "$work/1"; result $? 'the thread of an assertion in a loop' "$(head -n 4 "$work/1")" ;;
  esac
done

for file in counts right; do
  both tests/core/inspect/kernels/$file.cu
  same
  result $? "$file.cu: what is found and counted" "$difference"
done

both tests/core/inspect/kernels/loops.cu --kernel none_of_them -- agrees
grep -q 'cudaSuccess' "$work/1"
result $? 'loops of kernels that are left alone' "$(head -n 3 "$work/1")"

# Right kernels, which overflow where their program's own test compiles them with -fwrapv: what they compute is not compared, nor what
# the compiler keeps in a register.
reads_with_python=yes
for seed in 41 '42 warps' '43 places'; do
  # shellcheck disable=SC2086 # a seed and a kind
  if ! python3 tests/programs/draw_kernels.py ${seed% *} 5 ${seed#"${seed% *}"} >"$work/drawn.cu" 2>"$work/said"; then
    result 1 "drawn kernels $seed" "$(head -n 1 "$work/said")"
    continue
  fi
  both "$work/drawn.cu" --nvcc
  wrong=$(grep -h '"type": "finding"' "$work/1.json" "$work/0.json" | grep -v '"kind": "leak"')
  [ -z "$wrong" ] && grep -q '"requests' "$work/1.json" && grep -q '"requests' "$work/0.json"
  result $? "drawn kernels $seed: nothing is found" "$(head -n 3 <<<"$wrong")"
done
finish
