// SPDX-License-Identifier: MIT
// The questions. A Predict box of a lesson names its questions by their ids (docs/book/marks.py), and its answer has their numbers for
// those who read without Ferry; tests/core/tool/test_predict.sh compares both.
#include "tool/predict/predict.h"
#include <stdlib.h>
#include <string.h>

#define A100 "times as fast on an A100 (modeled)"
#define V100 "times as fast on a V100 (modeled)"
#define KERNEL(NAME) "\"type\": \"kernel\", \"kernel\": \"" NAME "\""
#define LINE(NAME) "\"type\": \"line\", \"kernel\": \"" NAME "\""
#define MODELED(NAME)                                                                                                  \
  { .row = KERNEL(NAME), .after = "\"modeled_us\": " }
#define LOADS "\"sectors_load\": "
#define WAVES "\"wavefronts_load\": "

const Question questions[] = {
    {.id = "7.1",
     .section = "implicit-synchronization-in-a-loop",
     .text = "sums_with_item calls fy_item once in each of 100 iterations. How many copies to the host does it make?",
     .unit = "copies",
     .command = "chapter 7 --quick",
     .of = {"copies to the device 0", "kernels started 300", NULL, "back "}},
    {.id = "7.2",
     .section = "implicit-synchronization-in-a-loop",
     .text = "sums_that_stay keeps its 100 sums on the device until the end. How many copies to the host does it make?",
     .unit = "copies",
     .command = "chapter 7 --quick",
     .of = {"copies to the device 0", "kernels started 401", NULL, "back "}},
    {.id = "11.1",
     .section = "peak-memory",
     .text = "A scope multiplies two matrices of the same size, and only the product remains after the scope. How many "
             "matrices are allocated at the peak?",
     .unit = "matrices",
     .command = "chapter 11 --quick",
     .of = {.row = "at most in use meanwhile", .after = "which is "}},
    {.id = "13.1",
     .section = "one-checkpoint-around-the-whole-model",
     .text = "A model of 32 blocks runs as a single checkpoint. How often does a block run in one training step, all "
             "blocks together?",
     .unit = "block runs",
     .command = "chapter 13 --quick --device cpu",
     .of = {.row = "the whole model", .after = "%"}},
    {.id = "13.2",
     .section = "checkpointing-in-segments",
     .text = "The model of 32 blocks is divided into 4 segments, and the last one is not checkpointed. How many block "
             "runs does one training step need?",
     .unit = "block runs",
     .command = "chapter 13 --quick --device cpu",
     .of = {.row = "4 5", .also = "33 %", .after = "%"}},
    {.id = "17.1",
     .section = "launch-overhead",
     .text = "One training step of the lesson's network runs 30 ops: forward, backward and optimizer. How many kernels "
             "does the host launch?",
     .unit = "launches",
     .command = "chapter 17 --quick",
     .of = {.row = "a training step:", .after = "ops, "}},
    {.id = "18.1",
     .section = "changing-input-shapes",
     .text = "8 training steps have batches of 16, 15, 14, ... images. Each new shape needs four searches in benchmark "
             "mode. How many searches are there in total?",
     .unit = "searches",
     .command = "chapter 18 --quick",
     .of = {.row = "each smaller by one on"}},
    {.id = "20.1",
     .section = "five-versions-of-saxpy",
     .text = "SAXPY of a million elements: saxpy_one_thread uses a single thread, saxpy_one_block one block of 256 "
             "threads. How many times as fast is the block on an A100?",
     .unit = A100,
     .command = "inspect chapters/20_the_first_kernel.cu",
     .gpu = "a100",
     .of = MODELED("saxpy_one_thread"),
     .by = MODELED("saxpy_one_block")},
    {.id = "20.2",
     .section = "five-versions-of-saxpy",
     .text = "saxpy_each computes one element per thread, in 4096 blocks of 256 threads. How many times as fast is it "
             "on an A100 as saxpy_one_block, which has only one block?",
     .unit = A100,
     .command = "inspect chapters/20_the_first_kernel.cu",
     .gpu = "a100",
     .of = MODELED("saxpy_one_block"),
     .by = MODELED("saxpy_each")},
    {.id = "21.1",
     .section = "how-many-warps-are-enough",
     .text =
         "The kernel scale reads and writes 16.8 MB. How many times as fast is it on an A100 with 64 warps per SM as "
         "with one warp per SM?",
     .unit = A100,
     .command = "inspect chapters/21_the_machine.cu --blocks 27",
     .gpu = "a100",
     .of = MODELED("scale<1>"),
     .by = MODELED("scale<64>")},
    {.id = "21.2",
     .section = "warp-divergence",
     .text =
         "In by_lane, even lanes evaluate one polynomial and odd lanes another one. What percentage of the lanes is "
         "active in the loop of the polynomial?",
     .unit = "% of the lanes",
     .command = "inspect chapters/21_the_machine.cu --kernel by_lane",
     .of = {LINE("by_lane"), NULL, "sum = sum * x + c[k];", "\"active_lanes\": "},
     .times = 100,
     .most = 100},
    {.id = "21.3",
     .section = "occupancy",
     .text = "An SM has room for 2048 threads and has 228 KB of shared memory. What is the occupancy of blocks of 128 "
             "threads with 16 KB of shared memory each?",
     .unit = "% occupancy",
     .command = "chapter 21 --quick",
     .of = {.row = "128 16384 ", .nth = 2},
     .most = 100},
    {.id = "21.4",
     .section = "waves-and-tails",
     .text = "A device holds 4 blocks at a time, and a grid has 5 equal blocks. What percentage of the slots of its "
             "waves is used?",
     .unit = "% of the slots",
     .command = "chapter 21 --quick",
     .of = {.row = "one block more ", .nth = 1},
     .most = 100},
    {.id = "22.1",
     .section = "sectors-and-coalescing",
     .text = "A warp reads every second float: lane t reads x[2 * t]. How many sectors does the request touch?",
     .unit = "sectors per request",
     .command = "inspect chapters/22_global_memory.cu --kernel strided<2>",
     .of = {.row = LINE("strided<2>"), .after = LOADS},
     .most = 64},
    {.id = "22.2",
     .section = "sectors-and-coalescing",
     .text = "A warp reads every 32nd float: lane t reads x[32 * t]. How many sectors does the request touch?",
     .unit = "sectors per request",
     .command = "inspect chapters/22_global_memory.cu --kernel strided<32>",
     .of = {.row = LINE("strided<32>"), .after = LOADS},
     .most = 64},
    {.id = "22.3",
     .section = "array-of-structures-or-structure-of-arrays",
     .text =
         "A pixel is a struct of four floats, and lane t reads pixel[t].r. How many sectors does the request touch?",
     .unit = "sectors per request",
     .command = "inspect chapters/22_global_memory.cu --kernel gray_aos",
     .of = {.row = LINE("gray_aos"), .after = LOADS},
     .most = 64},
    {.id = "22.4",
     .section = "array-of-structures-or-structure-of-arrays",
     .text =
         "The four components of the pixels are in arrays of their own, and lane t reads r[t]. How many sectors does "
         "the request touch?",
     .unit = "sectors per request",
     .command = "inspect chapters/22_global_memory.cu --kernel gray_soa",
     .of = {.row = LINE("gray_soa"), .after = LOADS},
     .most = 64},
    {.id = "23.1",
     .section = "banks-and-bank-conflicts",
     .text = "Lane t of a warp reads word 2 * t of shared memory. How many wavefronts does the request take?",
     .unit = "wavefronts per request",
     .command = "inspect chapters/23_shared_memory.cu --kernel stride<2>",
     .of = {.row = LINE("stride<2>"), .after = WAVES},
     .most = 64},
    {.id = "23.2",
     .section = "banks-and-bank-conflicts",
     .text = "Lane t of a warp reads word 16 * t of shared memory. How many wavefronts does the request take?",
     .unit = "wavefronts per request",
     .command = "inspect chapters/23_shared_memory.cu --kernel stride<16>",
     .of = {.row = LINE("stride<16>"), .after = WAVES},
     .most = 64},
    {.id = "23.3",
     .section = "banks-and-bank-conflicts",
     .text = "Lane t of a warp reads word 33 * t of shared memory. How many wavefronts does the request take?",
     .unit = "wavefronts per request",
     .command = "inspect chapters/23_shared_memory.cu --kernel stride<33>",
     .of = {.row = LINE("stride<33>"), .after = WAVES},
     .most = 64},
    {.id = "23.4",
     .section = "comparing-the-five-kernels",
     .text = "A transpose keeps a tile of 32 x 32 floats in shared memory, without padding. A warp reads one column of "
             "the tile. How many wavefronts does the request take?",
     .unit = "wavefronts per request",
     .command = "inspect chapters/23_shared_memory.cu --blocks 16 --kernel tiled",
     .of = {.row = LINE("tiled"), .after = WAVES},
     .most = 64},
    {.id = "24.1",
     .section = "1-interleaved-addressing",
     .text =
         "In each step of the tree of divergent, every second, fourth, eighth, ... thread of a block of 256 adds two "
         "elements. What percentage of the lanes is active in the warps that execute the addition?",
     .unit = "% of the lanes",
     .command = "inspect chapters/24_reductions.cu --blocks 64 --kernel divergent",
     .of = {LINE("divergent"), NULL, "part[t] += part[t + step];", "\"active_lanes\": "},
     .times = 100,
     .most = 100},
    {.id = "24.2",
     .section = "what-each-step-gains",
     .text =
         "Seven steps lead from divergent to many, and both sum 4 million floats. How many times as fast is many on "
         "a V100?",
     .unit = V100,
     .command = "inspect chapters/24_reductions.cu --blocks 64",
     .gpu = "v100",
     .of = MODELED("divergent"),
     .by = MODELED("many<THREADS>")},
    {.id = "25.1",
     .section = "atomics",
     .text =
         "atomic_each adds 4 million floats with one atomicAdd per element; shuffles reduces each block in registers "
         "first. How many times as fast is shuffles on a V100?",
     .unit = V100,
     .command = "inspect chapters/25_warps.cu --blocks 64",
     .gpu = "v100",
     .of = MODELED("atomic_each"),
     .by = MODELED("shuffles")},
    {.id = "27.1",
     .section = "naive-kernel",
     .text =
         "In by_rows, the lanes of a warp compute elements of one column of c. How many sectors does a load request "
         "touch on average, over the loads of a and b?",
     .unit = "sectors per request",
     .command = "inspect chapters/27_the_matrix_product.cu --blocks 2 --kernel by_rows",
     .of = {.row = LINE("by_rows"), .also = LOADS, .after = LOADS},
     .most = 64},
    {.id = "27.2",
     .section = "naive-kernel",
     .text =
         "In by_columns, the lanes of a warp compute elements of one row of c. How many sectors does a load request "
         "touch on average, over the loads of a and b?",
     .unit = "sectors per request",
     .command = "inspect chapters/27_the_matrix_product.cu --blocks 2 --kernel by_columns",
     .of = {.row = LINE("by_columns"), .also = LOADS, .after = LOADS},
     .most = 64},
    {.id = "29.1",
     .section = "kernel-fusion",
     .text = "add_bias and gelu read and write an array of 4.19 MB each, 16.78 MB in all. How many MB does the fused "
             "kernel bias_gelu move?",
     .unit = "MB",
     .command = "chapter 29",
     .of = {.row = "bias_gelu ", .nth = 1}},
    {.id = "30.1",
     .section = "comparing-the-three-versions",
     .text =
         "row_fused has one block for each of 4096 queries. It reads the keys and the values of its head, 512 rows of "
         "128 bytes each. How many MB do its loads and stores request in all?",
     .unit = "MB",
     .command = "inspect chapters/30_attention.cu --table --blocks 8",
     .gpu = "a100",
     .of = {.row = "row_fused ", .nth = 6}},
    {0},
};

int question_lesson(const Question *q) {
  return atoi(q->id);
}

const Question *question_named(const char *id) {
  for (const Question *q = questions; q->id; q++)
    if (strcmp(q->id, id) == 0)
      return q;
  return NULL;
}
