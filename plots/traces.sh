#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Draws the lessons' pictures of traces into docs/images: profiles of chapters 8, 14 and 16 on simulated devices, which the
# pictures say. `plots/traces.sh --help` says how.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build out=docs/images
while [ $# -gt 0 ]; do
  case $1 in
  --build | --out)
    [ $# -gt 1 ] || { echo "plots/traces.sh: $1 needs a value after it" >&2; exit 2; }
    declare "${1#--}=$2"
    shift
    ;;
  --help | -h)
    echo 'usage: plots/traces.sh [--build DIR] [--out DIR]     (build, docs/images)'
    exit 0
    ;;
  *)
    echo "plots/traces.sh: unknown option $1 (see --help)" >&2
    exit 2
    ;;
  esac
  shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FERRY_CUDA=sim FERRY_SIM_DEVICES=1

picture() { # TRACE NAME TITLE OPTION...
  local theme trace=$1 name=$2 title=$3
  shift 3
  for theme in light dark; do
    "$build/plots/trace/trace" "$work/$trace.json" -o "$out/$name-$theme.svg" --theme "$theme" --title "$title" "$@"
  done
}

"$build/chapters/08_data_pipeline" --quick --device cuda --traces "$work" >"$work/log"
picture waiting trace_waiting 'Copy, compute, wait' --depth 2
picture prefetching trace_prefetching 'With a prefetcher' --depth 2
"$build/chapters/14_profiling" --quick --device cuda --trace "$work/steps.json" >"$work/log"
picture steps trace_steps 'Two steps of chapter 14' --depth 4
if command -v mpirun >/dev/null && [ -e build/libferry-mpi.so ]; then
  FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads "$build/chapters/16_distributed" --quick --device cuda --trace "$work/buckets.json" >"$work/log"
  picture buckets trace_buckets 'One of two ranks: a step of chapter 16' --depth 2
else
  echo 'plots/traces.sh: the picture of chapter 16 is left as it is: it needs Open MPI' >&2
fi
