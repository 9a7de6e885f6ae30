#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry adopt: right answers become kernels of the library and train as it does; wrong ones are refused with the smallest failing
# call, and change nothing; answers that have not passed, have changed or do not compile are not adopted; --back undoes it.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 900
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
export FERRY_WORK=$work/mine COLUMNS=80

expect() { # NAME STATUS TEXT COMMAND...: ends with that status, and its output, on one line, has the text
  local name=$1 status=$2 text=$3
  shift 3
  "$@" >"$work/out" 2>&1
  local ended=$?
  [ $ended = "$status" ] && grep -q -e "$text" <(tr -s '\n ' ' ' <"$work/out")
  result $? "$name" "status $ended: $(tail -n 12 "$work/out" | tr -s '\n ' ' ')"
}

expect 'without a workspace' 2 'no workspace yet: ./ferry start' "$ferry" adopt --list
"$ferry" start >/dev/null

# ---- what cannot be adopted ------------------------------------------------------------------------------------------------

expect 'without an adopted answer the list says how to begin' 0 'After an exercise has passed: ./ferry adopt EX' "$ferry" adopt
[ "$(grep -c 'not passed yet' "$work/out")" = "$(grep -c '^FY_ADOPTABLE("' core/adopt/adopted.def)" ]
result $? 'and has a row for each exercise' "$(wc -l <"$work/out") lines"
expect 'an exercise that no op computes' 2 'Answers to these can be adopted: 20.1, 22.1' "$ferry" adopt 26.1
expect 'an exercise that there is not' 2 'does not match exactly one exercise' "$ferry" adopt 99.9
expect 'an option that there is not' 2 'there is no option --lost. Did you mean --list' "$ferry" adopt --lost
expect 'an answer that has not passed' 1 '25.1 has not passed yet. Check it first: ./ferry run 25.1' "$ferry" adopt 25.1
expect 'a lesson on adopted kernels, without any' 2 'no answer is adopted yet' "$ferry" chapter 3 --adopted
expect 'nothing to give back' 0 'is not adopted' "$ferry" adopt --back 25.1

# ---- a right answer ----------------------------------------------------------------------------------------------------------

cp solutions/25_1_row_argmax.cu "$FERRY_WORK"
"$ferry" run 25.1 >"$work/run" 2>&1
expect 'an answer that has passed is adopted' 0 'training steps: the losses of the library' "$ferry" adopt 25.1
grep -q 'launches .* 1 of [0-9]' "$work/out"
result $? 'and a training step runs on it' "$(grep launches "$work/out" | tr '\n' ' ')"
expect 'the list says so' 0 '25.1 max, max_dim and argmax adopted' "$ferry" adopt --list

cat >"$work/program.c" <<'END'
#include "ferry.h"
#include <stdio.h>
int main(void) {
  const float values[] = {3, 7, 7, 9, 2, 4, -1, -1, -2};
  FyTensor *x = fy_to(fy_tensor(fy_floats(3, 7, 7, 9, 2, 4, -1, -1, -2), fy_shape(3, 3)), fy_cuda_device(0));
  FyValuesIndices found = fy_max_dim(x, 1, false);
  for (int i = 0; i < 3; i++)
    printf("%g at %lld\n", fy_item(fy_select(found.values, 0, i)), (long long)fy_item_int64(fy_select(found.indices, 0, i)));
  fy_max_dim(x, 0, false);
  return values[0] == 3 ? 0 : 1;
}
END
expect 'a program runs on it, and its calls are counted' 0 '7 at 1 9 at 0 -1 at 0 .*max_dim 1 of 2' \
  "$ferry" play "$work/program.c" --adopted
expect 'a CUDA file has no ops to adopt' 2 'which call the library' "$ferry" play chapters/20_the_first_kernel.cu --adopted
expect 'a lesson of kernels has none either' 2 'kernels of its own' "$ferry" chapter 25 --adopted
if [ -x "${FERRY_BUILD:-build}/chapters/03_tensor_moves" ]; then
  expect 'a lesson runs on adopted kernels' 0 'Calls on kernels of your own' "$ferry" chapter 3 --adopted --quick
else
  skip 'a lesson runs on adopted kernels' 'the chapters are not built'
fi

echo '// a change' >>"$FERRY_WORK/25_1_row_argmax.cu"
expect 'an answer that has changed since it passed' 1 'has changed since it passed. Check it again: ./ferry run 25.1' \
  "$ferry" adopt 25.1
expect 'the list says that it has changed' 0 'adopted; your file has changed since' "$ferry" adopt --list

# ---- wrong ones: as if they had passed ---------------------------------------------------------------------------------------

mix=0
mix64() {
  mix=$1
  mix=$(((mix ^ (mix >> 30 & 0x3ffffffff)) * 0xbf58476d1ce4e5b9))
  mix=$(((mix ^ (mix >> 27 & 0x1fffffffff)) * 0x94d049bb133111eb))
  mix=$((mix ^ (mix >> 31 & 0x1ffffffff)))
}
passed() { # EXERCISE FILE: puts the file in the workspace, and its hash (answer_hash) into the progress
  local byte
  cp "$2" "$FERRY_WORK/$1.cu"
  mix64 $(($(stat -c %s "$2") + 0x9e3779b97f4a7c15))
  for byte in $(od -An -v -tu1 "$2"); do
    mix64 $((mix ^ byte))
    mix=$((mix + 0x9e3779b97f4a7c15))
  done
  mix64 $mix
  touch "$FERRY_WORK/.progress"
  sed -i "/^$1 /d" "$FERRY_WORK/.progress"
  printf '%s passed=1 gpu=0 hints=0 stars=1 answer=%x\n' "$1" "$mix" >>"$FERRY_WORK/.progress"
}
refused() { # EXERCISE ANSWER TEXT
  passed "$1" "tests/hidden/$1/$2.cu"
  local number=${1%%_*}.$(cut -d _ -f 2 <<<"$1")
  expect "$1 $2 is refused" 1 "$number is refused.*call .*$3.*Nothing has changed" "$ferry" adopt "$number"
}
refused 20_1_saxpy wrong_down 'fy_add(x, y), with x ([0-9]*,) float32.*; y .*expected result\[[0-9]*\] = '
refused 23_1_shared_transpose wrong_place 'fy_contiguous(fy_transpose(x, 0, 1))'
refused 24_1_sum_reduction wrong_first_block 'fy_sum(x), with x ([0-9]*,) .*expected result = .*got result = '
refused 24_1_sum_reduction wrong_shared_too_small 'fy_sum(x), .*outcome it crashed'
refused 25_1_row_argmax wrong_last 'fy_max_dim(x, 1, false).*expected index \[[0-9]*\] = [0-9]* got index'
refused 27_1_tiled_matmul wrong_steps 'fy_matmul(.*expected result\['
refused 29_1_online_softmax wrong_not_scaled 'fy_softmax(x, 1).*expected'
passed 29_1_online_softmax tests/hidden/29_1_online_softmax/right_powers_of_two.cu
expect 'so is a right one that is less exact than the library' 1 'a test of the ops fails: .*softmax .*PyTorch has' "$ferry" adopt 29.1
expect 'after a refusal the one before is still adopted' 0 '25.1 max, max_dim and argmax adopted' "$ferry" adopt
! grep -E '^  (20.1|24.1|27.1|29.1) .* adopted' "$work/out"
result $? 'and nothing else' "$(grep adopted "$work/out" | tr '\n' ' ')"

sed 's/int columns) {/int columns) {\n  missing_name;/' solutions/29_1_online_softmax.cu >"$work/broken.cu"
passed 29_1_online_softmax "$work/broken.cu"
expect 'an answer that does not compile' 1 'cannot be built.*missing_name' "$ferry" adopt 29.1

# What an answer does on the host while it is tried, it does in the sandbox.
sed 's@^extern "C" void saxpy_on_device.*@&\n  if (FILE *f = fopen("'"$FERRY_WORK"'/leak", "w")) fclose(f);@; 1s@^@#include <cstdio>\n@' \
  solutions/20_1_saxpy.cu >"$work/leaks.cu"
passed 20_1_saxpy "$work/leaks.cu"
if "$ferry" doctor | grep -q 'ok *sandbox.*none'; then
  skip 'what is tried is tried in the sandbox' 'there is no sandbox here'
else
  "$ferry" adopt 20.1 >"$work/out" 2>&1
  grep -q 'losses of the library\|is refused\|cannot be built' "$work/out" && [ ! -e "$FERRY_WORK/leak" ]
  result $? 'what is tried is tried in the sandbox' "$(tail -n 3 "$work/out" | tr '\n' ' ')"
fi
expect 'a sandbox that there is not' 2 'sandbox takes namespaces' "$ferry" adopt 20.1 --sandbox paper

# ---- several, the history, and back ---------------------------------------------------------------------------------------------

for exercise in 27_1_tiled_matmul 23_3_fast_transpose; do
  passed $exercise solutions/$exercise.cu
done
expect 'products run on an answer' 0 'losses of the library' "$ferry" adopt 27.1
expect 'with another answer that transposes for it' 0 'losses of the library' "$ferry" adopt 23.3
more=$(sed -nE 's/.*launches .* ([0-9]+) of.*/\1/p' "$work/out" | head -n 1)
[ "${more:-0}" -gt 10 ]
result $? 'more launches of a step are their own' "$more launches"
printf '2026-01-02 kernels=1 launches=1/61 us=7.6/322\nno day\n' >"$work/days"
cat "$FERRY_WORK/.adopted/history" >>"$work/days"
cp "$work/days" "$FERRY_WORK/.adopted/history"
expect 'the list has a bar for each day' 0 '2026-01-02 .* 2 % 1 answer .* % [2-4] answers' "$ferry" adopt --list
[ -e "$FERRY_WORK/.adopted/history.damaged" ] && ! grep -q 'no day' "$FERRY_WORK/.adopted/history"
result $? 'and what is no day is set aside' "$(cat "$FERRY_WORK/.adopted/history")"
sed -i '/was damaged/d' "$work/out" # a path
[ "$(LC_ALL=C.UTF-8 wc -L <"$work/out")" -le 80 ] && ! grep -q $'\x1b' "$work/out"
result $? 'the list fits into 80 columns, without colors' "$(LC_ALL=C.UTF-8 wc -L <"$work/out") columns"
expect 'one answer is given back' 0 'matmul and linear no longer run on your answer to 27.1' "$ferry" adopt --back 27.1
expect 'which the list knows' 0 '27.1 matmul and linear passed: ./ferry adopt 27.1' "$ferry" adopt --list
echo 'nonsense' >>"$FERRY_WORK/.adopted/adopted"
expect 'a damaged list counts as far as it can be read' 0 '25.1 max, max_dim and argmax adopted' "$ferry" adopt --list
expect 'all are given back' 0 'All ops run on the library' "$ferry" adopt --back
expect 'and a lesson has no adopted kernels' 2 'no answer is adopted yet' "$ferry" chapter 3 --adopted
finish
