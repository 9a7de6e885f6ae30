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

// tensor.backward(): fy_backward(loss), fy_backward(y, .gradient = g, .retain_graph = true). Gradients are added to the
// .grad of the leaves. Raises FY_RUNTIME_ERROR with PyTorch's texts: not a scalar, no grad, a second time through the same
// graph, a saved tensor changed in place.
typedef struct FyBackward {
  FyTensor *tensor;
  FyTensor *gradient; // of the tensor's shape; ones for a one-element tensor when NULL
  bool retain_graph;
} FyBackward;
#define fy_backward(...) fy_backward_with((FyBackward){.tensor = __VA_ARGS__})
FY_API void fy_backward_with(FyBackward options);

// torch.autograd.grad(output, inputs): stores one gradient per input (NULL where there is none) without touching .grad.
FY_API void fy_autograd_grad(FyTensor *output, FyTensors inputs, FyTensor *gradient, bool retain_graph,
                             FyTensor **grads);

// with torch.no_grad(): runs the following block without recording. Belongs to the thread. fy_enable_grad is its opposite.
#define fy_no_grad fy_grad_mode(false)
#define fy_enable_grad fy_grad_mode(true)
#define fy_grad_mode(enabled)                                                                                          \
  for (FY_AT_END(fy_grad_guard_close) FyGradGuard fy_guard = fy_grad_guard_open(enabled); fy_guard.open;               \
       fy_grad_guard_close(&fy_guard))
FY_API bool fy_is_grad_enabled(void);
FY_API void fy_set_grad_enabled(bool enabled); // torch.set_grad_enabled(enabled)

// tensor.register_hook(hook): called with the gradient of t during backward; a tensor it returns replaces the gradient,
// NULL leaves it. The hook must not raise across threads. `free_context` may be NULL.
typedef FyTensor *(*FyGradHook)(FyTensor *grad, void *context);
FY_API void fy_register_hook(FyTensor *t, FyGradHook hook, void *context, void (*free_context)(void *));

// tensor.register_post_accumulate_grad_hook(hook): called with a leaf after its .grad has been added to.
typedef void (*FyLeafHook)(FyTensor *leaf, void *context);
FY_API void fy_register_post_accumulate_grad_hook(FyTensor *leaf, FyLeafHook hook, void *context,
                                                  void (*free_context)(void *));

// torch.autograd.set_detect_anomaly(enabled): backward names the forward call (file and line) of an op whose gradient
// comes out NaN or that fails.
FY_API void fy_set_detect_anomaly(bool enabled);

// torch.autograd.gradcheck(fn, inputs): compares backward with central differences (eps 1e-6, atol 1e-5, rtol 1e-3) for
// each float64 input that requires grad. `fn` computes a tensor from the inputs. Returns false and says where in
// `message` (of `size` bytes) on a mismatch.
typedef FyTensor *(*FyGradcheckFunction)(FyTensor *const *inputs, void *context);
FY_API bool fy_gradcheck(FyGradcheckFunction fn, void *context, FyTensors inputs, char *message, size_t size);

typedef struct FyGradGuard {
  bool previous, open;
} FyGradGuard;
FY_API FyGradGuard fy_grad_guard_open(bool enabled);
FY_API void fy_grad_guard_close(FyGradGuard *guard);

#endif
