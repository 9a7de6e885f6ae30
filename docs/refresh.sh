#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# refresh.sh: renews the listings and outputs in README.md and docs/*.md. `docs/refresh.sh --help` says how.
#
# In a page, a marker stands on the line before a fenced block and says what the block holds:
#
#   <!-- code chapters/03_tensor_moves.c to -->      the lines between `// [to]` and `// [end]` of that file
#   <!-- output chapters/03_tensor_moves -->         what that program prints
#   <!-- output chapters/03_tensor_moves 4 -->       section 4 of what it prints, without the heading
#   <!-- output chapters/03_tensor_moves 0 -->       its lines before the first heading
#   <!-- output chapters/03_tensor_moves 4 --device cpu -->   section 4 of what it prints with these arguments
#   <!-- output chapters/03_tensor_moves 4 FERRY_SIM_GPU=a100 -->   the same in that environment: NAME=VALUE come first
#   <!-- output ferry - scale --list -->             all that it prints with these arguments
#   <!-- output ferry /^strided/ FERRY_SIM_GPU=a100 inspect chapters/22_global_memory.cu --table -->   of a table of kernels the rows
#                                                    that match (one run serves a page's parts of it); - has all of them
#   <!-- printed -->                                 before a line: renewed with machine and date when outputs are
set -eu
cd "$(dirname "$0")/.."

usage() {
  cat <<'END'
usage: docs/refresh.sh [--check | --code | --outputs] [PAGE...]
  (nothing)   renew the listings, and run the chapters and renew their outputs
  --code      renew the listings only
  --outputs   renew the outputs only; times are those of that run, on the machine and date that the page then names
  --check     change nothing; exit 1 and show the difference where a listing is not what its source says
  PAGE...     these pages only (default: README.md and docs/*.md)
environment: FERRY_BUILD, where the chapter programs are (default: build)
END
}

mode=all
case ${1:-} in
--check | --code | --outputs)
  mode=${1#--}
  shift
  ;;
--help | -h)
  usage
  exit 0
  ;;
-*)
  echo "docs/refresh.sh: unknown option $1" >&2
  usage >&2
  exit 2
  ;;
esac
if [ $# -eq 0 ]; then
  set -- README.md docs/*.md
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The lines of region NAME of FILE, without the indentation of its first line.
region() { # FILE NAME
  awk -v name="$2" '
    $0 ~ "^[ \t]*// \\[" name "\\]$" { inside = 1; found = 1; next }
    inside && /^[ \t]*\/\/ \[end\]$/ { closed = 1; exit }
    inside {
      if (!started) { match($0, /^ */); indent = RLENGTH; started = 1 }
      match($0, /^ */)
      print substr($0, 1 + (RLENGTH < indent ? RLENGTH : indent))
    }
    END { exit !(found && closed) }' "$1"
}

# Section NUMBER of a chapter's output, without blank lines around it.
section() { # FILE NUMBER
  awk -v number="$2" '
    $0 ~ "^" (current + 1) "\\. " { current++; next }
    current == number { lines[n++] = $0; if ($0 != "") last = n }
    END {
      for (i = 0; i < last && lines[i] == ""; i++);
      for (; i < last; i++) print lines[i]
      exit !last
    }' "$1"
}

# Of a table of ./ferry inspect, its titles and the kernels whose names match.
rows() { # FILE EXPRESSION
  awk -v wanted="$2" '
    !titles { print; titles = /^kernel / }
    titles && $0 !~ /^kernel / && $1 ~ wanted { print; found = 1 }
    END { exit !found }' "$1"
}

# What PROGRAM prints, run once with the same arguments per call of this script; arguments NAME=VALUE are its environment.
output_of() { # PROGRAM ARGUMENT...
  local file program=$1 environment=()
  shift
  file="$work/$(basename "$program")$(printf '%s' "$*" | tr -c 'a-z0-9' _).txt"
  if [ ! -e "$file" ]; then
    echo "running $program${*:+ $*}" >&2
    while [[ ${1:-} =~ ^[A-Z_]+= ]]; do
      environment+=("$1")
      shift
    done
    # ./ferry ends with status 1 when it has found something, which may be what the page is about.
    env "${environment[@]}" "${FERRY_BUILD:-build}/$program" "$@" >"$file" </dev/null || [ "$program" = ferry ]
  fi
  printf '%s' "$file"
}

printed_line() {
  local cpu
  cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
  printf '*The outputs on this page were printed on %s, %s cores, on %s.*\n' "${cpu:-a machine with a CPU}" "$(nproc)" \
    "$(date +%Y-%m-%d)"
}

# Writes the new content of the block that MARKER announces to $work/block; fails when the block stays as it is.
new_block() { # MARKER PAGE
  local words
  read -r -a words <<<"$(sed -E 's/^<!-- (.*) -->$/\1/' <<<"$1")"
  case ${words[0]} in
  code)
    if [ "$mode" = outputs ]; then
      return 1
    fi
    if ! region "${words[1]}" "${words[2]}" >"$work/block"; then
      echo "$2: there is no region [${words[2]}] with an end in ${words[1]}" >&2
      exit 1
    fi
    ;;
  output)
    if [ "$mode" != all ] && [ "$mode" != outputs ]; then
      return 1
    fi
    local file
    file=$(output_of "${words[1]}" "${words[@]:3}")
    if [ ${#words[@]} -lt 3 ] || [ "${words[2]}" = - ]; then
      cat "$file" >"$work/block"
    elif [[ ${words[2]} == /*/ ]]; then
      if ! rows "$file" "${words[2]:1:-1}" >"$work/block"; then
        echo "$2: ${words[*]:1} prints no row ${words[2]}" >&2
        exit 1
      fi
    elif ! section "$file" "${words[2]}" >"$work/block"; then
      echo "$2: ${words[1]} prints no section ${words[2]}" >&2
      exit 1
    fi
    ;;
  esac
}

# PAGE with its blocks renewed, on standard output.
renewed() { # PAGE
  local line fence
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line"
    case $line in
    '<!-- code '*' -->' | '<!-- output '*' -->')
      IFS= read -r fence || true
      if [[ $fence != '```'* ]]; then
        echo "$1: no fenced block after $line" >&2
        exit 1
      fi
      printf '%s\n' "$fence"
      if new_block "$line" "$1"; then
        cat "$work/block"
        while IFS= read -r line && [ "$line" != '```' ]; do
          :
        done
        printf '```\n'
      fi
      ;;
    '<!-- printed -->')
      IFS= read -r line || true
      if [ "$mode" = all ] || [ "$mode" = outputs ]; then
        printed_line
        if [[ $line != '*'* ]]; then # the first time there is no line to replace
          printf '%s\n' "$line"
        fi
      else
        printf '%s\n' "$line"
      fi
      ;;
    esac
  done <"$1"
}

differences=0
for page in "$@"; do
  renewed "$page" >"$work/page"
  if cmp -s "$page" "$work/page"; then
    continue
  fi
  if [ "$mode" = check ]; then
    diff -u --label "$page" --label "$page, renewed" "$page" "$work/page" || true
    differences=$((differences + 1))
  else
    cat "$work/page" >"$page"
    echo "renewed $page"
  fi
done
if [ $differences -gt 0 ]; then
  echo "$differences pages differ from their sources: run docs/refresh.sh --code" >&2
  exit 1
fi
