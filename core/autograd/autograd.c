// SPDX-License-Identifier: MIT
// What a program asks of autograd: modes, gradients, hooks, backward.
#include "autograd/autograd.h"
#include "autograd/engine.h"
#include "base/state.h"
#include "op/ops.h"
#include <stdlib.h>
#include <string.h>

// ---- modes -------------------------------------------------------------------------------------------------------------

bool fy_is_grad_enabled(void) {
  return fy_grad_enabled;
}
void fy_set_grad_enabled(bool enabled) {
  fy_grad_enabled = enabled;
}

FyGradGuard fy_grad_guard_open(bool enabled) {
  FyGradGuard guard = {.previous = fy_grad_enabled, .open = true};
  fy_grad_enabled = enabled;
  return guard;
}

void fy_grad_guard_close(FyGradGuard *guard) {
  if (!guard->open)
    return;
  fy_grad_enabled = guard->previous;
  guard->open = false;
}

// ---- a tensor's part in it -------------------------------------------------------------------------------------------------

bool fy_requires_grad(const FyTensor *t) {
  return fy_has_gradient(t);
}
bool fy_is_leaf(const FyTensor *t) {
  return fy_history_is_leaf(t);
}
FyTensor *fy_grad(const FyTensor *t) {
  return t->grad;
}
const char *fy_grad_fn_name(const FyTensor *t) {
  return fy_history_name(t);
}

FyTensor *fy_set_requires_grad(FyTensor *t, bool requires_grad) {
  fy_check(requires_grad || fy_is_leaf(t), FY_RUNTIME_ERROR,
           "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
           "subgraph that doesn't require differentiation use var_no_grad = fy_detach(var).");
  fy_check(!requires_grad || fy_dtype_is_floating(t->array.dtype), FY_RUNTIME_ERROR,
           "only Tensors of floating point dtype can require gradients");
  t->requires_grad = requires_grad;
  return t;
}

void fy_set_grad(FyTensor *t, FyTensor *grad) {
  fy_check(grad != t, FY_RUNTIME_ERROR, "can't assign Variable as its own grad");
  if (grad) {
    fy_history_node(t); // raises for a view that may not be asked for its history
    fy_check(fy_same_shape(&grad->array, &t->array), FY_RUNTIME_ERROR,
             "assigned grad has data of a different size: %s, expected %s", fy_shape_string(grad), fy_shape_string(t));
    fy_check(grad->array.dtype == t->array.dtype, FY_RUNTIME_ERROR,
             "assigned grad has data of a different type: %s, expected %s", fy_dtype_name(grad->array.dtype),
             fy_dtype_name(t->array.dtype));
    fy_check(fy_device_equal(grad->device, t->device), FY_RUNTIME_ERROR,
             "assigned grad has data located on a different device: %s, expected %s", fy_device_name_of(grad->device),
             fy_device_name_of(t->device));
  }
  FyTensor *old = t->grad;
  t->grad = fy_retain(grad);
  fy_release(old);
}

// ---- hooks -------------------------------------------------------------------------------------------------------------------

