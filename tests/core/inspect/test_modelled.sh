#!/usr/bin/env bash
# What ./ferry inspect counts of a kernel decides its time on a device that plays a GPU.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for mode in threads lazy sync; do
  FERRY_SIM_GPU=a100 FERRY_SIM_MODE=$mode "$ferry" inspect tests/core/inspect/kernels/modelled.cu >"$work/$mode" 2>"$work/$mode.err"
  grep -hE '^(copy|naive|conflicting|padded) [0-9.]+ us$' "$work/$mode" "$work/$mode.err" | sort -k 2 -n >"$work/times"
  [ "$(awk '{ printf "%s ", $1 }' "$work/times")" = 'copy padded conflicting naive ' ]
  result $? "transpositions in their known order ($mode)" "$(tr '\n' ';' <"$work/times")"
  awk '{ t[$1] = $2 } END { exit !(t["naive"] > 1.8 * t["copy"] && t["naive"] < 20 * t["copy"] && t["copy"] < 10) }' "$work/times"
  result $? "and by factors that a GPU shows ($mode)" "$(tr '\n' ';' <"$work/times")"
  cat "$work/$mode" "$work/$mode.err" | grep -q 'cudasim: times between events are modelled, not measured: .* NVIDIA A100$'
  result $? "labelled as modelled ($mode)" 'no label'
done
cp "$work/threads" "$work/first"
FERRY_SIM_GPU=a100 "$ferry" inspect tests/core/inspect/kernels/modelled.cu --blocks 32 >"$work/sampled" 2>&1
naive() { awk '$1 == "naive" && $3 == "us" { print $2 }' "$@"; }
awk -v a="$(naive "$work/first" "$work/threads.err")" -v b="$(naive "$work/sampled")" 'BEGIN { exit !(a > 0 && b / a > 0.9 && b / a < 1.1) }'
result $? 'counts of some blocks stand for all' "$(naive "$work/first" "$work/threads.err") and $(naive "$work/sampled")"
finish
