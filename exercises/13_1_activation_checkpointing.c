// Exercise 13.1: Activation checkpointing          lesson 13 · medium · 30 min
//
// Task      Run a deep model with checkpoints, so that its activations fit into
//           memory: `count` blocks one after the other, in `segments` segments.
//           Checkpoint every segment except the last, where it is optional.
//           PyTorch: checkpoint_sequential(blocks, segments, x)
// Example   25 blocks, 5 segments of 5 blocks: up to 22 tensors of x's size may
//           be in use before backward; without checkpoints, there are 50
// Write     forward_in_segments. It returns the output of the last block.
// Inputs    blocks    `count` modules, 1 to 256; some use dropout; each keeps 2
//                     tensors of x's size for backward. The caller overwrites
//                     the array before backward, but not the modules
//           segments  1 to count
//           x         float32 on the blocks' device, GPU or CPU; it may require
//                     a gradient, and it may be non-contiguous
// Required  - same result and gradients as without checkpoints, even if there
//             is another call before backward
//           - at most `segments` checkpoints; each block runs at most twice
//           - tensors of x's size in use: at most 1.5 x (segments + 2 L) before
//             backward, and 1.5 x (segments + 2 L + 4) at the peak, where L is
//             count / segments rounded down, plus the remainder
#include "ferry.h"
#include <stdlib.h>

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  return NULL; // the output of the last block goes here
}
