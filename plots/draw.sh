#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures what is not measured yet, and draws the plots. `plots/draw.sh --help` says how.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'END'
usage: plots/draw.sh [options]     (make plots ARGS="[options]")
  --build DIR     where the build is (build)
  --out DIR       where the pictures go (build/plots)
  --fresh         measure again, also what is measured already
  --cpu FILE      draw this result of ./ferry bench as the CPU, and measure nothing
  --gpu FILE      draw this one as the GPU; "none" for none
  --model GPU     the GPU whose modeled times are drawn, dashed (a100); a result file of one; "none" for none
  --recorded DIR  draw the newest recorded files alone (plots/recorded), into DIR; measure nothing
  --formats LIST  "png svg" (both)
  --themes LIST   "light dark" (both)
  --quick         small sizes: shows that the way from measuring to pictures works
  --help          this text
Without --gpu: a GPU of this machine is measured; where there is none, the newest recorded one stands in for it, and the
pictures say so. Results of simulated devices are left out, but for modeled ones, which are labeled.
END
}

refuse() {
  echo "plots/draw.sh: $*" >&2
  exit 2
}

build=build out=build/plots fresh='' cpu='' gpu='' model='' recorded='' formats='png svg' themes='light dark' quick=''
while [ $# -gt 0 ]; do
  case $1 in
  --build | --out | --cpu | --gpu | --model | --recorded | --formats | --themes)
    [ $# -gt 1 ] || refuse "$1 needs a value after it"
    declare "${1#--}=$2"
    shift
    ;;
  --fresh) fresh=1 ;;
  --quick) quick=--quick ;;
  --help | -h)
    usage
    exit 0
    ;;
  *) refuse "unknown option $1 (see --help)" ;;
  esac
  shift
done

for file in "$cpu" "$gpu"; do
  [ -z "$file" ] || [ "$file" = none ] || [ -e "$file" ] || refuse "$file is not there"
done

if ! command -v gnuplot >/dev/null 2>&1; then
  echo 'plots: gnuplot is not installed, so nothing is drawn (Debian: apt-get install gnuplot-nox)' >&2
  exit 0
fi

# ---- which results -------------------------------------------------------------------------------------------------------

header() { # FILE KEY
  sed -n "s/^# $2: *//p" "$1" | head -n 1
}

newest_recorded() { # cpu|cuda BENCHMARK: the path of the one with the latest date that has rows of it, or nothing
  local file
  for file in plots/recorded/*.tsv plots/recorded/gpu/*/bench.tsv; do
    grep -q "^$2	" "$file" 2>/dev/null || continue
    case $(header "$file" device) in
    "$1"*) [ "$(header "$file" simulated)" = no ] && printf '%s\t%s\n' "$(header "$file" date)" "$file" ;;
    esac
  done | sort | tail -n 1 | cut -f 2
}

measure() { # FILE OPTION...
  local file=$1
  shift
  if [ -n "$fresh" ] || [ ! -s "$file" ]; then
    mkdir -p "$(dirname "$file")"
    "$build/plots/bench/bench" --seconds 0.1 $quick --out "$file" "$@" >"$file.log" || {
      cat "$file.log" >&2
      return 1
    }
  fi
}

# A file that somebody names counts as recorded: whether it is of this machine cannot be known.
cpu_recorded=0 gpu_recorded=0
if [ -n "$cpu" ]; then cpu_recorded=1; fi
if [ -n "$gpu" ]; then gpu_recorded=1; fi
if [ -n "$recorded" ]; then
  out=$recorded
  cpu=$(newest_recorded cpu matmul) cpu_recorded=1
  gpu=$(newest_recorded cuda matmul) gpu_recorded=1
  [ -n "$cpu" ] || refuse 'there is no CPU among plots/recorded/*.tsv; plots/recorded/README.md says how to record one'
elif [ -z "$cpu" ]; then
  cpu=$build/plots/data/cpu${quick:+-quick}.tsv
  [ -s "$cpu" ] && [ -z "$fresh" ] || echo 'plots: measuring the CPU, about half a minute'
  measure "$cpu"
  if [ -z "$gpu" ] && FERRY_CUDA=real "$build/plots/bench/bench" --device cuda --quick --out "$build/plots/data/probe.tsv" \
    small_synchronize >/dev/null 2>&1; then
    echo 'plots: measuring the GPU'
    gpu=$build/plots/data/cuda${quick:+-quick}.tsv
    FERRY_CUDA=real measure "$gpu" --device cuda
  fi
fi
if [ -z "$gpu" ]; then
  gpu=$(newest_recorded cuda matmul) gpu_recorded=1
fi
[ "$gpu" != none ] || gpu=

# A modeled GPU's times: computed, so they need neither an idle machine nor a recording of their own.
if [ -z "$model" ]; then
  model=a100
  if [ -n "$recorded" ] || [ $cpu_recorded = 1 ]; then model=none; fi
fi
if [ "$model" = none ]; then
  model=
