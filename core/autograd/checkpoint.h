// SPDX-License-Identifier: MIT
// Gradient checkpointing: torch.utils.checkpoint. A part of a model keeps only its inputs for backward, and runs a second time
// when backward reaches it: less memory, more computation.
#ifndef FERRY_AUTOGRAD_CHECKPOINT_H
#define FERRY_AUTOGRAD_CHECKPOINT_H

#include "base/options.h"
#include "tensor/tensor.h"

// The part: a tensor from tensors. The result belongs to the innermost scope. It runs once in the forward and once in each
// backward that comes here, and has to do the same each time: what it reads in `context`, and tensors that are not among its
// inputs, must not have changed in between.
typedef FyTensor *(*FyCheckpointFunction)(void *context, FyTensor *const *inputs);

// torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False):
//   y = fy_checkpoint(block, &settings, x);
//   y = fy_checkpoint(block, &settings, x, mask);
// Returns function(context, inputs), owned by the innermost scope; its shape, dtype and device are the function's affair. What
// the function's ops would save for backward is not kept. The inputs are, each with its version: one that is changed in place
// before backward is the error that it would be without. Inputs may be on any device and of any dtype; checkpoints nest. With
// grad mode off it is a plain call.
//
// In backward (fy_backward or fy_autograd_grad) the first saved tensor that is asked for runs the function again, on that
// node's stream, with grad mode, the random numbers and the autocast settings of the forward, and ends it as soon as the
// last tensor is there. So gradients are those without it, to the bit. Its other side effects happen twice: a
// BatchNorm that trains moves its running statistics twice, as in PyTorch.
//
// Tensors that other threads save are kept as ever: a DataParallel over several devices inside the function gains nothing. A
// module whose replicas checkpoint themselves does.
//
// Raises what the function raises, in backward too; FY_RUNTIME_ERROR in backward when the second run saves another number of
// tensors, or others in shape, dtype or device ("fy_checkpoint: A different number of tensors was saved ...").
// One thread; the graph that comes of it may be used as any other.
#define fy_checkpoint(function, context, ...)                                                                          \
  fy_checkpoint_with(fy_checkpoint_options(function, context), fy_list(__VA_ARGS__))

// The same with options: fy_checkpoint_with(fy_checkpoint_options(block, &s, .preserve_rng_state = false), fy_list(x)).
typedef struct FyCheckpointOptions {
  FyCheckpointFunction function;
  void *context;                // borrowed until no graph needs it, unless:
  void (*free_context)(void *); // called with it then; NULL for none
  bool preserve_rng_state;      // true unless it is named: the second run draws the forward's random numbers
  bool early_stop;              // true unless it is named: the second run ends with the last tensor that is needed
  bool no_determinism_check;    // do not compare what the two runs saved
  const char *named;            // the arguments' text, by the macro. NULL: all fields hold as they are
} FyCheckpointOptions;
#define fy_checkpoint_options(...) ((FyCheckpointOptions){.named = FY_TEXT_OF(__VA_ARGS__), .function = __VA_ARGS__})
FY_API FyTensor *fy_checkpoint_with(FyCheckpointOptions options, FyTensors inputs);

#endif
