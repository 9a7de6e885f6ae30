// Exercise 13.1: a deep model in less memory                               (chapter 13, docs/13_checkpointing.md)
//
// Write forward_in_segments: it runs `count` blocks one after the other, the first on x and each on what the one before
// has returned, and returns what the last one returns. It does so in `segments` segments of count / segments blocks
// each (the last has what is over, too), of which all but the last are checkpointed. The last may be.
//
//   PyTorch:  return checkpoint_sequential(blocks, segments, x, use_reentrant=False)
//
// Given: blocks, `count` of them, at most 256; segments, from 1 to count; x, float32, on the blocks' device, which may
// be the CPU; it may require no gradient, as a batch of data does, and it stays the caller's. Some blocks drop elements
// at random, and none returns its input itself. The modules live on until backward is over, but the array `blocks`
// itself does not: it is overwritten as soon as forward_in_segments has returned, and forward_in_segments may be called
// again, with other blocks, before backward of the first call.
// Judged: the result; the gradients of x and of all parameters, which are those of the blocks run one by one, dropped
// elements and all; where segments begin; that each block runs once or twice until backward is over; and the memory in
// use on the device. For backward a block keeps two tensors of x's size.
//   - Between forward and backward: at most one tensor of x's size for each segment, what the blocks of the last
//     segment keep, and three such tensors more.
//   - At most at any time: one for each segment, what the blocks of the longest segment keep, and eight more.
#include "ferry.h"
#include <stdlib.h>

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  (void)blocks;
  (void)count;
  (void)segments;
  (void)x;
  return NULL; // what the last block returns goes here
}
