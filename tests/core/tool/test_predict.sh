#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry predict: a guess is in the file before the number is shown, first guesses stay, wrong input is explained, a damaged file is kept;
# every question's number is what its command prints, and the lesson's box has it.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 1200
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
export FERRY_WORK=$work/mine COLUMNS=80
file=$FERRY_WORK/.predictions

says 'without a workspace' 2 'Run ./ferry start first' "$ferry" predict 17.1 30
[ ! -e "$FERRY_WORK" ]
result $? 'and nothing is made'
"$ferry" start >/dev/null

# ---- one question, end to end ------------------------------------------------------------------------------------------------

"$ferry" predict 17 </dev/null >"$work/out" 2>&1
[ $? = 0 ] && grep -q '^17.1  Lesson 17. CUDA graphs' "$work/out" && grep -q 'the question stays open' <(tr 'T' 't' <"$work/out") && [ ! -e "$file" ]
result $? 'a lesson asks its question; without a guess nothing is shown' "$(cat "$work/out")"
! grep -q 34 "$work/out"
result $? 'the number is not in the question'
echo ' 1,7 ' | "$ferry" predict 17.1 >"$work/out" 2>&1
[ $? = 2 ] && grep -q 'is not a number' "$work/out" && [ ! -e "$file" ]
result $? 'what is typed is checked' "$(cat "$work/out")"
echo 17 | "$ferry" predict 17 >"$work/out" 2>&1
[ $? = 0 ] && grep -q 'your guess  *17 launches' "$work/out" && grep -q 'measured  *34 launches' "$work/out" && grep -q '2 times too low' "$work/out"
result $? 'after the guess comes the number, and how far off the guess was' "$(cat "$work/out")"
printed=$("$ferry" chapter 17 --quick | sed -nE 's/^a training step: .* ops, ([0-9]+) launches/\1/p')
grep -qE "^17.1 try=1 when=[0-9]+ guess=17 truth=$printed\$" "$file"
result $? 'the guess is kept with the number that the command prints' "$(cat "$file") $printed"
says 'the second guess is a second try' 0 'guess 2' "$ferry" predict 17.1 34
grep -q '^17.1 try=1 .*guess=17 ' "$file" && grep -q '^17.1 try=2 .*guess=34 ' "$file"
result $? 'and the first one stays' "$(cat "$file")"
says 'an answered question is shown with its guesses' 0 'Your first guess counts' "$ferry" predict 17.1
says 'so is a lesson without an open question' 0 'All questions of lesson 17 are answered' "$ferry" predict 17
grep -q '^17.1 [0-9a-f]* 34$' "$FERRY_WORK/.measured"
result $? 'the number is kept' "$(cat "$FERRY_WORK/.measured")"
sed -i 's/ 34$/ 35/' "$FERRY_WORK/.measured"
"$ferry" predict 13.1 60 >/dev/null 2>&1
grep -q '^13.2 [0-9a-f]* 56$' "$FERRY_WORK/.measured"
result $? 'and so is that of another question with the same command' "$(cat "$FERRY_WORK/.measured")"
sed -i '/^13/d' "$file"
says 'for the same program it is not measured again' 0 'measured            35 launches' "$ferry" predict 17.1 35
sed -i 's/^17.1 ./17.1 x/' "$FERRY_WORK/.measured"
says 'and else it is' 0 'measured            34 launches' "$ferry" predict 17.1 35

# ---- wrong input ----------------------------------------------------------------------------------------------------------------

cp "$file" "$work/before"
says 'a word' 2 '"many" is not a number. Enter one such as 1000, 12 %, 4/3 or 2^10.' "$ferry" predict 22.1 many
says 'not a number in C' 2 'is not a number' "$ferry" predict 22.1 nan
says 'an infinite number' 2 'is not a number' "$ferry" predict 22.1 1/0
says 'a negative number' 2 'is never negative' "$ferry" predict 22.1 -3
says 'more sectors than lanes can touch' 2 'The most is 64, in sectors per request' "$ferry" predict 22.1 65
says 'more than 100 %' 2 'The most is 100, in % occupancy' "$ferry" predict 21.3 101
says 'an absurd number' 2 'is more than is possible here' "$ferry" predict 17.1 1e300
says 'an empty number' 2 'is not a number' "$ferry" predict 22.1 ''
says 'a question that does not exist' 2 'lesson 22 has no question 22.9' "$ferry" predict 22.9 1
says 'a lesson without questions' 2 'there is no question for 2;' "$ferry" predict 2
says 'a number without a question' 2 'a number belongs to one question' "$ferry" predict 22 16
says 'three words' 2 'one question and one number' "$ferry" predict 22.1 16 17
says 'an option that there is not' 2 'Did you mean --chart?' "$ferry" predict --chat
says 'two options' 2 'alone' "$ferry" predict --list --chart
cmp -s "$file" "$work/before"
result $? 'none of these is kept' "$(diff "$file" "$work/before")"
"$ferry" predict --json >"$work/json"
! grep -E '"guesses": \[\]' "$work/json" | grep -q truth && grep -c '"id"' "$work/json" | grep -qx 28
result $? 'as JSON, an open question has no number' "$(head -c 300 "$work/json")"

# ---- the files ------------------------------------------------------------------------------------------------------------------

