#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# progress.sh TITLE MAKE ARGUMENT...: a build on a terminal as one line: how far it is, and how long the rest will take. Elsewhere, and
# with V=1, make's own lines. MAKE may be a command of several words.
set -u
title=$1
shift

# How long a step takes beside a C file, which is 1: a CUDA file and a precompiled header, in a build of `make ferry` on two cores.
weight_of() { # KIND
  case $1 in
  SIM) weight=9 ;;
  PCH) weight=12 ;;
  LINK) weight=2 ;;
  *) weight=1 ;;
  esac
}

total=0 steps=0
if [ -t 1 ] && [ -z "${V:-}" ]; then
  # What make would print, without doing it.
  while read -r kind; do
    weight_of "$kind"
    total=$((total + weight)) steps=$((steps + 1))
  done < <(MAKEFLAGS=$(sed 's/--jobserver[^ ]*//; s/-j[0-9]*//' <<<"${MAKEFLAGS:-}") "$@" -n COUNTING=1 2>/dev/null |
    sed -nE "s/^printf '  %-5s %s\\\\n' '([A-Z]+)' .*/\1/p")
fi
[ "$steps" -gt 20 ] || exec "$@"

duration() { # SECONDS
  if [ "$1" -lt 100 ]; then
    printf '%d s' "$1"
  else
    printf '%d min' $((($1 + 30) / 60))
  fi
}

columns=$(tput cols 2>/dev/null || echo 80)
began=$EPOCHSECONDS built=0 status=1
while IFS= read -r line; do
  took=$((EPOCHSECONDS - began))
  case $line in
  'progress: status '*) status=${line##* } ;;
  '  '[A-Z][A-Z]*\ *)
    read -r kind file <<<"$line"
    weight_of "$kind"
    built=$((built + weight)) left=
    percent=$((100 * built / total))
    [ "$took" -lt 5 ] || [ "$percent" -ge 100 ] || left=", about $(duration $((took * (total - built) / built))) left"
    text="$title: $((percent < 100 ? percent : 100)) %$left  ${file##*/}"
    printf '\r%s\033[K' "${text:0:columns-1}"
    ;;
  *) printf '\r\033[K%s\n' "$line" ;;
  esac
done < <(
  "$@" 2>&1
  echo "progress: status $?"
)
[ "$status" != 0 ] || printf '\r\033[K%s: done in %s\n' "$title" "$(duration "$took")"
exit "$status"
