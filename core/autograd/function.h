// SPDX-License-Identifier: MIT
// Your own functions in the graph: torch.autograd.Function. A forward and a backward, written with ops, with loops over
// fy_data_ptr, or with your own kernels, become an op that autograd knows.
#ifndef FERRY_AUTOGRAD_FUNCTION_H
#define FERRY_AUTOGRAD_FUNCTION_H

#include "tensor/tensor.h"

typedef struct FyFunction FyFunction;         // a class derived from torch.autograd.Function
typedef struct FyFunctionCall FyFunctionCall; // ctx: one call of it, valid while forward or backward runs

// Computes outputs[0 .. n-1] from the inputs, with grad mode off, and saves what backward will need. Each output is a new
// tensor, of any shape and dtype; it may not share memory with an input, and inputs may not be changed. An input may be NULL.
typedef void FyFunctionForward(FyFunctionCall *call, FyTensor *const *inputs, FyTensor **outputs);

// Stores grad_inputs[i] (NULL at first: zero) for each input with fy_needs_input_grad(call, i); others are ignored. Each has
// its input's shape, or one that broadcasting made of it. grad_outputs[i] has the shape and dtype of output i; for an
// unused output it is zeros. It may be expanded (not contiguous), and shared: do not write to it. Grad mode is off.
typedef void FyFunctionBackward(FyFunctionCall *call, FyTensor *const *grad_outputs, FyTensor **grad_inputs);

typedef struct FyFunctionOptions {
  const char *name; // "Swish": grad_fn shows "SwishBackward"; at most 48 characters. Copied
  FyFunctionForward *forward;
  FyFunctionBackward *backward;
  int outputs;                  // how many; 0 means 1, at most 8
  void *context;                // fy_function_context(call); borrowed until no graph needs it, unless:
  void (*free_context)(void *); // called with it then, from whichever thread lets go of it last; NULL for none
} FyFunctionOptions;

// class Swish(torch.autograd.Function): fy_function_new("Swish", .forward = forward, .backward = backward). Owned by the innermost
// scope; graphs hold it for as long as they need it. Any number of threads may apply it. Raises FY_TYPE_ERROR for a missing
// name, forward or backward, FY_VALUE_ERROR for a name that is too long and for too many outputs.
#define fy_function_new(...) fy_function_new_with((FyFunctionOptions){.name = __VA_ARGS__})
FY_API FyFunction *fy_function_new_with(FyFunctionOptions options);

// Swish.apply(x, ...): calls forward and returns output 0, owned by the innermost scope; fy_function_apply_all stores all outputs in
// `outputs`. Where grad mode is on and an input requires grad, a node is recorded, and floating outputs require grad.
// Devices, dtypes and shapes are the forward's affair; the first CUDA device among the inputs is current in the forward, and in
// backward, which runs on the stream that was current for it. Autocast does nothing to the inputs.
//
// Raises what forward raises; FY_RUNTIME_ERROR for an output that is missing, is another output, has a history of its own, or shares
// memory with an input; for an input that forward changed; and while a forward pass is being traced (fy_trace, ONNX), which
// cannot see what your own kernel does. Backward raises what the function's backward raises.
#define fy_function_apply(function, ...) fy_function_apply_with(function, fy_list(__VA_ARGS__))
#define fy_function_apply_all(function, outputs, ...)                                                                  \
  fy_function_apply_all_with(function, outputs, fy_list(__VA_ARGS__))
FY_API FyTensor *fy_function_apply_with(FyFunction *function, FyTensors inputs);
FY_API void fy_function_apply_all_with(FyFunction *function, FyTensor **outputs, FyTensors inputs);

// ---- for forward and backward ------------------------------------------------------------------------------------------

FY_API void *fy_function_context(const FyFunctionCall *call); // what fy_function_new was given

// ctx.needs_input_grad[i]. Raises FY_INDEX_ERROR for an input that there is not.
FY_API bool fy_needs_input_grad(const FyFunctionCall *call, int i);

// ctx.save_for_backward(*tensors), in forward, once: inputs, outputs and what was computed on the way, at most 6, NULL among them
// if so wished. fy_saved_tensor(call, k) is ctx.saved_tensors[k], in backward, owned by the innermost scope: with the values of then,
// or an error if somebody has changed it in place. Both raise FY_RUNTIME_ERROR where the other has its place.
#define fy_save_for_backward(call, ...) fy_save_for_backward_with(call, fy_list(__VA_ARGS__))
FY_API void fy_save_for_backward_with(FyFunctionCall *call, FyTensors tensors);
FY_API FyTensor *fy_saved_tensor(FyFunctionCall *call, int k);

// ctx.mark_non_differentiable(outputs[i]), in forward: that output will not require grad. (Integers never do.)
FY_API void fy_mark_non_differentiable(FyFunctionCall *call, int i);

#endif
