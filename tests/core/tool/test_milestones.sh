#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Milestones come from what was done: passes, best times, adopted kernels, a race that ./ferry inspect found, lesson 33. They are dated, stay,
# and can be written as a page.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
export FERRY_WORK=$work/mine COLUMNS=80
file=$FERRY_WORK/.milestones
today=$(date +%F)
"$ferry" milestones >"$work/out" 2>&1
[ $? = 0 ] && [ "$(grep -c '✓' "$work/out")" = 0 ] && grep -q 'First GPT sentence: run the program of lesson 33' "$work/out" && [ ! -e "$FERRY_WORK" ]
result $? 'at the beginning all are open, with what reaches them' "$(cat "$work/out")"
"$ferry" start >/dev/null
"$ferry" >"$work/out"
grep -q '^Next: First tensor on a device. (./ferry milestones)' "$work/out"
result $? './ferry names the next one' "$(head -n 5 "$work/out")"
"$ferry" start kernels >/dev/null
"$ferry" >"$work/out"
grep -q '^Next: First kernel.' "$work/out"
result $? 'and in a track the next of the track' "$(head -n 5 "$work/out")"
"$ferry" start all >/dev/null

# ---- what reaches them -----------------------------------------------------------------------------------------------------

pass() { # EXERCISE SOLUTION
  cp "$2" "$FERRY_WORK/"
  "$ferry" run "$1" >"$work/run" 2>&1
}
cp tests/hidden/20_1_saxpy/wrong_down.cu "$FERRY_WORK/20_1_saxpy.cu"
"$ferry" run 20.1 >"$work/run" 2>&1
[ $? = 1 ] && ! grep -q milestone "$work/run" && [ ! -e "$file" ]
result $? 'a failed test reaches none' "$(cat "$file" 2>&1)"
pass 20.1 solutions/20_1_saxpy.cu
grep -q '^  milestone  First kernel' "$work/run" && grep -qE '^first-kernel when=[0-9]+ by=0 with=20_1_saxpy$' "$file"
result $? 'the first kernel' "$(cat "$file") $(tail -n 8 "$work/run")"
kept=$(cat "$file")
pass 20.2 solutions/20_2_grid_stride_loop.cu
! grep -q milestone "$work/run" && [ "$(cat "$file")" = "$kept" ]
result $? 'there is one first kernel' "$(cat "$file")"
pass 3.1 solutions/03_1_create_on_the_device.c
grep -q '^  milestone  First tensor' "$work/run" && grep -q '^first-tensor .* with=03_1_create_on_the_device$' "$file"
result $? 'the first tensor on a device' "$(cat "$file") $(tail -n 8 "$work/run")"
"$ferry" inspect chapters/kernels/broken/race.cu --once --no-registers >/dev/null 2>&1
! grep -q first-race "$file"
result $? 'a race of a program of the course is not the learner'"'"'s' "$(cat "$file")"
cp chapters/kernels/broken/race.cu "$work/own.cu"
"$ferry" inspect "$work/own.cu" --once --no-registers >/dev/null 2>&1
grep -qE '^first-race when=[0-9]+ by=0 with=own.cu$' "$file"
result $? 'a race in a file of the learner is' "$(cat "$file")"
sed -i /first-race/d "$file"
sed -E 's/^(32_2_reverse_chunks) passed=0/\1 passed=1/' "$FERRY_WORK/.progress" >"$work/progress"
cp "$work/progress" "$FERRY_WORK/.progress"
"$ferry" milestones >"$work/out"
grep -q "✓ First race found  *by $today" "$work/out" && grep -q '^first-race .* by=1 with=32_2_reverse_chunks$' "$file"
result $? 'a pass from before has a day at the latest' "$(cat "$work/out" "$file")"
cp solutions/23_3_fast_transpose.cu "$FERRY_WORK/"
"$ferry" run 23.3 >"$work/run" 2>&1
grep -q '^  milestone  First kernel within 1.5x of the reference' "$work/run"
result $? 'the solution of a challenge is within 1.5x of the reference' "$(tail -n 8 "$work/run")"
reference=$("$ferry" best 23.3 | sed -nE 's/^  reference +([0-9.]+) us.*/\1/p') of=$(sed -nE 's/^23_3.* of=([0-9.]+) .*/\1/p' "$FERRY_WORK/.best")
try() { # FACTOR: the only one, at that multiple of the reference
  awk -v us="$reference" -v factor="$1" -v of="$of" 'BEGIN {
    printf "23_3_fast_transpose tries=1 try=1 when=1763812345 us=%.6g of=%s limit=device memory\n", factor * us, of
  }' >"$FERRY_WORK/.best"
}
sed -i /first-fast/d "$file"
try 1.6
"$ferry" milestones >/dev/null
! grep -q first-fast "$file"
result $? '1.6 times the time of the reference is not' "$(cat "$FERRY_WORK/.best")"
try 1.4
"$ferry" milestones >/dev/null
grep -q '^first-fast-kernel when=1763812345 by=0 with=23_3_fast_transpose$' "$file"
result $? '1.4 times is, on the day of the try' "$(cat "$file" "$FERRY_WORK/.best")"
mkdir "$FERRY_WORK/.adopted"
printf '25_1_row_argmax answer=1f3a\n' >"$FERRY_WORK/.adopted/adopted"
"$ferry" milestones >"$work/out"
grep -q '^first-own-network .* with=25_1_row_argmax$' "$file" && [ "$(grep -c '✓' "$work/out")" = 5 ]
result $? 'a kernel that ./ferry adopt took' "$(cat "$file")"

