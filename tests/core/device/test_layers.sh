#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The layers within core/device: a table in core/README.md lists its files from the lowest. Here it is compared with the symbols that
# the object files define and need: no file may need one that comes later.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${FERRY_BUILD:-build}

awk -F '|' '/^### / { here = /The layers of `device\/`/ } here && /^\| .*`/ { gsub(/`/, "", $3); print $3 }' core/README.md |
  tr -s ' ' '\n' | sed '/^$/d' >"$work/order"

# The files of the caching allocator are one in the table.
for source in core/device/*.c; do
  name=$(basename "$source" .c)
  object=$build/core/device/$name.o
  [ -f "$object" ] || echo "$name" >>"$work/missing"
  nm "$object" 2>/dev/null | awk -v file="${name/#caching_*/caching}" 'NF >= 2 { print file, $(NF - 1), $NF }'
done >"$work/symbols"
result "$([ ! -e "$work/missing" ] && [ -s "$work/symbols" ]; echo $?)" 'every file of core/device has been built' \
  "without an object: $(tr '\n' ' ' 2>/dev/null <"$work/missing")"

diff <(sort "$work/order") <(cut -d ' ' -f 1 "$work/symbols" | sort -u) >"$work/difference"
result $? 'the table lists every file once' "listed (<), found (>): $(grep '^[<>]' "$work/difference" | tr '\n' ' ')"

# "file needed symbol" for each symbol that another file of the folder defines
awk 'NR == FNR { if ($2 ~ /^[TDBRVC]$/) home[$3] = $1; next } $2 == "U" && home[$3] && home[$3] != $1 { print $1, home[$3], $3 }' \
  "$work/symbols" "$work/symbols" | sort -u >"$work/needs"
awk 'NR == FNR { place[$1] = NR; next } place[$2] > place[$1]' "$work/order" "$work/needs" >"$work/upward"
grep -vx 'current thread fy_end_thread_devices' "$work/upward" >"$work/wrong"
result "$([ -s "$work/needs" ] && [ ! -s "$work/wrong" ]; echo $?)" 'no file needs one of a higher layer' "$(head -5 "$work/wrong" | tr '\n' ';')"
finish
