#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Open exercises ("make it faster"): the score is shown and is the same at every run, ./ferry best keeps what was faster than all
# before, and neither a damaged file nor one of another model makes it lie.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
export FERRY_WORK=$work/mine COLUMNS=80
exercise=23_3_fast_transpose
hidden=tests/hidden/$exercise
mine=$FERRY_WORK/$exercise.cu
"$ferry" start >/dev/null

"$ferry" best >"$work/out" 2>&1
[ $? = 0 ] && [ "$(grep -c 'no answer has passed yet' "$work/out")" = 3 ]
result $? 'without a try there is no row' "$(head -n 6 "$work/out" | tr '\n' ' ')"

try() { # FILE: runs it as the learner's own
  cp "$1" "$mine"
  "$ferry" run 23.3 >"$work/run" 2>&1
}
rows() {
  "$ferry" best 23.3 | sed -nE 's/^  ([0-9]+) +[0-9]{4}-[0-9-]+ [0-9:]+ +([0-9.]+) us +([0-9.]+)  ([*.]+) +(.*)/\1 \2 \4 \5/p'
}

try exercises/$exercise.cu
[ -z "$(rows)" ] && grep -q 'modeled: 1.00 times as fast as' <(tr -s '\n ' ' ' <"$work/run")
result $? 'what is handed out has a score, passes nothing and is no row' "$(tail -n 12 "$work/run" | tr '\n' ' ')"

try "$hidden/right_tile.cu"
[ "$(rows | wc -l)" = 1 ] && grep -q '^1 .* \*\*\. ' <(rows) && grep -q 'modeled, not measured' "$work/run" &&
  grep -q 'limited by: L1' "$work/run"
result $? 'a try that passes is a row, with its stars and what limits it' "$(rows) $(tail -n 12 "$work/run" | tr '\n' ' ')"
first=$(rows)

try "$hidden/right_tile.cu"
[ "$(rows)" = "$first" ] && grep -q 'not faster than your best' "$work/run" && "$ferry" best 23.3 | grep -q '2 tries have passed'
result $? 'the same answer has the same score, and is no better' "$(rows)"

try solutions/$exercise.cu
[ "$(rows | wc -l)" = 2 ] && grep -q '^3 .* \*\*\* device memory' <(rows) && grep -q 'faster than all earlier answers' "$work/run"
result $? 'a faster one is the next row, by its number' "$(rows)"
both=$(rows)

"$ferry" run 23.3 --file "$hidden/right_narrow_tile.cu" >"$work/run" 2>&1
grep -q 'stars: ' "$work/run" && [ "$(rows)" = "$both" ]
result $? 'another file than the own is scored, and not kept' "$(rows)"

printf 'nonsense\n23_3_fast_transpose tries=2 try=9 when=1 us=0.001 of=33.6 limit=nothing\n26_4_fast_matmul tries=-1\n' >>"$FERRY_WORK/.best"
head -c 3000 /dev/zero | tr '\0' x >>"$FERRY_WORK/.best"
[ "$(rows)" = "$both" ]
result $? 'lines that are none count for nothing' "$(rows)"
printf '23_3_fast_transpose tries=4 try=4 when=1763812345 us=0.5 of=20.25 limit=nothing\n' >"$work/other"
cat "$work/other" >>"$FERRY_WORK/.best"
sed -i 's/^nonsense$//' "$FERRY_WORK/.best"
[ "$(rows)" = "$both" ]
result $? 'a try that was scored against another time of what is handed out does not count' "$(rows)"

sed -i '/us=0.5/d' "$FERRY_WORK/.best"
cat "$work/other" >>"$FERRY_WORK/.best"
try "$hidden/right_tile.cu"
[ "$(rows)" = "$both" ] && grep -q 'us=0.5 of=20.25' "$FERRY_WORK/.best" && ! grep -q nonsense "$FERRY_WORK/.best"
result $? 'and is kept when the file is written anew' "$(cut -c1-100 "$FERRY_WORK/.best")"

"$ferry" best >"$work/out" 2>&1
! grep -q $'\x1b' "$work/out" && [ "$(wc -L <"$work/out")" -le 80 ] && [ "$(grep -c 'modeled, not measured' "$work/out")" = 3 ]
result $? 'the table fits into 80 columns, without colors, and says that it is modeled' "$(wc -L <"$work/out") columns"

says() { # NAME STATUS TEXT COMMAND...
  local name=$1 status=$2 text=$3
  shift 3
  "$@" >"$work/out" 2>&1
  [ $? = "$status" ] && grep -q "$text" "$work/out"
  result $? "$name" "$(head -n 3 "$work/out" | tr '\n' ' ')"
}
says 'an exercise that is not a performance challenge' 2 'is not a performance challenge' "$ferry" best 23.1
says 'no exercise' 2 'does not match exactly one exercise' "$ferry" best 6_none
says 'an option that there is not' 2 'there is no option --fast' "$ferry" best --fast
says 'two exercises' 2 'one exercise at a time' "$ferry" best 23.3 96
says 'help' 0 'usage: ./ferry best' "$ferry" best --help
says 'it is among the commands' 0 '  best ' "$ferry" help
finish
