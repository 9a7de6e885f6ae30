#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Numbers with a unit in the lessons' prose are those of the page's outputs, or follow from them as prose.txt says.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || skip_all 'python3, which reads the lessons here, is not installed'

python3 tests/docs/test_prose.py . >"$work/out" 2>&1
result $? 'numbers in prose are those of the runs' "$(head -n 5 "$work/out" | tr '\n' ';')"
sed 's/^/# /' "$work/out"

# That it finds what is wrong: an output that became another, a number from nowhere, a line of the table that nobody needs.
mkdir -p "$work/copy/tests/docs"
cp -r docs "$work/copy"
cp tests/docs/prose.txt "$work/copy/tests/docs"
echo '24_reductions.md | 77 us | given | 77' >>"$work/copy/tests/docs/prose.txt"
sed -i -E 's/^(strided<1> .*) [0-9.]+ memory/\1 99.9 memory/' "$work/copy/docs/22_global_memory.md"
echo 'It takes 123.4 ms.' >>"$work/copy/docs/08_data_pipeline.md"
python3 tests/docs/test_prose.py "$work/copy" >"$work/other"
for fault in '1271 GB/s: .* is 671' '123.4 ms: no output of the page has it' 'prose.txt: 24_reductions.md does not say 77 us'; do
  grep -qE "$fault" "$work/other"
  result $? "found: $fault" "$(head -n 3 "$work/other" | tr '\n' ';')"
done
finish
