#!/bin/sh
# chapters.sh BUILD [ARGUMENT...]: runs the chapter programs in order, each with the arguments; stops at the first
# failure. A chapter on kernels (.cu) runs as nvcc built it where that is done and a GPU is there, else on simulated devices.
set -eu
build=$1
shift
ran=0
gpu=
if [ -e /dev/nvidiactl ] && [ "${FERRY_CUDA:-real}" = real ]; then
  gpu=yes
fi
for source in chapters/[0-9]*.c chapters/[0-9]*.cu; do
  [ -e "$source" ] || continue
  chapter=$(basename "$source")
  chapter=${chapter%.c*}
  program=$build/chapters/$chapter
  if [ "$gpu" ] && [ "${source%.cu}" != "$source" ] && [ -x "build/cuda/chapters/$chapter" ]; then
    program=build/cuda/chapters/$chapter
  fi
  printf '\n==== %s %s\n\n' "$chapter" "$*"
  status=0
  "$program" "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '\nchapter %s stopped with status %s; run it alone: %s %s\n' \
      "$chapter" "$status" "$program" "$*" >&2
    exit 1
  fi
  ran=$((ran + 1))
done
printf '\n%s chapters ran.\n' "$ran"
