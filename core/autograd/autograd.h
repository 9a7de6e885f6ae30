// SPDX-License-Identifier: MIT
// Automatic differentiation: torch.autograd.
#ifndef FERRY_AUTOGRAD_AUTOGRAD_H
#define FERRY_AUTOGRAD_AUTOGRAD_H

#include "tensor/tensor.h"

FY_API bool fy_requires_grad(const FyTensor *t);                        // tensor.requires_grad
FY_API FyTensor *fy_set_requires_grad(FyTensor *t, bool requires_grad); // tensor.requires_grad_(...); leaves only
FY_API bool fy_is_leaf(const FyTensor *t);                              // tensor.is_leaf
FY_API FyTensor *fy_grad(const FyTensor *t);                            // tensor.grad: borrowed from t; NULL is None
FY_API void fy_set_grad(FyTensor *t, FyTensor *grad);                   // tensor.grad = grad; NULL clears it
FY_API const char *fy_grad_fn_name(const FyTensor *t);                  // "ReluBackward0", or NULL for a leaf
FY_API void fy_retain_grad(FyTensor *t);                                // tensor.retain_grad()

// Computes the gradients of a tensor with respect to the leaves of its graph, and adds them to the leaves' .grad:
// fy_backward(loss), fy_backward(y, .gradient = g, .retain_graph = true). Raises FY_RUNTIME_ERROR with PyTorch's
// messages if the tensor is not a scalar and no gradient is given, if it does not require grad, if the graph was
// already freed by an earlier backward pass, and if a saved tensor was changed in place. PyTorch:
// tensor.backward(gradient, retain_graph).
typedef struct FyBackward {
  FyTensor *tensor;
  FyTensor *gradient; // same shape as the tensor; NULL means 1, for a tensor with one element
  bool retain_graph;
} FyBackward;
#define fy_backward(...) fy_backward_with((FyBackward){.tensor = __VA_ARGS__})
FY_API void fy_backward_with(FyBackward options);

// Computes the gradients of `output` with respect to `inputs`, and stores one gradient per input in `grads` (NULL if
// the output does not depend on the input). Does not change .grad of any tensor. Raises FY_RUNTIME_ERROR like
// fy_backward, and if an input does not require grad. PyTorch: torch.autograd.grad(output, inputs).
FY_API void fy_autograd_grad(FyTensor *output, FyTensors inputs, FyTensor *gradient, bool retain_graph,
                             FyTensor **grads);

// Runs the following block without recording operations for backward: fy_no_grad { ... }. fy_enable_grad is the
// opposite. The grad mode belongs to the thread. PyTorch: with torch.no_grad().
#define fy_no_grad fy_grad_mode(false)
#define fy_enable_grad fy_grad_mode(true)
#define fy_grad_mode(enabled)                                                                                          \
  for (FY_AT_END(fy_grad_guard_close) FyGradGuard fy_guard = fy_grad_guard_open(enabled); fy_guard.open;               \
       fy_grad_guard_close(&fy_guard))
FY_API bool fy_is_grad_enabled(void);
FY_API void fy_set_grad_enabled(bool enabled); // torch.set_grad_enabled(enabled)

// Registers a function that backward calls with the gradient of t. If the hook returns a tensor, this tensor replaces
// the gradient; if it returns NULL, the gradient stays as it is. The hook must not raise an error across threads.
// `free_context` is called when the hook is no longer needed; it may be NULL. PyTorch: tensor.register_hook(hook).
typedef FyTensor *(*FyGradHook)(FyTensor *grad, void *context);
FY_API void fy_register_hook(FyTensor *t, FyGradHook hook, void *context, void (*free_context)(void *));

// Registers a function that backward calls with a leaf after it has added to the leaf's .grad. PyTorch:
// tensor.register_post_accumulate_grad_hook(hook).
typedef void (*FyLeafHook)(FyTensor *leaf, void *context);
FY_API void fy_register_post_accumulate_grad_hook(FyTensor *leaf, FyLeafHook hook, void *context,
                                                  void (*free_context)(void *));

// Turns anomaly detection on or off for all threads. When it is on and the backward function of an op raises an error
// or returns NaN, fy_backward prints the file and line of the op's forward call. NaN then raises FY_RUNTIME_ERROR.
// PyTorch: torch.autograd.set_detect_anomaly(enabled).
FY_API void fy_set_detect_anomaly(bool enabled);

// Compares the gradients of `fn` from backward with central differences (eps 1e-6, atol 1e-5, rtol 1e-3), for each
// input that requires grad. `fn` computes one tensor from the inputs. On a mismatch, returns false and writes its
// location to `message` (`size` bytes). Raises FY_VALUE_ERROR unless the output and the inputs that require grad are
// float64. PyTorch: torch.autograd.gradcheck(fn, inputs).
typedef FyTensor *(*FyGradcheckFunction)(FyTensor *const *inputs, void *context);
FY_API bool fy_gradcheck(FyGradcheckFunction fn, void *context, FyTensors inputs, char *message, size_t size);

typedef struct FyGradGuard {
  bool previous, open;
} FyGradGuard;
FY_API FyGradGuard fy_grad_guard_open(bool enabled);
FY_API void fy_grad_guard_close(FyGradGuard *guard);

#endif
