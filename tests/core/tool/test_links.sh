#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where verdicts and hints lead to: each mistake's section is there, is about the mistake's subject, and is what the command in the
# report shows.
# run:
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
command -v python3 >/dev/null || skip_all 'python3, which reads the mistakes here, is not installed'

reads() { # ROOT FILE: what the reader finds in the tree ROOT
  python3 tests/core/tool/test_links.py "$1" >"$2" 2>&1
}

reads . "$work/out"
! grep -v '^LINK ' "$work/out" >"$work/faults"
result $? 'every mistake leads to a section about it' "$(head -n 5 "$work/faults" | tr '\n' ';')"
[ "$(grep -c '^LINK ' "$work/out")" -gt 100 ]
result $? 'all links were read' "$(wc -l <"$work/out") lines"

# As a report prints it: ./ferry chapter 20#grid-block-guard. What comes out begins with that section's heading.
while IFS='#' read -r page anchor; do
  name=$(basename "$page" .md)
  [[ $name =~ ^([0-9]+)_ ]] && name=$((10#${BASH_REMATCH[1]}))
  "$ferry" chapter "$name#$anchor" >"$work/section" 2>"$work/error" || echo "$name#$anchor: $(head -n 1 "$work/error")"
  heading=$(head -n 1 "$work/section" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g')
  [ "$heading" = "$anchor" ] || echo "$name#$anchor begins with $heading"
done < <(sed -n 's/^LINK //p' "$work/out") >"$work/faults"
[ ! -s "$work/faults" ]
result $? 'ferry chapter shows each of the sections' "$(head -n 3 "$work/faults" | tr '\n' ';')"

# That the reader finds what is wrong: a heading that became another, a whole lesson, a lesson of another subject.
mkdir -p "$work/copy/tests/grader" "$work/copy/tests/hidden/20_1_saxpy"
cp -r docs solutions "$work/copy"
cp tests/grader/mistakes.c "$work/copy/tests/grader"
sed -i 's/^## One launch or two/## One launch/' "$work/copy/docs/24_reductions.md"
sed -i 's,docs/28_streams.md#streams-and-events,docs/07_pitfalls.md#keep-data-on-the-device,' "$work/copy/tests/grader/mistakes.c"
sed 's,docs/21_the_machine.md#warps,docs/21_the_machine.md,; s,LESSON "#grid-block-guard","docs/01_why_a_gpu.md#in-short",' \
  tests/hidden/20_1_saxpy/check.c >"$work/copy/tests/hidden/20_1_saxpy/check.c"
reads "$work/copy" "$work/other"
for fault in 'FIRST_CALL_ALONE: .* has no section #one-launch-or-two' 'NUMBER_FETCHED: .* is not about kernels' \
  '20_1_saxpy, SMALL_BLOCKS: .* as a whole' '20_1_saxpy, BLOCK_INDEX: .* is not about kernels'; do
  grep -q -- "$fault" "$work/other"
  result $? "found: $fault" "$(grep FAULT "$work/other" | head -n 3 | tr '\n' ';')"
done
finish