says 'help' 0 'usage: ./ferry predict' "$ferry" predict --help
head -c 20 "$work/before" >>"$file"
"$ferry" predict --list >"$work/out" 2>&1
grep -q 'is damaged; [0-9]* guesses could be read' "$work/out" && cmp -s <(head -n 4 "$file") <(head -n 4 "$work/before")
result $? 'a damaged file is reported, and is not changed by reading' "$(head -n 3 "$work/out")"
says 'a guess keeps it beside a new one' 0 'damaged. It is kept as' "$ferry" predict 17.1 34
[ -e "$file.damaged" ] && [ "$(wc -l <"$file")" = $(($(wc -l <"$work/before") + 1)) ] && head -n "$(wc -l <"$work/before")" "$file" | cmp -s - "$work/before"
result $? 'with all that could be read' "$(cat "$file")"
rm -f "$file"
printf '22.1 try=1 when=1763812345 guess=16 truth=8\n99.9 try=1 when=1763812345 guess=1 truth=2\n' >"$file"
"$ferry" predict 17.1 34 >/dev/null 2>&1
grep -q '^99.9 ' "$file" && [ "$(wc -l <"$file")" = 3 ]
result $? 'a guess at a question of another version is kept' "$(cat "$file")"
cp "$file" "$work/before"
chmod 500 "$FERRY_WORK"
if [ -w "$FERRY_WORK" ]; then
  skip 'a folder that cannot be written' 'this user can write everything'
else
  "$ferry" predict 11.1 7 >"$work/out" 2>&1
  [ $? = 3 ] && ! grep -q 'measured' "$work/out" && cmp -s "$file" "$work/before"
  result $? 'where the guess cannot be kept, the number is not shown' "$(cat "$work/out")"
fi
chmod 700 "$FERRY_WORK"

# ---- the chart --------------------------------------------------------------------------------------------------------------------

for i in 1 2 3 4 5; do
  printf '%d.1 try=1 when=%d guess=100 truth=10\n' $((30 + i)) $((1763812345 + 86400 * i))
done >"$file"
for i in 1 2 3 4 5; do
  printf '%d.1 try=1 when=%d guess=12 truth=10\n' $((40 + i)) $((1764812345 + 86400 * i))
done >>"$file"
printf '41.1 try=2 when=1774812345 guess=999 truth=10\n50.1 try=1 when=1774812345 guess=0 truth=10\n' >>"$file"
TZ=UTC "$ferry" predict --chart >"$work/out"
grep -q 'x10 for the first 5, x1.2 for the last 5' "$work/out" && grep -qE '^  50.1 .*<  +\|' "$work/out" && ! grep -q 999 "$work/out" && [ "$(grep -c ' too high$' "$work/out")" = 10 ]
result $? 'the chart has a row for each first guess, and compares the first five with the last five' "$(cat "$work/out")"
[ "$(sed -nE 's/^  31.1  2025-11-23 (.*)o .*/\1/p' "$work/out" | wc -m)" -gt 30 ] && ! grep -q $'\x1b' "$work/out"
result $? 'a guess ten times too high is right of the middle' "$(grep 31.1 "$work/out")"
says 'a new beginning' 0 'All questions are open again. Your earlier guesses are kept as' "$ferry" predict --reset
[ ! -e "$file" ] && grep -lq '41.1 try=2' "$file".*
result $? 'keeps the guesses'
says 'an empty chart' 0 'There are no guesses yet' "$ferry" predict --chart
says 'it is among the commands' 0 '  predict ' "$ferry" help

# ---- every number --------------------------------------------------------------------------------------------------------------

box() { # QUESTION: the answer of its box, after the summary
  awk -v id="$1" '/^<!-- predict [0-9.; ]* -->$/ { inside = index("; " $0 ";", " " id ";") || index($0, " " id " -->") }
    inside { print } /<\/details>/ { inside = 0 }' docs/"$(printf %02d "${1%%.*}")"_*.md | sed '1,/<\/summary>/d'
}
for id in $(grep -oE '"id": "[0-9.]+"' "$work/json" | cut -d'"' -f4); do
  "$ferry" predict "$id" 1 >"$work/out" 2>&1
  ended=$? truth=$(sed -n "s/^$id try=1 .*truth=//p" "$file")
  section=$(sed -nE 's/^  read +\.\/ferry chapter //p' "$work/out")
  # Counts are in the text as they are; what is modeled may differ by 3 %.
  near=$(box "$id" | tr -d , | sed 's/\<[Oo]ne\>/1/g; s/\<[Tt]hree\>/3/g' | grep -oE '[0-9]+(\.[0-9]+)?' |
    awk -v truth="$truth" '{ off = $1 / truth - 1 } off < 0.03 && off > -0.03 { print }')
  [ $ended = 0 ] && [ -n "$truth" ] && [ -n "$near" ] && "$ferry" chapter "$section" >/dev/null 2>&1
  result $? "$id: the answer of the lesson's box has the number" "measured: $truth, section $section, the box: $(box "$id" | head -c 200) $(tail -n 3 "$work/out")"
done
FERRY_SIM_GPU=a100 "$ferry" inspect chapters/21_the_machine.cu --blocks 27 --once --no-registers --table >"$work/out" 2>&1
awk -v truth="$(sed -n 's/^21.1 .*truth=//p' "$file")" '$1 == "scale<1>" { one = $(NF - 1) } $1 == "scale<64>" { all = $(NF - 1) }
  END { exit !(one / all / truth < 1.02 && one / all / truth > 0.98) }' "$work/out"
result $? 'a speedup is the ratio of two modeled times of the table' "$(grep scale "$work/out")"
"$ferry" inspect chapters/22_global_memory.cu --kernel 'strided<2>' --once --no-registers --quiet >"$work/out" 2>&1
grep -qE " $(sed -n 's/^22.1 .*truth=//p' "$file").0/4.0!? " "$work/out"
result $? 'the sectors are those of the report' "$(grep / "$work/out" | head -n 3)"
finish
