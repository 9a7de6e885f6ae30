// SPDX-License-Identifier: MIT
// Gradient checkpointing: torch.utils.checkpoint. A checkpointed part of a model keeps only its inputs for backward,
// and runs again when backward reaches it. This takes less memory and more computation.
#ifndef FERRY_AUTOGRAD_CHECKPOINT_H
#define FERRY_AUTOGRAD_CHECKPOINT_H

#include "base/options.h"
#include "tensor/tensor.h"

// Computes a tensor from the inputs: the checkpointed part. The innermost scope owns the result. The function runs once
// in the forward pass and once in each backward pass that reaches it, and must compute the same each time. So between
// these runs, do not change the data that it reads from `context`, or tensors that it uses but that are not inputs.
typedef FyTensor *(*FyCheckpointFunction)(void *context, FyTensor *const *inputs);

// Returns function(context, inputs), owned by the innermost scope:
//
//   y = fy_checkpoint(block, &settings, x);
//   y = fy_checkpoint(block, &settings, x, mask);
//
// The function decides the shape, dtype and device of the result. The graph keeps the inputs, each with its version,
// but none of the tensors that the function's ops would save for backward. So changing an input in place before
// backward is the same error as without a checkpoint. Inputs may be on any device and of any dtype. Checkpoints may be
// nested. If grad mode is off, the macro only calls the function.
//
// In backward (fy_backward or fy_autograd_grad), the first access to a saved tensor runs the function again. This
// second run uses the stream of the node that needs the tensor, and the random numbers and autocast settings of the
// forward pass, with grad mode on. It ends as soon as the last saved tensor is available. So gradients are bitwise the
// same as without a checkpoint. The function's other side effects happen twice: a BatchNorm in training mode updates
// its running statistics twice, as in PyTorch.
//
// Tensors that other threads save are kept as usual. So a DataParallel over several devices inside the function saves
// no memory, but a module whose replicas use checkpoints themselves does.
//
// Raises the errors of the function, in backward as well. Raises FY_RUNTIME_ERROR in backward if the second run saves a
// different number of tensors ("fy_checkpoint: A different number of tensors was saved ..."), or tensors with a
// different shape, dtype or device. A call uses only the calling thread; the resulting graph has no restrictions.
//
// PyTorch: torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False).
#define fy_checkpoint(function, context, ...)                                                                          \
  fy_checkpoint_with(fy_checkpoint_options(function, context), fy_list(__VA_ARGS__))

// Does the same with options: fy_checkpoint_with(fy_checkpoint_options(block, &s, .preserve_rng_state = false),
// fy_list(x)).
typedef struct FyCheckpointOptions {
  FyCheckpointFunction function;
  void *context;                // borrowed until no graph needs it
  void (*free_context)(void *); // called with the context when no graph needs it; may be NULL
  bool preserve_rng_state;      // default true: the second run draws the random numbers of the forward pass
  bool early_stop;              // default true: the second run ends with the last tensor that is needed
  bool no_determinism_check;    // do not compare the tensors that the two runs save
  const char *named;            // set by the macro: the arguments as text. If NULL, all fields are used as they are
} FyCheckpointOptions;
#define fy_checkpoint_options(...) ((FyCheckpointOptions){.named = FY_TEXT_OF(__VA_ARGS__), .function = __VA_ARGS__})
FY_API FyTensor *fy_checkpoint_with(FyCheckpointOptions options, FyTensors inputs);

#endif
