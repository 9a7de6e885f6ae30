#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernels that the lessons show, all of a launch's blocks looked at where that takes seconds, and a few of them elsewhere, by
# several workers at a time: what is found is what is wrong on purpose, and nothing else.
# run: FERRY_SIM_DEVICES=2 FERRY_SIM_THREADS=4
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
export FERRY_SIM_DEVICES=2 FERRY_SIM_THREADS=4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of a file "kind kernel", a line for each finding.
meant() {
  [ "$1" != chapters/kernels/transpose.cu ] || printf '%s hasty\n' race-block race-warp
}

finds_what_is_meant() { # FILE [OPTIONS]
  "$ferry" inspect "$1" --no-registers --quiet "${@:2}" --json "$work/json" >"$work/out" 2>&1
  local status=$?
  sed -nE 's/^\{"type": "finding", "kind": "([a-z-]+)", .*"kernel": "([a-zA-Z_0-9]+)".*/\1 \2/p' "$work/json" | sort -u >"$work/found"
  cmp -s <(meant "$1") "$work/found" && [ "$status" = "$([ -s "$work/found" ] && echo 1 || echo 0)" ]
  result $? "$*: $([ -s "$work/found" ] && echo 'what is wrong on purpose' || echo 'no finding')" \
    "status $status: $(head -n 4 "$work/out" | tr '\n' ' ')"
}

for file in chapters/2[3-9]*.cu chapters/3*.cu; do
  finds_what_is_meant "$file" --blocks 4
done
for file in chapters/19*.cu chapters/2[0-2]*.cu chapters/kernels/*.cu; do
  finds_what_is_meant "$file"
done
finish
