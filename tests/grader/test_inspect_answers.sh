#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect on answers to the kernel exercises: solutions have no finding, nor have right answers (here are those of exercises
# whose hidden tests do not ask that of them), and of wrong ones whose mistake shows in what a kernel accesses it names that.
#
# usage: tests/grader/test_inspect_answers.sh [--sample] [PATTERN]
#   PATTERN    only answers to the exercises whose id matches this extended regular expression
#   --sample   a fifth of the answers, others each day and after each change (tests/support/tap.sh). So `make test` runs it
# run test: -- --sample ^2[0-4]
# run test: -- --sample ^2[5-9]
# run all: -- ^2[0-4]
# run all: -- ^2[5-9]
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

for answer in solutions/[23]*.cu tests/hidden/[23]*/right_*.cu; do
  [[ $answer == *20_5_* ]] && continue # there a kernel fails on purpose, and the answer reports it
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
20_1_saxpy guard bounds-global
20_2_grid_stride_loop block_stride race-grid
20_2_grid_stride_loop guard bounds-global
20_3_two_dimensional_grid gain bounds-global
20_3_two_dimensional_grid rows_guard bounds-global
23_1_shared_transpose no_barrier race-block
23_1_shared_transpose return divergent
23_1_shared_transpose guard bounds-global
24_1_sum_reduction no_barrier race-block
24_1_sum_reduction not_zeroed uninitialized-global
24_1_sum_reduction plain race-grid
24_1_sum_reduction return divergent
24_1_sum_reduction room bounds-global
24_1_sum_reduction stale uninitialized-shared
24_1_sum_reduction unprotected race-grid
27_1_tiled_matmul added uninitialized-global
27_1_tiled_matmul no_first race-block
27_1_tiled_matmul no_second race-block
27_1_tiled_matmul outside bounds-global
27_1_tiled_matmul return divergent
27_1_tiled_matmul stale uninitialized-shared
26_1_histogram no_first_barrier race-block
26_1_histogram no_second_barrier race-block
26_1_histogram not_zeroed uninitialized-global
26_1_histogram plain race-warp
26_1_histogram plain_global race-grid
26_1_histogram shared_not_zeroed uninitialized-shared
21_2_warp_divergence guard bounds-global
22_1_column_sums added uninitialized-global
22_1_column_sums guard bounds-global
22_1_column_sums no_barrier race-block
22_2_pixels_to_planes guard bounds-global
22_2_pixels_to_planes no_barrier race-block
22_2_pixels_to_planes one_too_far bounds-global
23_2_any_channels_to_planes bytes bounds-dynamic
23_2_any_channels_to_planes fixed bounds-global
23_2_any_channels_to_planes no_barrier race-block
23_2_any_channels_to_planes return divergent
23_2_any_channels_to_planes room bounds-dynamic
23_4_stencil halo_of_one uninitialized-shared
23_4_stencil no_barrier race-block
23_4_stencil no_guard bounds-global
23_4_stencil no_second_barrier race-block
23_4_stencil return divergent
23_4_stencil unlimited bounds-global
25_1_row_argmax beyond bounds-global
25_1_row_argmax first_unguarded bounds-global
25_2_spmv lost race-block
25_2_spmv nan uninitialized-global
25_2_spmv no_barrier race-warp
25_2_spmv no_guard bounds-global
25_2_spmv one_too_far bounds-global
25_3_grid_sum no_barrier race-block
25_3_grid_sum no_grid_barrier race-grid
25_3_grid_sum overflow bounds-global
26_2_inclusive_scan beyond bounds-global
26_2_inclusive_scan in_place race-block
26_2_inclusive_scan no_barrier race-block
26_2_inclusive_scan return divergent
26_3_stream_compaction beyond bounds-global
26_3_stream_compaction no_barrier race-block
26_3_stream_compaction own_piece race-grid
26_3_stream_compaction return divergent
26_3_stream_compaction too_far bounds-global
26_4_run_length_encoding before_first bounds-global
26_4_run_length_encoding no_barrier race-block
26_5_radix_pass beyond bounds-global
26_5_radix_pass no_barrier race-block
26_5_radix_pass no_first_barrier race-block
26_5_radix_pass not_zeroed uninitialized-shared
26_5_radix_pass own_block race-grid
26_5_radix_pass return divergent
27_2_register_tiling added uninitialized-global
27_2_register_tiling grid bounds-global
27_2_register_tiling k_of_16 bounds-global
27_2_register_tiling no_first race-block
27_2_register_tiling no_second race-block
27_3_double_buffering added uninitialized-global
27_3_double_buffering beyond bounds-global
27_3_double_buffering never_turned race-block
27_3_double_buffering no_barrier race-block
27_3_double_buffering one_pair race-block
27_5_tensor_cores no_barrier race-block
27_5_tensor_cores no_guard bounds-global
27_5_tensor_cores no_padding uninitialized-shared
28_1_overlap_copies copies_apart race-stream
28_1_overlap_copies default race-stream
28_1_overlap_copies other_stream race-stream
28_2_cuda_graph copy_apart race-stream
28_2_cuda_graph late_join race-stream
28_2_cuda_graph not_forked race-stream
32_4_two_streams default race-stream
32_4_two_streams free_early race-stream
32_4_two_streams no_way_back race-stream
32_4_two_streams recorded_early race-stream
29_1_online_softmax barrier race-block
29_2_layer_norm_backward added uninitialized-global
29_2_layer_norm_backward barrier race-block
30_1_attention barrier race-block
32_1_smooth guard_only bounds-global
32_1_smooth last bounds-global
32_1_smooth one_more bounds-global
32_2_reverse_chunks behind race-block
32_2_reverse_chunks branch divergent
32_2_reverse_chunks first_barrier race-block
32_2_reverse_chunks second_barrier race-block
32_2_reverse_chunks warp race-block
32_3_counters early race-block
32_3_counters no_barrier race-block
32_3_counters plain race-block
32_3_counters some_set uninitialized-shared
32_3_counters unset uninitialized-shared
32_3_counters warp_alone race-block
32_3_counters written race-grid
32_5_weighted_sum bytes_of_pointer uninitialized-global
32_5_weighted_sum freed freed
32_5_weighted_sum host argument
32_5_weighted_sum kept leak
32_5_weighted_sum kept_partial leak
32_5_weighted_sum short_head bounds-global
32_5_weighted_sum vector misaligned
23_3_fast_transpose guard bounds-global
23_3_fast_transpose no_barrier race-block
23_3_fast_transpose past bounds-global
24_2_fast_sum no_barrier race-block
24_2_fast_sum plain race-grid
END

# Mistakes that are no fault, but cost: told by the counts. ANSWER FIELD and by how many times the ideal it is exceeded at least
worst() { # FIELD: the largest ratio to the ideal among the lines
  grep '"type": "line"' "$work/json" | grep -oE "\"$1\": [0-9.e+]+, \"$1_ideal\": [0-9.e+]+" |
    awk -F '[ ,]+' '{ r = $2 / $4; if (r > most) most = r } END { print most + 0 }'
}
while read -r exercise answer what least; do
  [[ $exercise =~ $pattern ]] || continue
  inspect "$(ls "tests/hidden/$exercise"/{wrong,right}_"$answer.cu" 2>/dev/null)" --once
  ratio=$(worst "$what")
  awk "BEGIN { exit !($ratio >= $least) }"
  result $? "$exercise, $answer: $what at least $least times the ideal" "it is $ratio times"
done <<'END'
23_1_shared_transpose banks wavefronts_load 7
23_1_shared_transpose naive sectors_store 3
END
[ -z "$sample" ] || echo "# wrong answers left out: $left_out (all are inspected without --sample)"
finish
