#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry bench --simulator: kernels on the simulator, beside HIP-CPU and PoCL where they are, in turn.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/plots/simulator
hip=
rounds=3
work=$root/build/plots/simulator
usage() {
  cat <<END
usage: ./ferry bench --simulator [options]

Seven kernels on the simulated device with 2 workers and with 4, and what a launch costs: smallest times of several rounds, in which
the programs take turns. Beside them HIP-CPU and PoCL run the same kernels where they are there. Times of this machine; none of
them says anything about a GPU.

  --hip-cpu DIR   a checkout of HIP-CPU (headers alone; libtbb-dev is needed, too)
  --rounds N      rounds of all programs (default 3)
  --cpu           what all threads spent on a processor, with one worker, in place of the time that passed: for a machine that is
                  shared. PoCL and HIP-CPU use as many threads as there are cores.
  --help          this text
END
}
cpu=
while [ $# -gt 0 ]; do
  case $1 in
    --simulator) ;;
    --hip-cpu) hip=${2:?--hip-cpu takes a directory}; shift ;;
    --rounds) rounds=${2:?--rounds takes a number}; shift ;;
    --cpu) cpu=1 ;;
    --help) usage; exit 0 ;;
    *) echo "ferry bench --simulator: $1 is no option (see --help)" >&2; exit 2 ;;
  esac
  shift
done
case $rounds in '' | *[!0-9]* | 0) echo "ferry bench --simulator: --rounds takes a number from 1" >&2; exit 2 ;; esac

mkdir -p "$work"
programs=(ferry)
echo "Ferry: compiling" >&2
"$root/build/ferry" nvcc -I"$here" "$here/simulator.cu" -o "$work/ferry"

said=
if [ -z "$hip" ]; then
  said+="HIP-CPU was not run: --hip-cpu DIR says where it is."$'\n'
elif echo "HIP-CPU: compiling" >&2 &&
  g++ -std=c++17 -O3 -march=native -w -I"$hip/include" -I"$here" "$here/hip.cpp" -o "$work/hip" -ltbb -lpthread 2>"$work/hip.log"; then
  programs+=(hip)
else
  said+="HIP-CPU was not run: it did not compile ($work/hip.log)."$'\n'
fi
if gcc -std=c17 -O2 -w -D_GNU_SOURCE -I"$here" "$here/opencl.c" -o "$work/opencl" -lOpenCL -lm 2>"$work/opencl.log" &&
  SIMULATOR_CLOCK= "$work/opencl" pocl "$here/kernels.cl" >"$work/opencl.log" 2>&1; then
  programs+=(opencl)
else
  said+="PoCL was not run: it takes the packages pocl-opencl-icd, ocl-icd-opencl-dev and opencl-headers ($work/opencl.log)."$'\n'
fi

[ -z "$cpu" ] || export SIMULATOR_CLOCK=cpu
: >"$work/times.tsv"
for ((round = 1; round <= rounds; round++)); do
  echo "round $round of $rounds" >&2
  for program in "${programs[@]}"; do
    case $program in
      ferry)
        if [ -n "$cpu" ]; then
          FERRY_SIM_THREADS=1 "$work/ferry" ferry
        else
          FERRY_SIM_THREADS=2 "$work/ferry" ferry
          FERRY_SIM_THREADS=4 "$work/ferry" ferry-4
        fi ;;
      hip) "$work/hip" hip-cpu ;;
      opencl) "$work/opencl" pocl "$here/kernels.cl" ;;
    esac
  done >>"$work/times.tsv"
done

awk -F'\t' '
  { key = $1 SUBSEP $2
    if (!(key in best) || $3 < best[key]) best[key] = $3
    if ($4 != "right") wrong[key] = "*"
    if (!($2 in seen)) { seen[$2] = 1; row[++rows] = $2 }
    if (!($1 in column)) { column[$1] = 1; name[++columns] = $1 } }
  END {
    printf "| ms |"; for (c = 1; c <= columns; c++) printf " %s |", name[c]
    printf "\n| --- |"; for (c = 1; c <= columns; c++) printf " ---: |"
    print ""
    for (r = 1; r <= rows; r++) {
      printf "| %s |", row[r]
      for (c = 1; c <= columns; c++) {
        key = name[c] SUBSEP row[r]
        if (key in best) printf " %.3g%s |", best[key], wrong[key]; else printf " - |"
        if (wrong[key] != "") any = 1
      }
      print ""
    }
    if (any) print "\n\\* a wrong result"
  }' "$work/times.tsv"
printf '%s' "$said"
