#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program with too many accesses is sampled, and the report says so: each kernel's first blocks are instrumented, also those of a kernel
# that comes late, and the program's output appears once.
# timeout: 300
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
program=tests/core/inspect/kernels/long.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

inspect() { # OPTIONS: the report in $work/out, JSON in $work/json, the status in $status
  "$ferry" inspect "$program" --no-registers --json "$work/json" "$@" >"$work/out" 2>"$work/err"
  status=$?
}
instrumented() { # KERNEL: "64 of 2048"
  awk -v kernel="$1<<<" 'index($0, kernel) == 1 { getline; print $1, $2, $3 }' "$work/out"
}
finds_race() {
  local written read
  written=$(grep -n '//@written$' "$program" | cut -d : -f 1)
  read=$(grep -n '//@read$' "$program" | cut -d : -f 1)
  [ "$status" = 1 ] && grep '"kind": "race-block"' "$work/json" | grep "\"line\": \($written\|$read\)," | grep -q '"kernel": "racy"'
}

inspect
grep -q '^Sampled: ' "$work/out"
result $? 'the report says that the run was sampled' "$(head -n 5 "$work/out" "$work/err")"
[ "$(grep -c '^the last sum is 1077952576$' "$work/out")" = 1 ]
result $? 'the output appears once, and is right' "$(grep 'last sum' "$work/out")"
finds_race
result $? 'the race of a later kernel is found' "status $status: $(cat "$work/json")"
read -r some _ all < <(instrumented add_up)
[ "$all" = 7168 ] && [ "$some" -gt 0 ] && [ "$some" -lt 1024 ] && [ "$(instrumented racy)" = '1 of 1' ]
result $? 'each kernel has a share of the instrumented blocks' "$(instrumented add_up); $(instrumented racy)"
grep -q "Counts and findings cover the $some instrumented blocks only" "$work/out"
result $? 'a kernel says how many blocks its counts cover' "$(grep Counts "$work/out")"
cp "$work/out" "$work/first"
inspect
[ "$(instrumented add_up)" = "$some of $all" ]
result $? 'the number of blocks is the same in each run' "$(instrumented add_up), and before $some"

inspect --blocks all
! grep -q '^Sampled: ' "$work/out" && [ "$(instrumented add_up)" = '7168 of 7168' ] && finds_race
result $? '--blocks all instruments everything' "$(instrumented add_up)"
line() { # of the counts of x: lanes and sectors per request
  awk '/sum \+= x/ { print $2, $3; exit }' "$1"
}
[ -n "$(line "$work/out")" ] && [ "$(line "$work/out")" = "$(line "$work/first")" ]
result $? 'and its counts per request are those of the sample' "$(line "$work/first") and $(line "$work/out")"
finish
