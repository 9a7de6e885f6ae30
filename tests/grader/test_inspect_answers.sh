#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect on answers to the kernel exercises: solutions have no finding, nor have right answers (here are those of exercises
# whose hidden tests do not ask that of them), and of wrong ones whose mistake shows in what a kernel accesses it names that.
#
# usage: tests/grader/test_inspect_answers.sh [--sample] [PATTERN]
#   PATTERN    only answers to the exercises whose id matches this extended regular expression
#   --sample   a fifth of the answers, others each day and after each change (tests/support/tap.sh). So `make test` runs it
# run test: -- --sample ^6
# run test: -- --sample ^[789]
# run all: -- ^6
# run all: -- ^[789]
# timeout: 600
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
if [ "${1:-}" = --sample ]; then
  sample=yes
  shift
fi
pattern=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

inspect() { # ANSWER [--once]: the findings' kinds in $work/kinds, its status in $status
  "$ferry" inspect "$1" "${@:2}" --no-registers --json "$work/json" >"$work/out" 2>&1
  status=$?
  sed -nE 's/^\{"type": "finding", "kind": "([a-z-]+)".*/\1/p' "$work/json" | sort -u >"$work/kinds"
}

sampled_code=$(code_state)

# Not 68's: there a kernel fails on purpose, and the answer is to say so.
for answer in solutions/{6[0-7],7,8,9}*.cu tests/hidden/{6[0-7],7,8,9}*/right_*.cu; do
  exercise=${answer#solutions/} exercise=${exercise#tests/hidden/}
  [[ $exercise =~ $pattern ]] || continue
  case $answer in
  tests/*) grep -q expect_no_finding "$(dirname "$answer")/check.c" && continue ;;
  esac
  in_sample "$answer" <"$answer" || continue
  inspect "$answer"
  [ "$status" = 0 ]
  result $? "$answer has no finding" "status $status: $(head -n 4 "$work/out" | tr '\n' ' ')"
done

# EXERCISE ANSWER KIND
while read -r exercise answer kind; do
  [[ $exercise =~ $pattern ]] || continue
  in_sample "$exercise $answer" <"tests/hidden/$exercise/wrong_$answer.cu" || continue
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
71_one_way_for_a_warp guard bounds-global
72_column_sums added uninitialised-global
72_column_sums guard bounds-global
72_column_sums no_barrier race-block
73_pixels_to_planes guard bounds-global
73_pixels_to_planes no_barrier race-block
73_pixels_to_planes one_too_far bounds-global
74_channels_apart bytes bounds-dynamic
74_channels_apart fixed bounds-global
74_channels_apart no_barrier race-block
74_channels_apart return divergent
74_channels_apart room bounds-dynamic
75_row_maximum beyond bounds-global
75_row_maximum first_unguarded bounds-global
76_scan beyond bounds-global
76_scan in_place race-block
76_scan no_barrier race-block
76_scan return divergent
77_compaction beyond bounds-global
77_compaction no_barrier race-block
77_compaction own_piece race-grid
77_compaction return divergent
77_compaction too_far bounds-global
78_run_lengths before_first bounds-global
78_run_lengths no_barrier race-block
79_register_tiles added uninitialised-global
79_register_tiles grid bounds-global
79_register_tiles k_of_16 bounds-global
79_register_tiles no_first race-block
79_register_tiles no_second race-block
80_two_buffers added uninitialised-global
80_two_buffers beyond bounds-global
80_two_buffers never_turned race-block
80_two_buffers no_barrier race-block
80_two_buffers one_pair race-block
81_pipeline copies_apart race-stream
81_pipeline default race-stream
81_pipeline other_stream race-stream
82_captured_steps copy_apart race-stream
82_captured_steps late_join race-stream
82_captured_steps not_forked race-stream
93_two_streams default race-stream
93_two_streams free_early race-stream
93_two_streams no_way_back race-stream
93_two_streams recorded_early race-stream
83_online_softmax barrier race-block
84_layer_norm_backward added uninitialised-global
84_layer_norm_backward barrier race-block
85_attention barrier race-block
90_beyond_the_end guard_only bounds-global
90_beyond_the_end last bounds-global
90_beyond_the_end one_more bounds-global
91_the_second_round behind race-block
91_the_second_round branch divergent
91_the_second_round first_barrier race-block
91_the_second_round second_barrier race-block
91_the_second_round warp race-block
92_counters early race-block
92_counters no_barrier race-block
92_counters plain race-block
92_counters some_set uninitialised-shared
92_counters unset uninitialised-shared
92_counters warp_alone race-block
92_counters written race-grid
94_three_pointers bytes_of_pointer uninitialised-global
94_three_pointers freed freed
94_three_pointers host argument
94_three_pointers kept leak
94_three_pointers kept_partial leak
94_three_pointers short_head bounds-global
94_three_pointers vector misaligned
95_faster_transpose guard bounds-global
95_faster_transpose no_barrier race-block
95_faster_transpose past bounds-global
96_faster_sum no_barrier race-block
96_faster_sum plain race-grid
END

# Mistakes that are no fault, but cost: told by the counts. ANSWER FIELD and by how many times the ideal it is exceeded at least
worst() { # FIELD: the largest ratio to the ideal among the lines
  grep '"type": "line"' "$work/json" | grep -oE "\"$1\": [0-9.e+]+, \"$1_ideal\": [0-9.e+]+" |
    awk -F '[ ,]+' '{ r = $2 / $4; if (r > most) most = r } END { print most + 0 }'
}
while read -r exercise answer what least; do
  [[ $exercise =~ $pattern ]] || continue
  inspect "tests/hidden/$exercise/wrong_$answer.cu" --once
  ratio=$(worst "$what")
  awk "BEGIN { exit !($ratio >= $least) }"
  result $? "$exercise, $answer: $what at least $least times the ideal" "it is $ratio times"
done <<'END'
63_transpose_shared banks wavefronts_load 8
63_transpose_shared naive sectors_store 3
61_grid_stride pieces sectors_load 3
END
[ -z "$sample" ] || echo "# wrong answers left out: $left_out (all are inspected without --sample)"
finish
