#!/usr/bin/env bash
# The rooms of core/ stand on one another as core/README.md says: its table lists for each room the ones that it includes from,
# and there is no circle.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "room lower" for each pair of the table, and a line "room" for each row
awk -F '|' '/^\| `[a-z]+\/` \|.*\|.*\|.*\|/ {
  gsub(/[` \/]+/, " ", $2); gsub(/`/, "", $5); n = split($5, lower, " "); print $2 > rows
  for (i = 1; i <= n; i++) print $2, lower[i] }' rows="$work/rows" core/README.md | awk '{ print $1, $2 }' | sort >"$work/told"
awk '{ print $1 }' "$work/rows" | sort >"$work/rooms"
(cd core && grep -rE '^ *# *include "[a-z]+/' . --include='*.[ch]' --include='*.cu' --include='*.cuh') |
  sed -nE 's@^\./([a-z]+)/.*include "([a-z]+)/.*@\1 \2@p' | awk '$1 != $2' | sort -u >"$work/found"

same() { # NAME TOLD FOUND
  difference=$(diff "$2" "$3")
  result $? "$1" "told in core/README.md (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ')"
}
same 'every folder of core/ has a row' "$work/rooms" <(cd core && printf '%s\n' */ | tr -d / | sort)
same 'rooms include from those that their rows list, and from no others' "$work/told" "$work/found"

circle=$(tsort "$work/found" 2>&1 >/dev/null)
result $? 'there is no circle of rooms' "$(tr '\n' ' ' <<<"$circle")"
finish
