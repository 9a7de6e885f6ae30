// SPDX-License-Identifier: MIT
// The exercises' ids of the release before: their numbers did not follow the lessons. They still work, and say the new ones.
#include "registry.h"
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *old, *id;
} renamed[] = {
    {"10_made_there", "03_1_create_on_the_device"},
    {"11_choose_a_device", "02_1_choose_a_device"},
    {"12_tensor_operations", "03_2_compare_devices"},
    {"13_move_a_model", "05_1_move_a_model"},
    {"14_several_gpus", "06_1_data_parallel"},
    {"15_pinned_memory", "07_7_pinned_memory"},
    {"16_write_a_module", "05_4_write_a_module"},
    {"17_training_step", "05_2_training_step"},
    {"18_one_number_at_the_end", "07_2_mean_squared_error"},
    {"19_cpu_against_gpu", "04_2_time_cpu_and_gpu"},
    {"20_streams_and_events", "04_3_streams_and_events"},
    {"21_loader_and_prefetcher", "08_1_loader_and_prefetcher"},
    {"22_which_limit_holds", "01_1_memory_or_compute_bound"},
    {"23_pinned_or_not", "08_2_pinned_or_pageable"},
    {"24_checkpoint_and_resume", "09_2_save_and_resume"},
    {"25_dropout_on_norm_off", "09_1_monte_carlo_dropout"},
    {"26_accuracy_per_class", "10_1_accuracy_per_class"},
    {"27_parallel_by_hand", "06_2_data_parallel_by_hand"},
    {"30_device_mismatch", "07_1_standardize"},
    {"31_model_left_behind", "05_3_training_loop"},
    {"32_timing_without_synchronising", "04_1_benchmark"},
    {"33_transfer_in_the_loop", "07_3_diffusion"},
    {"34_view_of_a_transposed", "07_4_sensor_frames"},
    {"35_saved_tensor_changed", "07_5_layer_loss"},
    {"36_constant_that_learns", "05_5_scaling_module"},
    {"37_sample_by_sample", "07_6_predictions"},
    {"40_find_the_leak", "11_1_growing_memory"},
    {"41_gradient_accumulation", "11_3_gradient_accumulation"},
    {"42_evaluation_without_graph", "11_2_evaluate"},
    {"43_autocast_step", "12_1_autocast_step"},
    {"44_keep_in_float32", "12_2_evaluation_error"},
    {"45_checkpointing", "13_1_activation_checkpointing"},
    {"46_what_float16_gains", "12_3_float16_speedup"},
    {"50_profile_a_loop", "14_1_profile_a_loop"},
    {"51_three_costliest", "14_2_top_three_ops"},
    {"52_frozen_branch", "15_1_limit_norms"},
    {"53_captured_step", "17_1_captured_step"},
    {"54_ever_new_shapes", "18_1_groups_of_images"},
    {"55_ring_all_reduce", "16_4_ring_all_reduce"},
    {"56_ddp_by_hand", "16_2_ddp_by_hand"},
    {"57_same_samples", "16_1_loader_of_a_rank"},
    {"58_scaling_efficiency", "16_3_scaling_efficiency"},
    {"60_saxpy", "20_1_saxpy"},
    {"61_grid_stride", "20_2_grid_stride_loop"},
    {"62_two_dimensions", "20_3_two_dimensional_grid"},
    {"63_transpose_shared", "23_1_shared_transpose"},
    {"64_block_reduction", "24_1_sum_reduction"},
    {"65_tiled_matmul", "27_1_tiled_matmul"},
    {"66_histogram", "26_1_histogram"},
    {"67_host_to_host", "20_4_host_to_host"},
    {"68_whose_error", "20_5_error_handling"},
    {"70_blocks_that_fit", "21_1_occupancy"},
    {"71_one_way_for_a_warp", "21_2_warp_divergence"},
    {"72_column_sums", "22_1_column_sums"},
    {"73_pixels_to_planes", "22_2_pixels_to_planes"},
    {"74_channels_apart", "23_2_any_channels_to_planes"},
    {"75_row_maximum", "25_1_row_argmax"},
    {"76_scan", "26_2_inclusive_scan"},
    {"77_compaction", "26_3_stream_compaction"},
    {"78_run_lengths", "26_4_run_length_encoding"},
    {"79_register_tiles", "27_2_register_tiling"},
    {"80_two_buffers", "27_3_double_buffering"},
    {"81_pipeline", "28_1_overlap_copies"},
    {"82_captured_steps", "28_2_cuda_graph"},
    {"83_online_softmax", "29_1_online_softmax"},
    {"84_layer_norm_backward", "29_2_layer_norm_backward"},
    {"85_attention", "30_1_attention"},
    {"90_beyond_the_end", "32_1_smooth"},
    {"91_the_second_round", "32_2_reverse_chunks"},
    {"92_counters", "32_3_counters"},
    {"93_two_streams", "32_4_two_streams"},
    {"94_three_pointers", "32_5_weighted_sum"},
    {"95_faster_transpose", "23_3_fast_transpose"},
    {"96_faster_sum", "24_2_fast_sum"},
    {"97_faster_product", "27_4_fast_matmul"},
};

enum { RENAMED = sizeof renamed / sizeof renamed[0] };

const char *exercise_old_id(int i, const char **id) {
  if (i < 0 || i >= RENAMED)
    return NULL;
  *id = renamed[i].id;
  return renamed[i].old;
}

// "76" and "76_scan".
const Exercise *exercise_by_old_number(const char *name) {
  const size_t length = strlen(name);
  for (int i = 0; i < RENAMED; i++)
    if (length >= 2 && strncmp(renamed[i].old, name, length) == 0 && (length == 2 || !renamed[i].old[length]))
      return exercise_find(renamed[i].id);
  return NULL;
}
