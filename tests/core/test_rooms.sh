#!/usr/bin/env bash
# The rooms of core/ stand on one another as core/README.md says: its table lists for each room the ones that it includes from,
# and no room includes from one that stands above it.
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

# shellcheck disable=SC2016
sed -nE 's@^One circle is left: `([a-z]+)/` includes from `([a-z]+)/`\.$@\1 \2@p' core/README.md >"$work/left"
circle=$(grep -vxFf "$work/left" "$work/found" | tsort 2>&1 >/dev/null)
result $? 'there is no circle of rooms but the one that is told' "$(tr '\n' ' ' <<<"$circle")"
[ ! -s "$work/left" ] || ! tsort "$work/found" >/dev/null 2>&1
result $? 'the circle that is told is one' "$(cat "$work/left") makes none"
finish
