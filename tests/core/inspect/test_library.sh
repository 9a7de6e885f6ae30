#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The library's own kernels, inspected: the test of every op finds nothing wrong in them, and at typical sizes no kernel takes more
# sectors, passes or idle lanes than library.tsv records. `test_library.sh --write` records anew.
# run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy FERRY_SIM_THREADS=2
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
build=${FERRY_BUILD:-build} table=tests/core/inspect/library.tsv
export FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy FERRY_SIM_THREADS=2
[ -x "$build/ferry" ] && [ -x "$build/inspected/library" ] ||
  skip_all "$build/inspected/library is not built: g++ and no sanitizer are needed for it"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of each kernel: sectors and passes for a request and what they would be at best, over all its lines, and the share of lanes that
# took part.
rows() { # JSON
  printf '# kernel\tsectors loaded\tat best\tstored\tat best\tshared loads: passes\tat best\tstores\tat best\tlanes\n'
  awk '
    function value(key,   at, rest) { at = index($0, "\"" key "\": "); if (!at) return ""
      rest = substr($0, at + length(key) + 4); if (rest ~ /^"/) { rest = substr(rest, 2); sub(/".*/, "", rest) } else sub(/[,}].*/, "", rest)
      return rest }
    /"type": "line"/ { k = value("launch"); if (k == "") k = value("kernel"); all[k]
      for (i in what) { n = value("requests_" what[i]); if (n == "") continue
        runs[k, i] += n; units[k, i] += n * value(what[i]); ideal[k, i] += n * value(what[i] "_ideal"); lanes[k] += n * value("active_lanes"); weight[k] += n } }
    BEGIN { what[1] = "sectors_load"; what[2] = "sectors_store"; what[3] = "wavefronts_load"; what[4] = "wavefronts_store" }
    END { for (k in all) { printf "%s", k
      for (i = 1; i <= 4; i++) if (runs[k, i]) printf "\t%.2f\t%.2f", units[k, i] / runs[k, i], ideal[k, i] / runs[k, i]; else printf "\t-\t-"
      printf "\t%.2f\n", weight[k] ? lanes[k] / weight[k] : 1 } }' "$1" | LC_ALL=C sort
}

"$build/ferry" inspect --program "$build/inspected/library" --json "$work/json" >"$work/out" 2>&1
result $? 'at typical sizes nothing is wrong' "$(grep -A 3 ERROR "$work/out" | head -n 8 | tr '\n' ' ')$(tail -n 1 "$work/out")"
rows "$work/json" >"$work/table"
[ "${1:-}" = --write ] && cp "$work/table" "$table"

# Larger is worse, but for the lanes.
worse=$(awk -F '\t' 'NR == FNR { for (i = 2; i <= 10; i++) was[$1, i] = $i; seen[$1]; next } /^#/ { next }
  !($1 in seen) { print $1 " is not recorded"; next }
  { for (i = 2; i <= 8; i += 2) if ($i != "-" && ($i > was[$1, i] + 0.02 || was[$1, i] == "-")) print $1 ": " $i " in place of " was[$1, i]
    if ($10 < was[$1, 10] - 0.02) print $1 ": lanes " $10 " in place of " was[$1, 10] }' "$table" "$work/table")
[ -z "$worse" ]
result $? 'no kernel takes more than is recorded' "$worse (if that is meant: tests/core/inspect/test_library.sh --write)"
gone=$(comm -23 <(cut -f 1 "$table" | LC_ALL=C sort) <(cut -f 1 "$work/table" | LC_ALL=C sort))
[ -z "$gone" ]
result $? 'every recorded kernel has run' "$gone"

# Every kernel of core/op is in the table.
missing=$(grep -rhE '^[^/]*__global__ void' core/op --include='*.cu' --include='*.cuh' | grep -oE '__global__ void [a-z0-9_]+' | awk '{ print $3 }' | sort -u |
  comm -23 - <(cut -f 1 "$table" | sed 's/<.*//' | LC_ALL=C sort -u))
[ -z "$missing" ]
result $? 'every kernel of the library is in the table' "$missing"

"$build/ferry" inspect --program "$build/inspected/test_golden" --json "$work/json" -- cuda >"$work/out" 2>&1
result $? 'in the test of every op nothing is wrong' "$(grep -A 3 ERROR "$work/out" | head -n 8 | tr '\n' ' ')$(tail -n 1 "$work/out")"
finish
