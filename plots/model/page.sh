#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares the modeled GPU with published measurements: fills in the tables of docs/model.md and draws its picture.
set -euo pipefail
cd "$(dirname "$0")/../.."

usage() {
  cat <<'END'
usage: plots/model/page.sh [options]     (make model ARGS="[options]")
  --build DIR    where the build is (build)
  --page FILE    the page to fill in (docs/model.md)
  --check        change nothing: end with status 1 where the page's tables are not what the model says
  --help         this text
END
}

build=build page=docs/model.md check=
while [ $# -gt 0 ]; do
  case $1 in
  --build | --page)
    declare "${1#--}=${2:?$1 needs a value after it}"
    shift
    ;;
  --check) check=1 ;;
  --help | -h)
    usage
    exit 0
    ;;
  *)
    echo "plots/model/page.sh: unknown option $1 (see --help)" >&2
    exit 2
    ;;
  esac
  shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tables=plots/published/tables.tsv
for part in fitted held apart worst parameters rows; do
  "$build/plots/model/check" $tables $part >"$work/$part"
done

awk -v mark=model -v work="$work" -f plots/fill.awk "$page" >"$work/page"
if [ -n "$check" ]; then
  diff "$page" "$work/page" >&2 || {
    echo "plots/model/page.sh: $page is not what the model says now; make model" >&2
    exit 1
  }
  exit 0
fi
cp "$work/page" "$page"
echo "model: $page"
if ! command -v gnuplot >/dev/null 2>&1; then
  echo 'model: gnuplot is not installed, so no picture is drawn (Debian: apt-get install gnuplot-nox)' >&2
  exit 0
fi
for theme in light dark; do
  LC_ALL=C.UTF-8 gnuplot -e "theme='$theme'; format='svg'; rows='$work/rows'; folder='plots'; out='docs/images/model-$theme.svg'" plots/model/model.gp
done
echo 'model: docs/images/model-light.svg, docs/images/model-dark.svg'
