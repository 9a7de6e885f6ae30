#!/usr/bin/env bash
# ./ferry inspect on answers to the kernel exercises: solutions and right answers have no finding, and of wrong ones whose mistake
# shows in what a kernel accesses it names that.
# run:
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

inspect() { # ANSWER [--once]: the findings' kinds in $work/kinds, its status in $status
  "$ferry" inspect "$1" ${2:-} --no-registers --json "$work/json" >"$work/out" 2>&1
  status=$?
  sed -nE 's/^\{"type": "finding", "kind": "([a-z-]+)".*/\1/p' "$work/json" | sort -u >"$work/kinds"
}

# Not 68's: there a kernel fails on purpose, and the answer is to say so.
for answer in solutions/6[0-7]*.cu tests/hidden/6[0-7]*/right_*.cu; do
  inspect "$answer"
  [ "$status" = 0 ]
  result $? "$answer has no finding" "status $status: $(head -n 4 "$work/out" | tr '\n' ' ')"
done

# EXERCISE ANSWER KIND
while read -r exercise answer kind; do
  inspect "tests/hidden/$exercise/wrong_$answer.cu"
  [ "$status" = 1 ] && grep -qx "$kind" "$work/kinds"
  result $? "$exercise, $answer: $kind" "status $status, found: $(tr '\n' ' ' <"$work/kinds")"
done <<'END'
60_saxpy guard bounds-global
61_grid_stride block_stride race-grid
61_grid_stride guard bounds-global
62_two_dimensions gain bounds-global
62_two_dimensions rows_guard bounds-global
63_transpose_shared no_barrier race-block
63_transpose_shared return divergent
63_transpose_shared guard bounds-global
64_block_reduction no_barrier race-block
64_block_reduction not_zeroed uninitialised-global
64_block_reduction plain race-grid
64_block_reduction return divergent
64_block_reduction room bounds-global
64_block_reduction stale uninitialised-shared
64_block_reduction unprotected race-grid
65_tiled_matmul added uninitialised-global
65_tiled_matmul guard bounds-global
65_tiled_matmul no_first race-block
65_tiled_matmul no_second race-block
65_tiled_matmul outside bounds-global
65_tiled_matmul return divergent
65_tiled_matmul stale uninitialised-shared
66_histogram no_first_barrier race-block
66_histogram no_second_barrier race-block
66_histogram not_zeroed uninitialised-global
66_histogram plain race-warp
66_histogram plain_global race-grid
66_histogram shared_not_zeroed uninitialised-shared
END

# Mistakes that are no fault, but cost: told by the counts. ANSWER FIELD and by how many times the ideal it is exceeded at least
worst() { # FIELD: the largest ratio to the ideal among the lines
  grep '"type": "line"' "$work/json" | grep -oE "\"$1\": [0-9.e+]+, \"$1_ideal\": [0-9.e+]+" |
    awk -F '[ ,]+' '{ r = $2 / $4; if (r > most) most = r } END { print most + 0 }'
}
while read -r exercise answer what least; do
  inspect "tests/hidden/$exercise/wrong_$answer.cu" --once
  ratio=$(worst "$what")
  awk "BEGIN { exit !($ratio >= $least) }"
  result $? "$exercise, $answer: $what at least $least times the ideal" "it is $ratio times"
done <<'END'
63_transpose_shared banks passes_load 8
63_transpose_shared naive sectors_store 3
61_grid_stride pieces sectors_load 3
END
finish