static void add_hook(FyTensor *t, FyHook description) {
  FyHook *hook = malloc(sizeof *hook);
  fy_check(hook, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a hook");
  *hook = description;
  FyError error;
  fy_trap(error) {
    fy_history_add_hook(t, hook);
  }
  if (error.kind) {
    free(hook);
    fy_raise_again(&error);
  }
}

void fy_register_hook(FyTensor *t, FyGradHook hook, void *context, void (*free_context)(void *)) {
  fy_check(fy_has_gradient(t), FY_RUNTIME_ERROR, "cannot register a hook on a tensor that doesn't require gradient");
  add_hook(t, (FyHook){.function = hook, .context = context, .free_context = free_context});
}

void fy_register_post_accumulate_grad_hook(FyTensor *leaf, FyLeafHook hook, void *context,
                                           void (*free_context)(void *)) {
  fy_check(fy_has_gradient(leaf), FY_RUNTIME_ERROR, "cannot register a hook on a tensor that doesn't require gradient");
  fy_check(fy_is_leaf(leaf), FY_RUNTIME_ERROR, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  add_hook(leaf, (FyHook){.leaf_function = hook, .context = context, .free_context = free_context});
}

void fy_retain_grad(FyTensor *t) {
  fy_check(fy_has_gradient(t), FY_RUNTIME_ERROR, "can't retain_grad on Tensor that has requires_grad=False");
  if (!fy_is_leaf(t))
    fy_history_retain_grad(t);
}

// ---- backward ------------------------------------------------------------------------------------------------------------------

static FyTensor *root_gradient(const FyTensor *root, FyTensor *gradient) {
  fy_check(fy_has_gradient(root), FY_RUNTIME_ERROR, FY_NO_GRADIENT);
  if (!gradient) {
    fy_check(root->array.numel == 1, FY_RUNTIME_ERROR, "grad can be implicitly created only for scalar outputs");
    return fy_ones_like(root);
  }
  fy_check(fy_same_shape(&gradient->array, &root->array), FY_RUNTIME_ERROR,
           "Mismatch in shape: grad_output[0] has a shape of %s and output[0] has a shape of %s.",
           fy_shape_string(gradient), fy_shape_string(root));
  fy_check(fy_device_equal(gradient->device, root->device), FY_RUNTIME_ERROR,
           "the gradient is on %s and the tensor on %s: they must be on the same device",
           fy_device_name_of(gradient->device), fy_device_name_of(root->device));
  return fy_to_dtype(fy_detach(gradient), root->array.dtype);
}

void fy_backward_with(FyBackward options) {
  fy_scope {
    FyTensor *gradient = root_gradient(options.tensor, options.gradient);
    fy_engine_run(&(FyEngineRun){.root = options.tensor, .gradient = gradient, .retain_graph = options.retain_graph});
  }
}

// Edges that were taken, released with the scope even when backward raises.
typedef struct Edges {
  FyObject object;
  int count;
  FyEdge *edges;
  FyTensor **captured;
} Edges;

static void edges_destroy(void *pointer) {
  Edges *e = pointer;
  for (int i = 0; i < e->count; i++) {
    fy_node_release(e->edges[i].node);
    fy_release(e->captured[i]);
  }
  free(e->edges);
  free(e->captured);
  free(e);
}

static Edges *edges_to(FyTensors inputs) {
  Edges *e = fy_object_new(sizeof *e, edges_destroy);
  e->edges = calloc((size_t)inputs.count + 1, sizeof *e->edges);
  e->captured = calloc((size_t)inputs.count + 1, sizeof *e->captured);
  fy_check(e->edges && e->captured, FY_OUT_OF_MEMORY_ERROR, "out of host memory for %d gradients", inputs.count);
  for (int i = 0; i < inputs.count; i++) {
    fy_check(fy_has_gradient(inputs.items[i]), FY_RUNTIME_ERROR,
             "One of the differentiated Tensors does not require grad");
    e->edges[i] = fy_gradient_edge(inputs.items[i]);
    e->count++;
  }
  return e;
}

void fy_autograd_grad(FyTensor *output, FyTensors inputs, FyTensor *gradient, bool retain_graph, FyTensor **grads) {
  int scope = fy_scope_open();
  FyTensor *root = root_gradient(output, gradient);
  Edges *e = edges_to(inputs);
  fy_engine_run(&(FyEngineRun){.root = output,
                               .gradient = root,
                               .retain_graph = retain_graph,
                               .capture_count = inputs.count,
                               .capture_edges = e->edges,
                               .captured = e->captured});
  for (int i = 0; i < inputs.count; i++)
    grads[i] = fy_keep(fy_adopt(fy_retain(e->captured[i])));
  fy_scope_close(scope);
}
