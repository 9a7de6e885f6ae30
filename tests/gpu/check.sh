#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The GPU check: stages in order of value, each with a time budget, each leaving its results in files while it runs.
# `tests/gpu/check.sh --help` says how; docs/gpu_check.md is the reader's page. A stage is a script in tests/gpu/stages.
set -u
cd "$(dirname "$0")/../.." || exit 2

stages=(build smoke ops kernels counters times)
budgets=(120 15 90 90 75 90)
abouts=(
  'compile what the other stages need'
  'a device, a copy, a kernel, a cuBLAS product, a graph'
  'every op against PyTorch, allocator, streams, autocast, graphs, NCCL'
  'chapters and exercises on kernels; compute-sanitizer'
  'ncu beside the inspector, on ladders of kernels'
  'the same kernels timed beside the model; benchmarks; PyTorch'
)

usage() {
  cat <<'END'
usage: make gpu-check ARGS="[options]"

Tests and measures Ferry on an NVIDIA GPU, in stages with time budgets.

--minutes N    how long all chosen stages may take together; without it, the
               sum of their budgets (8 minutes for all)
--out DIR      where the results go (build/gpu-check). An existing folder is
               continued: a stage that runs again replaces its own results
--only STAGE   this stage alone
--from STAGE   this stage and those after it
--list         the stages, their budgets and what they do
--dry-run      on a simulated device, with stand-ins for nvidia-smi, ncu and
               compute-sanitizer: tests the check itself, and needs no GPU

Exit status: 0 nothing failed (a stage that ran out of time is "cut"), 1
something failed, 2 wrong command line, or no GPU.
END
}

fail_usage() {
  echo "gpu-check: $1" >&2
  echo 'try: make gpu-check ARGS=--help' >&2
  exit 2
}

index_of() { # STAGE: its index in $at
  for at in "${!stages[@]}"; do
    [ "${stages[at]}" != "$1" ] || return 0
  done
  fail_usage "there is no stage '$1'; the stages are: ${stages[*]}"
}

minutes='' out=build/gpu-check first=0 last=$((${#stages[@]} - 1)) dry='' make=make build=build
while [ $# -gt 0 ]; do
  case $1 in
  --minutes | --out | --only | --from | --make | --build) [ $# -gt 1 ] || fail_usage "$1 needs a value" ;;&
  --minutes)
    [[ $2 =~ ^([1-9][0-9]?|0?\.[0-9]+|[1-9]\.[0-9]+)$ ]] || fail_usage "--minutes takes a number from 0.1 to 99, not '$2'"
    minutes=$2
    shift
    ;;
  --out) out=$2 && shift ;;
  --only) index_of "$2" && first=$at last=$at && shift ;;
  --from) index_of "$2" && first=$at && shift ;;
  --make) make=$2 && shift ;; # how the Makefile calls make
  --build) build=$2 && shift ;;
  --list)
    for at in "${!stages[@]}"; do
      printf '%-9s %4s s  %s\n' "${stages[at]}" "${budgets[at]}" "${abouts[at]}"
    done
    exit 0
    ;;
  --dry-run) dry=yes ;;
  --help | -h)
    usage
    exit 0
    ;;
  *) fail_usage "unknown option '$1'" ;;
  esac
  shift
done

# ---- the machine -----------------------------------------------------------------------------------------------------------------------

export GPU_DRY=$dry GPU_MAKE=$make GPU_BUILD=$build FERRY_BUILD=$build
if [ -n "$dry" ]; then
  PATH=$PWD/tests/gpu/fake:$PATH
  export FERRY_CUDA=sim FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads
else
  export FERRY_CUDA=real
