#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# chapters.sh BUILD [--verbose] [ARGUMENT...]: runs the chapter programs in order, each with the arguments; stops at the first
# failure. Each is a line with its device, time and result; what it printed stands in BUILD/run/NN.txt, and --verbose shows it
# as well. A chapter on kernels (.cu) runs as nvcc built it where that is done and a GPU is there, else on simulated devices.
# Environment: CHAPTERS, a folder of chapters other than chapters/.
set -eu
build=$1
chapters=${CHAPTERS:-chapters}
shift
verbose='' arguments=()
for argument; do
  if [ "$argument" = --verbose ]; then
    verbose=yes
  else
    arguments+=("$argument")
  fi
done
gpu=
if [ -e /dev/nvidiactl ] && [ "${FERRY_CUDA:-real}" = real ]; then
  gpu=yes
fi

# A chapter's program: "chapters/NAME", or nvcc's.
program_of() { # SOURCE
  local name
  name=$(basename "$1")
  name=${name%.c*}
  if [ "$gpu" ] && [ "${1%.cu}" != "$1" ] && [ -x "build/cuda/chapters/$name" ]; then
    echo "build/cuda/chapters/$name"
  else
    echo "$build/chapters/$name"
  fi
}

# "03_tensor_moves": "03 tensor moves"
title_of() { # SOURCE
  local name
  name=$(basename "$1")
  name=${name%.c*}
  echo "${name//_/ }"
}

# Of a chapter's first line, what fits in a table: "cuda:0, simulated".
device_of() { # FILE
  sed -n '1 { s/^device: //; s/^\([a-z0-9:]*\).*simulated:.*/\1, simulated/; s/^\([a-z0-9:]*\).*modeled.*/\1, modeled/; p; }' "$1" |
    cut -c 1-24
}

sources=()
for source in "$chapters"/[0-9]*.c "$chapters"/[0-9]*.cu; do
  [ ! -e "$source" ] || sources+=("$source")
done
folder=$build/run
mkdir -p "$folder"
printf '\nThe chapters%s\n\n' "${arguments[*]:+, ${arguments[*]}}"
ran=0 began=$EPOCHREALTIME
for source in "${sources[@]}"; do
  program=$(program_of "$source")
  number=$(basename "$source" | cut -c 1-2)
  whole=$folder/$number.txt
  if [ "$verbose" ]; then
    printf '\n==== %s %s\n\n' "$(title_of "$source")" "${arguments[*]:-}"
  elif [ -t 1 ]; then
    printf '  %2d of %d  %-26s ...' $((ran + 1)) "${#sources[@]}" "$(title_of "$source")"
  fi
  from=$EPOCHREALTIME
  status=0
  if [ "$verbose" ]; then
    "$program" ${arguments[@]+"${arguments[@]}"} 2>&1 </dev/null | tee "$whole"
    status=${PIPESTATUS[0]}
  else
    "$program" ${arguments[@]+"${arguments[@]}"} >"$whole" 2>&1 </dev/null || status=$?
  fi
  result=ok
  [ "$status" -eq 0 ] || result="stopped, status $status"
  [ ! -t 1 ] || [ "$verbose" ] || printf '\r'
  printf '  %2d of %d  %-26s %-20s %6.1f s  %s\n' $((ran + 1)) "${#sources[@]}" "$(title_of "$source")" "$(device_of "$whole")" \
    "$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" "$result"
  if [ "$status" -ne 0 ]; then
    {
      printf '\nThe end of what it printed (all of it: %s):\n' "$whole"
      tail -n 12 "$whole" | sed 's/^/    /'
      printf '\nchapter %s stopped with status %s; run it alone:\n  %s %s\n' "$number" "$status" "$program" "${arguments[*]:-}"
    } >&2
    exit 1
  fi
  ran=$((ran + 1))
done
printf '\n%s chapters ran in %.0f s.\n' "$ran" "$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
printf 'What chapter 3 printed is in %s/03.txt, and so on; --verbose\nshows it all at once (make run ARGS=--verbose).\n' "$folder"
