#!/bin/sh
# chapters.sh BUILD [ARGUMENT...]: runs the chapter programs in order, each with the arguments; stops at the first
# failure.
set -eu
build=$1
shift
ran=0
for source in chapters/[0-9]*.c; do
  [ -e "$source" ] || continue
  chapter=$(basename "$source" .c)
  printf '\n==== %s %s\n\n' "$chapter" "$*"
  status=0
  "$build/chapters/$chapter" "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '\nchapter %s stopped with status %s; run it alone: %s/chapters/%s %s\n' \
      "$chapter" "$status" "$build" "$chapter" "$*" >&2
    exit 1
  fi
  ran=$((ran + 1))
done
printf '\n%s chapters ran.\n' "$ran"