elif [ ! -e "$model" ]; then
  gpu_name=$model
  model=$build/plots/data/modeled-$gpu_name${quick:+-quick}.tsv
  [ -s "$model" ] && [ -z "$fresh" ] || echo "plots: computing the times of $gpu_name"
  FERRY_CUDA=sim FERRY_SIM_GPU=$gpu_name measure "$model" --device cuda matmul train_100_50_10 train_784_256_128_10 \
    sums_copied_each sums_copied_once
fi

# Chapter 12's counts of gradients, which are no measurement: the recorded ones unless there are new ones.
gradients=plots/recorded/gradients.dat
if [ -z "$recorded" ] && [ $cpu_recorded = 0 ] && [ -x "$build/chapters/12_mixed_precision" ]; then
  gradients=$build/plots/data/gradients${quick:+-quick}.dat
  if [ -n "$fresh" ] || [ ! -s "$gradients" ]; then
    FERRY_CUDA=off "$build/chapters/12_mixed_precision" $quick --epochs 1 --gradients "$gradients" >"$gradients.log"
  fi
fi

# ---- files for gnuplot -----------------------------------------------------------------------------------------------------

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prepare() { # FOLDER CPU-FILE GPU-FILE
  mkdir -p "$1/cpu" "$1/gpu" "$1/model"
  awk -v out="$1/cpu" -v name=cpu -f plots/prepare.awk "$2" >"$1/info.gp"
  if [ -n "$3" ]; then
    awk -v out="$1/gpu" -v name=gpu -f plots/prepare.awk "$3" >>"$1/info.gp"
  fi
  if [ -n "$model" ]; then
    awk -v out="$1/model" -v name=model -v kind=modeled -f plots/prepare.awk "$model" >>"$1/info.gp"
  fi
  echo "cpu_recorded = $cpu_recorded; gpu_recorded = $gpu_recorded" >>"$1/info.gp"
  local file
  for file in "$1"/?pu/*.dat "$1"/model/*.dat; do
    if [ -e "$file" ]; then
      sort -n -o "$file" "$file"
    fi
  done
}
prepare "$work/all" "$cpu" "$gpu"
sed '/^#/d; /^power/d' "$gradients" >"$work/all/gradients.dat"
echo "gradients_about = '$(header "$gradients" gradients)'" | sed "s/'s /’s /" >>"$work/all/info.gp"
# A count of bytes needs no idle machine, so it may be recorded in a file of its own.
timeline=$cpu
if [ -n "$recorded" ]; then
  timeline=$(newest_recorded cpu memory_timeline)
fi
prepare "$work/timeline" "${timeline:-$cpu}" "$gpu"
data_of() { # PLOT: the folder of its files
  case $1 in
  timeline) echo "$work/timeline" ;;
  *) echo "$work/all" ;;
  esac
}
if ! ls "$work"/all/cpu/*.dat >/dev/null 2>&1; then
  refuse "$cpu has no rows to draw (those of simulated devices are not drawn)"
fi

# ---- pictures --------------------------------------------------------------------------------------------------------------

needs() { # PLOT: the rows without which there is nothing to draw
  case $1 in
  speed) echo cpu/matmul-float32 ;;
  bandwidth) echo cpu/copy_host-float32 ;;
  sums) echo cpu/sums_copied_each-float32 cpu/sums_copied_once-float32 ;;
  roofline) echo cpu/ceiling_fma-float32 cpu/ceiling_triad-float32 cpu/matmul-float32 ;;
  roofline_gpu) echo gpu/matmul-float32 gpu/copy_d2d-float32 ;;
  training) echo cpu/train_784_256_128_10-float32 ;;
  scaling) echo cpu/train_threads-float32 ;;
  memory) echo cpu/memory_step-float32 ;;
  gradients) echo gradients ;;
  timeline) echo cpu/memory_timeline-float32 ;;
  esac
}

lacks() { # PLOT: the first of them that is not there
  local rows
  for rows in $(needs "$1"); do
    if [ ! -s "$(data_of "$1")/$rows.dat" ]; then
      echo "$rows"
      return
    fi
  done
}

mkdir -p "$out"
drawn=0
for plot in speed bandwidth sums roofline roofline_gpu training scaling memory timeline gradients; do
  lacking=$(lacks "$plot")
  if [ -n "$lacking" ]; then
    if [ "$plot" != roofline_gpu ]; then
      echo "plots: $plot is left out, $cpu has no rows for $(basename "$lacking" .dat)" >&2
    fi
    continue
  fi
  which=cpu
  if [ "$plot" = roofline_gpu ]; then which=gpu; fi
  for theme in $themes; do
    for format in $formats; do
      LC_ALL=C.UTF-8 gnuplot -e "theme='$theme'; format='$format'; which='$which'; data='$(data_of "$plot")'; folder='plots'; out='$out/$plot-$theme.$format'" \
        "plots/${plot%_gpu}.gp"
      drawn=$((drawn + 1))
    done
  done
done
if [ -n "$gpu" ]; then
  echo "plots: GPU from $gpu"
else
  echo 'plots: no GPU here and none recorded; plots/recorded/README.md says how to add one'
fi
echo "plots: $drawn pictures in $out"
