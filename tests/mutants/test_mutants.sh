#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Changes of right answers, drawn by a seed: the hidden tests notice them. And each that is listed as equivalent is of a line that
# is there. All of them, or more: make mutants.
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
python3 tests/mutants/mutants.py --check-list >"$work/log" 2>&1
result $? 'equivalent.txt is of lines that are there' "$(head -n 3 "$work/log")"

# A survivor has to be seen as one: of two programs in the grader's place one lets everything pass and one lets nothing.
cp "$ferry" "$work/ferry.real"
tests/mutants/mutants.sh --again --only '^60' --each 4 --jobs 2 --ferry "$(type -P true)" >"$work/log" 2>"$work/errors"
status=$?
if [ $status = 2 ]; then
  skip 'changes of right answers' 'universalmutator could not be installed from PyPI'
  finish
  exit
fi
[ $status = 1 ] && grep -q '^survived: 20_1_saxpy' "$work/log"
result $? 'where nothing is noticed, that is said' "status $status: $(tail -n 2 "$work/log" "$work/errors" | tr '\n' ' ')"
tests/mutants/mutants.sh --again --only '^60' --each 4 --jobs 2 --ferry "$(type -P false)" >"$work/log" 2>"$work/errors"
result $? 'where all is noticed, that is said' "$(tail -n 2 "$work/log" "$work/errors" | tr '\n' ' ')"

# The limit is for slow machines; it is reached between two exercises, never a reason to fail.
tests/mutants/mutants.sh --again --each 1 --seed 3 --jobs "${TEST_JOBS:-2}" --limit 120 \
  --ferry "$work/ferry.real" >"$work/log" 2>"$work/errors"
result $? 'a change of each exercise is noticed, or has a reason not to be' "$(grep -A 2 '^survived\|^broken' "$work/log" | tr '\n' ' ')"
sed 's/^/# /' "$work/log"
finish
