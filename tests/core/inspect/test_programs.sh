#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect on whole programs that were written without knowing it: in right ones (programs/right_*) it finds nothing, in wrong
# ones what their first line says: the kind of the finding, its line and the other one.
#
# usage: tests/core/inspect/test_programs.sh [--sample] [PATTERN]
#   PATTERN    only files whose name matches this extended regular expression
#   --sample   a fifth of them, others each day and after each change (tests/support/tap.sh). So `make test` runs it
# run test: -- --sample
# run all:
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
if [ "${1:-}" = --sample ]; then
  sample=yes
  shift
fi
pattern=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sampled_code=$(code_state)

# "kind line other" of each finding, on one line each; which of two streams came first differs from run to run
findings() { # JSON
  sed -nE 's/^\{"type": "finding", "kind": "([a-z-]+)".*"line": ([0-9]+), "other_file": "[^"]*", "other_line": ([0-9]+).*/\1 \2 \3/p
    t
    s/^\{"type": "finding", "kind": "([a-z-]+)".*"line": ([0-9]+).*/\1 \2/p' "$1"
}

for file in tests/core/inspect/programs/*.cu; do
  [[ $file =~ $pattern ]] || continue
  in_sample "$file" <"$file" || continue
  "$ferry" inspect "$file" --no-registers --quiet --json "$work/json" >"$work/out" 2>&1
  status=$?
  wanted=$(sed -n '1s@^// finding: @@p' "$file")
  if [ -z "$wanted" ]; then
    [ $status = 0 ]
    result $? "$file: no finding" "status $status: $(findings "$work/json" | head -n 3 | tr '\n' ';') $(tail -n 3 "$work/out" | tr '\n' ' ')"
  else
    read -r kind line other <<<"$wanted"
    findings "$work/json" | grep -qxE "$kind ($line $other|$other $line|$line)"
    result $? "$file: $wanted" "status $status, found: $(findings "$work/json" | head -n 4 | tr '\n' ';')"
  fi
  rm -f "$work/json"
done
sample_note programs 'tests/core/inspect/test_programs.sh'
finish
