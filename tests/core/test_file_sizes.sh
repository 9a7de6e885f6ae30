#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A source file has at most 500 lines after its license, or one of its first twenty says why: `// Over 500 lines: REASON.` The program of a lesson is one
# file, however long the lesson is.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
sources=$(find core tests/grader tests/core tests/support tests/fuzz plots -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | LC_ALL=C sort)
[ "$(wc -l <<<"$sources")" -gt 1000 ]
result $? 'there are sources' "$(wc -l <<<"$sources") of them"
long=$(xargs wc -l <<<"$sources" | awk '$1 > 501 && $2 != "total" { print $2 }')
missing=$(for file in $long; do
  head -n 20 "$file" | grep -qE '^(//|#) Over 500 lines: .{10,}' || echo "$file"
done)
[ -z "$missing" ]
result $? 'files of more than 500 lines say why' "$missing"
finish
