#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a solution calls, its lesson or one before it has named; each lesson ends in short and with its exercises.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || skip_all 'python3, which reads the lessons here, is not installed'

python3 tests/docs/test_taught.py . >"$work/out" 2>&1 && ! grep -q FAULT "$work/out"
result $? 'lessons come before what exercises need of them' "$(grep -v uses "$work/out" | head -n 5 | tr '\n' ';')"
grep FAULT "$work/out" | sed 's/^/# /'

mkdir "$work/copy"
cp -r docs solutions "$work/copy"
mkdir "$work/copy/tests"
cp -r tests/hidden "$work/copy/tests"
sed -i 's/fy_linear(/fy_other(/g' "$work"/copy/docs/05_*.md
python3 tests/docs/test_taught.py "$work/copy" >"$work/other"
grep -q "needs fy_linear" "$work/other"
result $? 'a function that no lesson names is found'
finish
