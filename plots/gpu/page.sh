#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes what GPU checks recorded into the pages: the model's times beside measured ones into docs/model.md, the inspector's counts
# beside ncu's into docs/inspector.md, a table and a scatter plot each. `plots/gpu/page.sh --help` says how.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<'END'
usage: plots/gpu/page.sh [options]     (part of make plots-recorded)
  --recorded DIR  where the recorded checks are, a folder each
                  (plots/recorded/gpu)
  --docs DIR      where the pages are (docs)
  --check         change nothing: end with status 1 where a page does not have
                  what the recorded checks say
  --help          this text
END
}

recorded=plots/recorded/gpu docs=docs check=
while [ $# -gt 0 ]; do
  case $1 in
  --recorded | --docs)
    declare "${1#--}=${2:?$1 needs a value after it}"
    shift
    ;;
  --check) check=1 ;;
  --help | -h)
    usage
    exit 0
    ;;
  *)
    echo "plots/gpu/page.sh: unknown option $1 (see --help)" >&2
    exit 2
    ;;
  esac
  shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The newest check of each GPU: a folder is NAME-DATE, so the last one of a name is the newest. Simulated ones are left out.
newest_checks() {
  local folder
  for folder in "$recorded"/*-????-??-??; do
    grep -qx $'# simulated\tno' "$folder/machine.tsv" 2>/dev/null && echo "$folder"
  done | LC_ALL=C sort | awk '{ name = $0; sub(/-[0-9]+-[0-9]+-[0-9]+$/, "", name); last[name] = $0 } END { for (n in last) print last[n] }' | LC_ALL=C sort
}

of_machine() { # FOLDER KEY
  sed -n "s/^# $2	//p" "$1/machine.tsv" | head -n 1
}

write_part() { # PART FILE PICTURE: for each check its heading and table, or that there is none
  local folder any=
  for folder in $(newest_checks); do
    [ "$(wc -l <"$folder/$2" 2>/dev/null || echo 0)" -gt 1 ] || continue
    any=1
    printf '%s, driver %s, nvcc %s; measured on %s at commit %s.\n\n' "$(of_machine "$folder" gpu | cut -d, -f1)" \
      "$(of_machine "$folder" gpu | awk -F ', ' '{ print $4 }')" "$(of_machine "$folder" nvcc)" "$(of_machine "$folder" date)" "$(of_machine "$folder" commit)"
    awk -f "plots/gpu/$1.awk" "$folder/$2"
    echo
    awk -F '\t' 'NR > 1' "$folder/$2" >>"$work/$1.points"
  done >"$work/$1.table"
  if [ -n "$any" ]; then
    printf '<picture><source media="(prefers-color-scheme: dark)" srcset="images/gpu-%s-dark.svg"><img alt="%s" src="images/gpu-%s-light.svg"></picture>\n\n' \
      "$1" "$3" "$1" >"$work/$1"
    cat "$work/$1.table" >>"$work/$1"
  else
    echo "No GPU has been measured yet; [the GPU check](gpu_check.md) explains how to measure one." >"$work/$1"
  fi
}

fill() { # PAGE
  awk -v mark=gpu -v work="$work" -f plots/fill.awk "$docs/$1" >"$work/page"
  if [ -n "$check" ]; then
    diff "$docs/$1" "$work/page" >&2 || {
      echo "plots/gpu/page.sh: $docs/$1 does not have what $recorded says; make plots-recorded" >&2
      exit 1
    }
  else
    cp "$work/page" "$docs/$1"
  fi
}

write_part times times.tsv 'Modeled against measured times, a point for each kernel'
write_part counters counters.tsv "The inspector's counts against ncu's, a point for each kernel and counter"
fill model.md
fill inspector.md
[ -z "$check" ] || exit 0
if ! command -v gnuplot >/dev/null 2>&1; then
  echo 'plots: gnuplot is not installed, so no picture of recorded GPU checks is drawn (Debian: apt-get install gnuplot-nox)' >&2
  exit 0
fi
for part in times counters; do
  [ -s "$work/$part.points" ] || continue
  for theme in light dark; do
    LC_ALL=C.UTF-8 gnuplot -e "theme='$theme'; format='svg'; folder='plots'; part='$part'; points='$work/$part.points'" \
      -e "out='$docs/images/gpu-$part-$theme.svg'" plots/gpu/scatter.gp
  done
done
