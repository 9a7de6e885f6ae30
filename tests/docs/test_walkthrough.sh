#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each function that docs/walkthrough.md names is defined in the file that it names.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
# FILE FUNCTION of each row of its tables
rows=$(sed -nE 's/^\|.*\| `([^`]+)` \| `([^`]+)` \|$/\1 \2/p' docs/walkthrough.md)
[ "$(wc -l <<<"$rows")" -gt 30 ]
result $? 'there are steps' "$(wc -l <<<"$rows")"
missing=$(while read -r file function; do
  grep -qE "^[A-Za-z].*\b$function\(" "$file" 2>/dev/null || echo "$function in $file"
done <<<"$rows")
[ -z "$missing" ]
result $? 'each function is where the walk says' "$(paste -sd ';' <<<"$missing")"
finish
