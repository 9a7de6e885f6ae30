#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The fuzzer: recorded programs with PyTorch's answers, in Ferry on the CPU and on simulated devices; that they reach every op;
# where a python3 has torch, random programs against it, and that the tool finds, shrinks and prints a made-up defect.
# timeout: 600
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/tap.sh
build=${FERRY_BUILD:-build}
interpreter=$build/tests/fuzz/interpreter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

recorded() { # SETTING DEVICE VARIABLES...
  local setting=$1 device=$2
  shift 2
  env "$@" "$interpreter" --check tests/fuzz/recorded.txt "$device" >"$work/recorded" 2>"$work/errors"
  local status=$?
  [ $status = 0 ] && grep -q '^1\.\.[1-9][0-9]' "$work/recorded"
  result $? "recorded programs, $setting" \
    "status $status: $(cat <(grep -m 3 '^not ok' "$work/recorded") <(tail -n 3 "$work/errors") | cut -c 1-600 | tr '\n' ' ')"
}

# A row of ops.def that no program reaches needs its reason in undrawn.txt.
ops_reached() {
  sed -n '/^program /,/^expect$/p' tests/fuzz/recorded.txt |
    sed 's/^expect$/run/; s/^\(program .*\) dev$/\1 cpu/' >"$work/programs"
  env FERRY_SIM_MODE=lazy FERRY_SIM_DEVICES=2 "$interpreter" --ops <"$work/programs" >"$work/answers" 2>&1
  awk '/^[a-z_0-9]+$/' "$work/answers" | sort >"$work/unreached"
  sed -n 's/^\([a-z_0-9]*\): ..*/\1/p' tests/fuzz/undrawn.txt | sort >"$work/excused"
  local missing stale
  missing=$(comm -23 "$work/unreached" "$work/excused" | tr '\n' ' ')
  stale=$(comm -13 "$work/unreached" "$work/excused" | tr '\n' ' ')
  [ -z "$missing" ] && grep -q '^\.$' "$work/answers"
  result $? 'every op of ops.def is reached' \
    "not reached: $missing(a row in calls.def, then record.py; or a reason in undrawn.txt)"
  [ -z "$stale" ]
  result $? 'no reason in undrawn.txt is out of date' "reached by now: $stale"
}

recorded cpu cpu FERRY_CUDA=off
recorded 'cuda, threads' cuda:0 FERRY_SIM_MODE=threads FERRY_SIM_DEVICES=2
recorded 'cuda, lazy' cuda:0 FERRY_SIM_MODE=lazy FERRY_SIM_DEVICES=2
recorded 'cuda, lazy, descending' cuda:0 FERRY_SIM_MODE=lazy FERRY_SIM_DEVICES=2 FERRY_SIM_ORDER=descending
ops_reached

# ---- with PyTorch ----------------------------------------------------------------------------------------------------

fuzz=tests/fuzz/fuzz.sh
if ! "$fuzz" --build "$build" --calls >"$work/calls" 2>&1; then
  skip 'random programs against PyTorch' 'no python3 with torch is here'
  finish
  exit
fi

says 'random programs against PyTorch' 0 '0 unexplained differences' \
  "$fuzz" --build "$build" --programs 400 --seed 1 --jobs 1 --out "$work/found"
grep -q '^add  *CALL' "$work/calls"
result $? '--calls lists what programs are made of' "$(head -n 3 "$work/calls")"
says '--help' 0 'exit status' "$fuzz" --build "$build" --help
says 'an unknown option' 2 'unrecognized arguments' "$fuzz" --build "$build" --nothing
says 'no interpreter' 2 'make fuzz' "$fuzz" --build "$work" --programs 1
"$fuzz" --build "$build" --print --programs 5 --seed 3 >"$work/first" &&
  "$fuzz" --build "$build" --print --programs 5 --seed 3 | cmp -s - "$work/first"
result $? 'the same seed draws the same programs' 'they differ'

# A Ferry whose products have another grad_fn, and one that dies of them.
mkdir -p "$work/wrong/tests/fuzz" "$work/dying/tests/fuzz"
printf '#!/bin/sh\n"%s" "$@" | sed -u s/MulBackward0/WrongBackward0/\n' "$PWD/$interpreter" \
  >"$work/wrong/tests/fuzz/interpreter"
cat >"$work/dying/tests/fuzz/interpreter" <<END
#!/bin/bash
exec 3> >("$PWD/$interpreter"); while IFS= read -r line; do
  [[ \$line == *' = mul '* ]] && { sleep 0.2; kill -SEGV \$\$; }
  echo "\$line" >&3
done
END
chmod +x "$work"/*/tests/fuzz/interpreter
says 'a made-up defect is found' 1 'Ferry WrongBackward0 | PyTorch MulBackward0' \
  "$fuzz" --build "$work/wrong" --device cpu --programs 60 --jobs 1 --only mul,add,view --failures 1 --out "$work/found"
count_lines=$(sed -n '/^program/,/^run/p' "$work/found/difference-1.txt" | wc -l)
[ "$count_lines" -le 5 ]
result $? 'and shrunk' "$((count_lines - 2)) statements"
grep -q '= fy_mul(t' "$work/found/difference-1.txt" && grep -q '= torch.mul(t' "$work/found/difference-1.txt"
result $? 'and printed in C and in Python' "$(tail -n 20 "$work/found/difference-1.txt" | tr '\n' ' ')"
sed -n '/^#include/,$p' "$work/found/difference-1.txt" >"$work/shown.c"
"${CC:-cc}" -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include -Wall -Werror -fsyntax-only "$work/shown.c" 2>"$work/errors"
result $? 'the C program compiles' "$(head -n 5 "$work/errors" | tr '\n' ' ')"
says 'a saved difference is replayed' 1 'grad_fn of' \
  "$fuzz" --build "$work/wrong" --device cpu --replay "$work/found/difference-1.txt"
says 'and is gone with its defect' 0 'equal' "$fuzz" --build "$build" --device cpu --replay "$work/found/difference-1.txt"
says 'a crash is its program'"'"'s' 1 'crash of program' \
  "$fuzz" --build "$work/dying" --device cpu --programs 20 --jobs 1 --only mul,add --failures 1 --no-shrink --out "$work/died"
finish
