#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Answers to a performance challenge that try to look fast, as submissions to leaderboards did (docs/cheating.md). Each fails, with the
# report that its first line names; the same kernel without the trick is what it says.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 600
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp
for file in tests/grader/attacks/scored/*.cu; do
  name=$(basename "$file" .cu)
  wanted=$(sed -n '1s@^// report: @@p' "$file")
  "$ferry" run 23.3 --file "$file" --all >"$work/out" 2>&1
  status=$?
  [ $status = 1 ] && [ -n "$wanted" ] && grep -q '^✗' "$work/out" && tr -s ' \n' ' ' <"$work/out" | grep -qF -- "$wanted"
  result $? "$name" "status $status, no \"$wanted\" in: $(head -n 6 "$work/out" | tr '\n' ' ')"
done
says 'the same score in every run' 0 'times as fast as the original file' "$ferry" run 23.3 --file solutions/23_3_fast_transpose.cu
first=$("$ferry" run 23.3 --file solutions/23_3_fast_transpose.cu | grep -A 3 'modeled, not measured')
second=$("$ferry" run 23.3 --file solutions/23_3_fast_transpose.cu | grep -A 3 'modeled, not measured')
[ -n "$first" ] && [ "$first" = "$second" ]
result $? 'to the last digit, with other inputs' "$first, then $second"
finish
