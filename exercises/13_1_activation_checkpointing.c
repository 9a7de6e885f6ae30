// Exercise 13.1: Activation checkpointing          lesson 13 · medium · 30 min
//
// Task      Run a deep model with checkpoints, so that its activations fit into
//           memory: `count` blocks one after the other, in `segments` segments.
//           All segments but the last are checkpointed; the last may be.
//           PyTorch: checkpoint_sequential(blocks, segments, x)
// Example   25 blocks, 5 segments: 5 x 5 blocks; 22 tensors of x's size in use
//           before backward are fine, and without checkpoints it would be 50
// Write     forward_in_segments. It returns the output of the last block.
// Inputs    blocks    `count` modules, 1 to 256; some use dropout; each keeps 2
//                     tensors of x's size for backward. The array is
//                     overwritten before backward, the modules are not
//           segments  1 to count
//           x         float32 on the blocks' device, GPU or CPU; it may require
//                     a gradient, and it may be non-contiguous
// Required  - same result and gradients as without checkpoints, also if there
//             is another call before backward
//           - at most `segments` checkpoints; each block runs at most twice
//           - tensors of x's size in use: at most 1.5 x (segments + 2 L) before
//             backward, and 1.5 x (segments + 2 L + 4) at the peak, where L is
//             count / segments rounded down + the rest
#include "ferry.h"
#include <stdlib.h>

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  return NULL; // what the last block returns goes here
}
