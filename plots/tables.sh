#!/bin/sh
# SPDX-License-Identifier: MIT
# tables.sh NAME FILE: a table in Markdown from a result file.
#   ceilings, operations, training   from a file of ./ferry bench on the CPU
#   torch-default, torch-two, torch-tuned, torch-busy, torch-slow-down, torch-memory   from a file of make bench-torch
#   ranks-training, ranks-all_reduce   from a file of make bench-ranks
# tables.sh --refresh PAGE BENCH-FILE TORCH-FILE RANKS-FILE: puts them into PAGE, each behind its line `<!-- table NAME -->`, in
# place of the table that stands there.
set -eu
here=$(dirname "$0")

table() {
  case $1 in
  ceilings | operations | training) awk -v table="$1" -f "$here/tables.awk" "$2" ;;
  ranks-*) awk -v part="${1#ranks-}" -f "$here/tables_ranks.awk" "$2" ;;
  torch-*) awk -v row="${1#torch-}" -f "$here/tables_torch.awk" "$2" ;;
  *)
    echo "tables.sh: there is no table $1" >&2
    exit 2
    ;;
  esac
}

if [ "${1:-}" != --refresh ]; then
  [ $# = 2 ] || {
    sed -n '2,7s/^# //p' "$0" >&2
    exit 2
  }
  table "$1" "$2"
  exit
fi

page=$2 bench=$3 torch=$4 ranks=${5:-}
new=$(mktemp)
trap 'rm -f "$new"' EXIT
skipping=
while IFS= read -r line; do
  case $line in
  '<!-- table '*' -->')
    name=${line#<!-- table }
    name=${name% -->}
    printf '%s\n' "$line"
    case $name in
    torch-*) table "$name" "$torch" ;;
    ranks-*) table "$name" "$ranks" ;;
    *) table "$name" "$bench" ;;
    esac
    skipping=1
    ;;
  '|'*) [ -n "$skipping" ] || printf '%s\n' "$line" ;;
  *)
    skipping=
    printf '%s\n' "$line"
    ;;
  esac
done <"$page" >"$new"
cat "$new" >"$page"
