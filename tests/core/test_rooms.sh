#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The layers of the source tree: the tables in core/README.md and tests/grader/README.md list for each room, that is, folder, the rooms
# that it includes from. Here they are compared with the #include lines, and no two rooms may need each other.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "room lower" for each pair of the tables, and a line "room" for each row
awk -F '|' '/^\| `[a-z\/]+\/` \|.*\|.*\|.*\|/ {
  room = $2; gsub(/[` ]/, "", room); sub(/\/$/, "", room)
  gsub(/`/, "", $5); n = split($5, lower, " "); print room > rows
  for (i = 1; i <= n; i++) print room, lower[i] }' rows="$work/rows" core/README.md tests/grader/README.md | sort >"$work/told"
sort -o "$work/rooms" "$work/rows"

# The room of a path: the longest row that its folder begins with.
room_of='function room(path) { while (sub(/\/[^\/]*$/, "", path)) if (path in is_room) return path; return "" }'
grep -rE '^ *# *include "[a-z_]+/' core tests/grader --include='*.[ch]' --include='*.cu' --include='*.cuh' |
  grep -vE '^tests/grader/(test_|attacks/|broken/)' | sed -nE 's@^(core|tests)/([^:]+):.*include "([^"]+)".*@\2 \3@p' |
  awk "$room_of"' FILENAME == rows { is_room[$1]; next }
    { from = room($1); to = room($2); if (from && to && from != to) print from, to }' rows="$work/rooms" "$work/rooms" - | sort -u >"$work/found"

same() { # NAME TOLD FOUND
  difference=$(diff "$2" "$3")
  result $? "$1" "listed (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ')"
}
# A folder may be a room of its own, or belong to the room around it.
same 'every folder of core/ has a row' <(grep -v / "$work/rooms" | grep -vx grader) <(cd core && printf '%s\n' */ | tr -d / | sort)
same 'rooms include from those that their rows list, and from no others' "$work/told" "$work/found"

circle=$(tsort "$work/found" 2>&1 >/dev/null)
result $? 'no two rooms need each other' "$(tr '\n' ' ' <<<"$circle")"
finish
