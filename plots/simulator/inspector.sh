#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry bench --inspector: the cost of inspection. It compares a plain run, a run with all blocks instrumented, and one with a single
# instrumented block per launch.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/plots/simulator
rounds=2
usage() {
  cat <<END
usage: ./ferry bench --inspector [options]

Eleven kernels on the simulated device, as ./ferry nvcc builds them and as ./ferry inspect does: milliseconds of processor time of one
launch with one worker, the least of several, and as a multiple of the plain run. "instrumented": all blocks; "sampled": one block of each
launch. "by thread": a plain run without work-item loops (FERRY_SIM_SPLIT=0), followed by the instrumented run as a multiple of it.

  --rounds N   rounds of the three (default $rounds)
  --help       this text
END
}
while [ $# -gt 0 ]; do
  case $1 in
    --inspector) ;;
    --rounds) rounds=${2:?--rounds takes a number}; shift ;;
    --help) usage; exit 0 ;;
    *) echo "ferry bench --inspector: $1 is no option (see --help)" >&2; exit 2 ;;
  esac
  shift
done
case $rounds in '' | *[!0-9]* | 0) echo "ferry bench --inspector: --rounds takes a number from 1" >&2; exit 2 ;; esac

mkdir -p "$work"
ferry=${FERRY_BUILD:-$root/build}/ferry source=$root/plots/simulator/inspected.cu times=$work/inspector.tsv
"$ferry" nvcc "$source" -o "$work/inspected"
export SIMULATOR_CLOCK=cpu FERRY_SIM_THREADS=1
: >"$times"
inspect() { # NAME [OPTIONS]
  local status=0
  "$ferry" inspect --nvcc --quiet "$source" "${@:2}" -- "$1" "$times" >"$work/inspector.log" 2>&1 || status=$?
  [ "$status" -le 1 ] || { cat "$work/inspector.log" >&2; exit 1; }
}
for ((round = 1; round <= rounds; round++)); do
  echo "round $round of $rounds" >&2
  "$work/inspected" plain "$times"
  inspect sampled --blocks 1
  "$work/inspected" plain "$times"
  FERRY_SIM_SPLIT=0 "$work/inspected" threads "$times"
  inspect instrumented --blocks all
done

awk -F'\t' '
  { key = $1 SUBSEP $2
    if (!(key in best) || $3 < best[key]) best[key] = $3
    if (!($2 in seen)) { seen[$2] = 1; row[++rows] = $2 } }
  function line(name, plain, all, one, threads) {
    printf "| %s | %.3g | %.3g | %.1f | %.3g | %.1f | %.3g | %.1f |\n", name, plain, all, all / plain, one, one / plain,
      threads, all / threads
  }
  END {
    print "| ms | plain | instrumented | times | sampled | times | by thread | times |"
    print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (r = 1; r <= rows; r++) {
      p = best["plain" SUBSEP row[r]]; a = best["instrumented" SUBSEP row[r]]; l = best["sampled" SUBSEP row[r]]
      t = best["threads" SUBSEP row[r]]
      line(row[r], p, a, l, t)
      plain += p; all += a; one += l; threads += t
    }
    line("**together**", plain, all, one, threads) }' "$times"
