// SPDX-License-Identifier: MIT
// Your own functions in the autograd graph: torch.autograd.Function. You write a forward and a backward function, with
// ops, with loops over fy_data_ptr, or with your own kernels. Together they become an op that autograd can
// differentiate.
#ifndef FERRY_AUTOGRAD_FUNCTION_H
#define FERRY_AUTOGRAD_FUNCTION_H

#include "tensor/tensor.h"

typedef struct FyFunction FyFunction;         // a class derived from torch.autograd.Function
typedef struct FyFunctionCall FyFunctionCall; // ctx: one call, valid while forward or backward runs

// Computes outputs[0 .. n-1] from the inputs, and saves the tensors that backward will need. Grad mode is off. Each
// output must be a new tensor, of any shape and dtype, that shares no memory with an input. The function must not
// change an input. An input may be NULL.
typedef void FyFunctionForward(FyFunctionCall *call, FyTensor *const *inputs, FyTensor **outputs);

// Stores the gradient grad_inputs[i] for each input for which fy_needs_input_grad(call, i) is true; others are ignored.
// The entries are NULL at first, which means a gradient of zero. Each gradient has the shape of its input, or a shape
// to which the input can be broadcast. grad_outputs[i] has the shape and dtype of output i; for an unused output it is
// zeros. It may be expanded (not contiguous) and shared, so do not write to it. Grad mode is off.
typedef void FyFunctionBackward(FyFunctionCall *call, FyTensor *const *grad_outputs, FyTensor **grad_inputs);

typedef struct FyFunctionOptions {
  const char *name; // for example "Swish": grad_fn shows "SwishBackward". Copied; at most 48 characters
  FyFunctionForward *forward;
  FyFunctionBackward *backward;
  int outputs;                  // number of outputs, at most 8; 0 means 1
  void *context;                // for fy_function_context(call); borrowed until no graph needs it
  void (*free_context)(void *); // called with the context then, on the thread that releases it last; may be NULL
} FyFunctionOptions;

// Creates a function, owned by the innermost scope: fy_function_new("Swish", .forward = forward, .backward = backward).
// Graphs keep it for as long as they need it. Any number of threads may apply it. Raises FY_TYPE_ERROR if the name,
// forward or backward is missing, and FY_VALUE_ERROR if the name is too long or there are too many outputs. PyTorch:
// class Swish(torch.autograd.Function).
#define fy_function_new(...) fy_function_new_with((FyFunctionOptions){.name = __VA_ARGS__})
FY_API FyFunction *fy_function_new_with(FyFunctionOptions options);

// Calls forward and returns output 0, owned by the innermost scope. fy_function_apply_all stores all outputs in
// `outputs`. If grad mode is on and an input requires grad, the call is recorded in the graph, and floating-point
// outputs require grad. Forward decides the devices, dtypes and shapes of the outputs. While it runs, the first CUDA
// device among the inputs is current. Backward has the same current device, and runs on the stream that was current
// there during forward. Autocast does not convert the inputs.
//
// Raises the errors of forward. Raises FY_RUNTIME_ERROR if forward changes an input, or if an output is missing, has
// its own history, or shares memory with an input or with another output. Also raises FY_RUNTIME_ERROR while a forward
// pass is being traced (fy_trace, ONNX), because a trace cannot record the work of your own kernel. Backward raises the
// errors of your backward function. PyTorch: Swish.apply(x, ...).
#define fy_function_apply(function, ...) fy_function_apply_with(function, fy_list(__VA_ARGS__))
#define fy_function_apply_all(function, outputs, ...)                                                                  \
  fy_function_apply_all_with(function, outputs, fy_list(__VA_ARGS__))
FY_API FyTensor *fy_function_apply_with(FyFunction *function, FyTensors inputs);
FY_API void fy_function_apply_all_with(FyFunction *function, FyTensor **outputs, FyTensors inputs);

// ---- for forward and backward ------------------------------------------------------------------------------------------

FY_API void *fy_function_context(const FyFunctionCall *call); // the context that fy_function_new was given

// Returns whether input i needs a gradient. Raises FY_INDEX_ERROR if there is no input i. PyTorch:
// ctx.needs_input_grad[i].
FY_API bool fy_needs_input_grad(const FyFunctionCall *call, int i);

// Saves tensors for backward: inputs, outputs and intermediate results, at most 6; some may be NULL. Call it in
// forward, at most once. fy_saved_tensor returns tensor k in backward, owned by the innermost scope. If the tensor was
// changed in place since, it raises FY_RUNTIME_ERROR. Both raise FY_RUNTIME_ERROR when they are called in the wrong
// pass, and fy_saved_tensor raises FY_INDEX_ERROR if forward did not save tensor k. PyTorch:
// ctx.save_for_backward(*tensors) and ctx.saved_tensors[k].
#define fy_save_for_backward(call, ...) fy_save_for_backward_with(call, fy_list(__VA_ARGS__))
FY_API void fy_save_for_backward_with(FyFunctionCall *call, FyTensors tensors);
FY_API FyTensor *fy_saved_tensor(FyFunctionCall *call, int k);

// Marks output i as non-differentiable: it will not require grad. Call it in forward. Integer outputs never require
// grad. PyTorch: ctx.mark_non_differentiable(outputs[i]).
FY_API void fy_mark_non_differentiable(FyFunctionCall *call, int i);

#endif