fi
gpu=$(nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
if [ -z "$gpu" ]; then
  echo 'gpu-check: no NVIDIA GPU here (nvidia-smi finds none), so there is nothing to check.' >&2
  echo 'make test runs the same tests on simulated devices; --dry-run tries the check itself.' >&2
  exit 2
fi
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
export GPU_OUT=$out GPU_NAME=${gpu%%,*}

{
  printf '# gpu\t%s\n' "$gpu"
  printf '# simulated\t%s\n' "${dry:-no}"
  printf '# nvcc\t%s\n' "$({ nvcc --version || "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" --version; } 2>/dev/null | sed -n 's/.*release //p')"
  printf '# compiler\t%s\n' "$(${CC:-gcc} --version 2>/dev/null | head -n 1)"
  printf '# cpu\t%s, %s cores\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  printf '# commit\t%s\n' "$(git describe --always --dirty=+ --match '' 2>/dev/null || echo unknown)"
  printf '# date\t%s\n' "$(date +%Y-%m-%d)"
} >"$out/machine.tsv"

# ---- the stages ------------------------------------------------------------------------------------------------------------------------

rows() { # STATUS STAGE: how many results have it
  awk -F '\t' -v status="$1" -v stage="$2" '$1 == stage && $4 == status { n++ } END { print n + 0 }' "$out/results.tsv"
}

# The files that tools read are made again after each stage, so that an interrupted check leaves them whole.
write_summary() {
  awk -f tests/gpu/junit.awk "$out/results.tsv" >"$out/junit.xml.new" && mv "$out/junit.xml.new" "$out/junit.xml"
  {
    printf '\n%-9s %7s %7s %7s %7s %7s\n' stage seconds passed failed skipped cut
    for ((i = 0; i < ${#stages[@]}; i++)); do
      seconds=$(awk -F '\t' -v stage="${stages[i]}" '$1 == stage { print $2 }' "$out/stages.tsv" | tail -n 1)
      [ -n "$seconds" ] || continue
      printf '%-9s %7s %7s %7s %7s %7s\n' "${stages[i]}" "$seconds" "$(rows passed "${stages[i]}")" "$(rows failed "${stages[i]}")" \
        "$(rows skipped "${stages[i]}")" "$(rows cut "${stages[i]}")"
    done
    failures=$(awk -F '\t' '$4 == "failed"' "$out/results.tsv" | wc -l)
    if [ "$failures" -gt 0 ]; then
      printf '\nfailed%s:\n' "$([ "$failures" -le 36 ] || echo ", the first 36 of $failures")"
      awk -F '\t' '$4 == "failed" { print substr("  " $1 ": " $2 ($3 == "" ? "" : ": " $3) ($6 == "" ? "" : " - " $6), 1, 132) }' \
        "$out/results.tsv" | head -n 36
    fi
    printf '\nresults: %s\n' "$out"
  } >"$out/summary.txt"
}

run_stage() { # INDEX SECONDS
  local stage=${stages[$1]} from=$EPOCHREALTIME status
  for file in results stages counters times; do # what an earlier run of this stage left
    touch "$out/$file.tsv"
    case $file in
    results | stages) awk -F '\t' -v stage="$stage" '$1 != stage' "$out/$file.tsv" >"$out/$file.tsv.new" && mv "$out/$file.tsv.new" "$out/$file.tsv" ;;
    "$stage") : >"$out/$file.tsv" ;;
    esac
  done
  printf '\n== %s: %s (up to %s s)\n\n' "$stage" "${abouts[$1]}" "$2" | tee -a "$out/log.txt"
  GPU_STAGE=$stage GPU_DEADLINE=$(awk -v now="$EPOCHREALTIME" -v seconds="$2" 'BEGIN { printf "%.1f", now + seconds }') \
    timeout --kill-after=2 "$2" bash "tests/gpu/stages/$stage.sh" </dev/null > >(tee -a "$out/log.txt") 2>&1 &
  running=$!
  wait $running
  status=$?
  running=
  case $status in
  0) ;;
  124 | 137) printf '%s\t%s\t%s\tcut\t%s\t%s\n' "$stage" 'the stage' '' "$2" 'stopped at the end of its budget' >>"$out/results.tsv" ;;
  *) printf '%s\t%s\t%s\tfailed\t%s\t%s\n' "$stage" 'the stage' '' 0 "its script ended with status $status" >>"$out/results.tsv" ;;
  esac
  printf '%s\t%s\t%s\n' "$stage" "$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')" "$2" >>"$out/stages.tsv"
  write_summary
}

total=0
for ((at = first; at <= last; at++)); do total=$((total + budgets[at])); done
scale=$(awk -v minutes="$minutes" -v total="$total" 'BEGIN { print minutes == "" ? 1 : 60 * minutes / total }')
began=$EPOCHREALTIME planned=0
echo "GPU: $gpu"
running=
stop() {
  running=$(jobs -p) # also a stage that began just now, before `running` was set
  # shellcheck disable=SC2086
  [ -z "$running" ] || { kill $running && wait $running; }
  write_summary
  exit 130
}
trap stop INT TERM
for ((at = first; at <= last; at++)); do
  # A stage's time ends where its budget and those of the stages before it end: what one leaves, the next ones have.
  planned=$((planned + budgets[at]))
  seconds=$(awk -v a="$began" -v b="$EPOCHREALTIME" -v until="$planned" -v scale="$scale" \
    'BEGIN { s = until * scale - (b - a); printf "%d", s < 1 ? 1 : s }')
  run_stage "$at" "$seconds"
done
cat "$out/summary.txt"
[ "$failures" = 0 ] # counted by write_summary