# ---- the file ------------------------------------------------------------------------------------------------------------------

kept=$(cat "$file")
rm "$FERRY_WORK/.adopted/adopted" "$FERRY_WORK/.best"
sed -i 's/passed=1/passed=0/' "$FERRY_WORK/.progress"
"$ferry" milestones >/dev/null
[ "$(cat "$file")" = "$kept" ]
result $? 'what was reached stays' "$(cat "$file")"
printf 'first-gpt-sen' >>"$file"
"$ferry" list --json >"$work/json"
[ "$(cat "$file")" = "$kept"$'\n''first-gpt-sen' ] && [ "$(grep -c '"id": "first-.*"reached": "[^"]' "$work/json")" = 5 ]
result $? 'a list as JSON has them, and changes nothing' "$(grep first- "$work/json")"
"$ferry" milestones >"$work/out" 2>&1
grep -q 'was damaged. It is kept as' "$work/out" && [ "$(cat "$file")" = "$kept" ] && [ -e "$file.damaged" ]
result $? 'a damaged file is kept, and what could be read counts' "$(cat "$work/out" "$file")"
"$ferry" | grep -q "^Milestone: First "
result $? './ferry names the latest' "$("$ferry" | head -n 5)"

# ---- the page --------------------------------------------------------------------------------------------------------------------

"$ferry" milestones --page "$work/page.html" --name 'Ada <Byron> & Co' >"$work/out" 2>&1
[ $? = 0 ] && grep -q 'Ada &lt;Byron&gt; &amp; Co' "$work/page.html" && [ "$(grep -c '<li><b>✓' "$work/page.html")" = 5 ] && [ "$(grep -c '<li class="open"><b>○ First GPT' "$work/page.html")" = 1 ]
result $? 'a page has the name and the milestones' "$(cat "$work/out" "$work/page.html")"
! grep -qE 'https?:|src=|href=|@import' "$work/page.html"
result $? 'and asks for nothing from elsewhere' "$(grep -E 'https?:|src=' "$work/page.html")"
"$ferry" milestones --page - 2>/dev/null | grep -q '<h1>Milestones in Ferry' && ! "$ferry" milestones --page - | grep -q 'class="name"'
result $? 'without a name there is none' "$("$ferry" milestones --page - | head -n 20)"
says 'a name without a page' 2 '--name goes with --page' "$ferry" milestones --name Ada
says 'a page that cannot be written' 3 'cannot be written' "$ferry" milestones --page "$work/none/page.html"
says 'an option that there is not' 2 'Did you mean --page?' "$ferry" milestones --pag
says 'help' 0 'usage: ./ferry milestones' "$ferry" milestones --help
finish
