// One sentence for each exercise: what somebody who solved it has learnt.
#include "commands.h"
#include <string.h>

static const struct {
  const char *id, *sentence;
} sentences[] = {
    {"10_made_there", "A tensor that is made on its device needs no copy to get there."},
    {"11_choose_a_device", "The device is chosen once, from what there is, and the rest of the program runs anywhere."},
    {"12_tensor_operations", "An operation runs where its operands are; results on two devices meet after one copy."},
    {"13_move_a_model", "Moving a module moves every parameter and buffer that it has registered, and its children's."},
    {"14_several_gpus", "Data parallelism splits the batch, not the model: a replica sees some of the rows."},
    {"15_pinned_memory", "A copy from pinned memory goes on after the call; one wait at the end serves all of them."},
    {"16_write_a_module", "What is registered is moved, saved and trained with the module; a plain pointer is not."},
    {"17_training_step", "A step is forward, backward, and a change of the parameters that no graph records."},
    {"18_one_number_at_the_end", "Every number that is fetched is a wait; a total kept on the device is fetched once."},
    {"20_streams_and_events", "Streams run side by side, and an event makes one wait for what another has done."},
    {"21_loader_and_prefetcher", "A prefetcher brings the next batch while the device works on this one."},
    {"30_device_mismatch", "Tensors made inside of a function take their device from its input."},
    {"31_model_left_behind", "Data and model have to be moved alike: an operation never moves its operands."},
    {"32_timing_without_synchronising",
     "A clock read before the device is waited for measures the launch, not the work."},
    {"33_transfer_in_the_loop", "What stays on the device between two operations is not paid for twice."},
    {"34_view_of_a_transposed",
     "A view needs its elements in an order that strides can express; reshape copies where they are not."},
    {"35_saved_tensor_changed", "What backward has saved must not be changed in place before backward has run."},
    {"36_buffer_not_moved", "Tensors that are not trained are registered as buffers, or they stay behind."},
    {"37_sample_by_sample", "A launch and a transfer cost the same for one sample as for a batch of them."},
    {"40_find_the_leak", "A tensor that is kept with its graph keeps all that made it; detach it, or keep its number."},
    {"41_gradient_accumulation",
     "Gradients of small batches add up to that of a large one, in the memory of a small one."},
    {"42_evaluation_without_graph", "Evaluation keeps nothing for backward, and leaves the model's mode as it found it."},
    {"43_autocast_step",
     "Autocast picks each operation's type, and the scaler keeps small gradients from becoming zero."},
    {"44_keep_in_float32", "Squares and long sums belong in float32: float16 ends at 65504 and has three digits."},
    {"45_checkpointing", "A checkpoint keeps a segment's input alone, and computes the rest again in backward."},
    {"50_profile_a_loop",
     "A schedule leaves warm-up out and records some steps, so that a profile is of the steady state."},
    {"51_three_costliest", "Time of an op itself is what it took without the ops that it called."},
    {"52_frozen_branch", "A trace records the way that was taken; the other branch is not in it."},
    {"53_captured_step", "A captured step is replayed in one launch, on the same memory: new data is copied into it."},
    {"54_ever_new_shapes", "What is prepared for a shape pays only where that shape comes again."},
    {"55_ring_all_reduce", "In a ring each rank sends about twice its data, however many ranks there are."},
    {"56_ddp_by_hand", "The mean of the ranks' gradients is the gradient of the whole batch."},
    {"57_same_samples", "The ranks share one permutation, and each takes its own part of it."},
    {"58_scaling_efficiency", "Efficiency compares the slowest rank's time, after a barrier, with one device's."},
    {"60_saxpy", "A thread's index is its block's times the block's size plus its own; what is beyond n does nothing."},
    {"61_grid_stride", "With a stride of the whole grid, a grid of any size does all elements."},
    {"62_two_dimensions", "A pitch, not the width, leads from one row to the next."},
    {"63_transpose_shared", "Shared memory turns a tile, so that both sides of global memory are touched along rows."},
    {"64_block_reduction",
     "A block adds up in shared memory, in halves with a barrier between, and leaves one number."},
    {"65_tiled_matmul",
     "A tile read once into shared memory serves a whole block, which divides the traffic by its width."},
    {"66_histogram", "Counting in a block's shared memory first leaves few atomic operations for global memory."},
    {"67_host_to_host", "Every call can fail; the error is handed on, and what was allocated is freed all the same."},
    {"68_whose_error", "A launch's own errors come at once, the kernel's come with the wait."},
    {"70_blocks_that_fit",
     "Threads, registers, shared memory and block slots: the scarcest decides how many blocks fit."},
    {"71_one_way_for_a_warp",
     "A warp that parts goes both ways one after the other; a condition by warps costs nothing."},
    {"72_column_sums", "Neighbouring threads read neighbouring addresses when each has a column, not a row."},
    {"73_pixels_to_planes", "One load of 16 bytes a thread, and stores that are neighbours: structures become planes."},
    {"74_channels_apart",
     "A tile in shared memory lets reads and writes both be of neighbours, for any number of channels."},
    {"75_row_maximum",
     "Shuffles pass values between the lanes of a warp, without shared memory and without a barrier."},
    {"76_scan", "A scan of any length is a scan of pieces, a scan of their sums, and what comes before each added."},
    {"77_compaction", "A scan of flags says where each kept element goes, in order and without atomic operations."},
    {"78_run_lengths", "Runs are a compaction of their heads: problems are built out of a scan."},
};

const char *learnt(const Exercise *e) {
  for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
    if (strcmp(sentences[i].id, e->id) == 0)
      return sentences[i].sentence;
  return e->title;
}
