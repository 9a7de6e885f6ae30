// SPDX-License-Identifier: MIT
// A function of the user's as a node of the graph.
//
// The node is made before forward runs, as the record of an op is: what forward saves is gathered in the call and goes into the node
// when the outputs are known. The node holds the function. Its name is copied into the node, which may outlive
// the function in an error's text.
#include "autograd/function.h"
#include "autograd/autograd.h"
#include "base/state.h"
#include "device/runtime.h"
#include "graph/history.h"
#include "op/op.h"
#include "op/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 48, MAX_OUTPUTS = 8 };

struct FyFunction {
  FyObject object;
  FyFunctionOptions options;
  char name[MAX_NAME + 1];
};

// What a node keeps besides what it saved.
typedef struct NodeParams {
  char name[MAX_NAME + sizeof "Backward"];
  int saved, outputs;
  int device; // the CUDA device that is current in both directions; -1: none is asked for
} NodeParams;

struct FyFunctionCall {
  FyFunction *function;
  FyNode *node; // in forward NULL where nothing is recorded
  FyTensors inputs;
  bool is_backward, has_saved;
  int saved_count;
  FyTensor *saved[FY_MAX_SAVED];
  uint8_t not_differentiable; // bit i: output i
};

// ---- the function ----------------------------------------------------------------------------------------------------------

static void function_destroy(void *pointer) {
  FyFunction *function = pointer;
  if (function->options.free_context)
    function->options.free_context(function->options.context);
  free(function);
}

FyFunction *fy_function_new_with(FyFunctionOptions options) {
  fy_check(options.name && *options.name, FY_TYPE_ERROR, "fy_function_new: the function has no name");
  fy_check(strlen(options.name) <= MAX_NAME, FY_VALUE_ERROR,
           "fy_function_new: the name \"%.60s\" has more than %d characters", options.name, MAX_NAME);
  fy_check(options.forward && options.backward, FY_TYPE_ERROR, "fy_function_new: %s has no %s", options.name,
           options.forward ? "backward" : "forward");
  fy_check(options.outputs >= 0 && options.outputs <= MAX_OUTPUTS, FY_VALUE_ERROR,
           "fy_function_new: %s has %d outputs; 1 to %d are possible", options.name, options.outputs, MAX_OUTPUTS);
  FyFunction *function = fy_object_new(sizeof *function, function_destroy);
  snprintf(function->name, sizeof function->name, "%s", options.name);
  function->options = options;
  function->options.name = function->name;
  function->options.outputs = options.outputs ? options.outputs : 1;
  return function;
}

// ---- backward --------------------------------------------------------------------------------------------------------------

static const char *name_of(const FyNode *node) {
  return fy_node_params(node, NodeParams)->name;
}

static void use_device(int device) {
  if (device >= 0)
    fy_use_device(device);
}

static FyTensor *zeros_of(const FyMeta *meta) {
  FySize size = {.ndim = meta->ndim};
  for (int d = 0; d < meta->ndim; d++)
    size.dim[d] = meta->shape[d];
  return fy_zeros_with((FyFactory){.size = size, .dtype = (FyDType)meta->dtype, .device = meta->device});
}

// The engine panics at a gradient that does not fit: here it is the user's, and an error.
static void check_gradient(const FyNode *node, int i, const FyTensor *grad) {
  const FyMeta *meta = &node->inputs[i];
  const FyArray *a = &grad->array;
  const int extra = a->ndim - meta->ndim;
  bool fits = extra >= 0;
  for (int d = 0; d < meta->ndim && fits; d++)
    fits = meta->shape[d] == a->shape[d + extra] || meta->shape[d] == 1;
  fy_check(fits, FY_RUNTIME_ERROR,
           "Function %s returned an invalid gradient at index %d - got %s but expected shape compatible with %s",
           name_of(node), i, fy_sizes_string(a->ndim, a->shape), fy_sizes_string(meta->ndim, meta->shape));
  fy_check(fy_device_equal(grad->device, meta->device), FY_RUNTIME_ERROR,
           "Function %s returned an invalid gradient at index %d - expected device %s but got %s", name_of(node), i,
           fy_device_name_of(meta->device), fy_device_name_of(grad->device));
}

static void function_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  const NodeParams *params = fy_node_params(node, NodeParams);
  FyFunctionCall call = {.function = node->owned, .node = node, .is_backward = true};
  FyTensor *grads[MAX_OUTPUTS];
  if (params->saved)
    fy_node_check_not_released(node);
  for (int i = 0; i < params->outputs; i++)
    grads[i] = grad_out[i] ? grad_out[i] : zeros_of(&node->outputs[i]);
  use_device(params->device);
  call.function->options.backward(&call, grads, grad_in);
  for (int i = 0; i < node->n_in; i++) {
    if (!fy_node_needs(node, i))
      grad_in[i] = NULL;
    if (grad_in[i])
      check_gradient(node, i, grad_in[i]);
  }
}

// ---- forward ---------------------------------------------------------------------------------------------------------------

static FyDevice device_of(FyTensors inputs) {
  for (int i = 0; i < inputs.count; i++)
    if (inputs.items[i] && inputs.items[i]->device.type == FY_CUDA)
      return inputs.items[i]->device;
  return FY_CPU_DEVICE;
}

static bool is_recorded(FyTensors inputs) {
  bool any = false;
  for (int i = 0; i < inputs.count; i++)
    any |= inputs.items[i] && fy_has_gradient(inputs.items[i]);
  return any && fy_grad_enabled;
}

static FyNode *node_of(FyFunction *function, FyTensors inputs, FyDevice device) {
  NodeParams params = {.outputs = function->options.outputs, .device = device.type == FY_CUDA ? device.index : -1};
  snprintf(params.name, sizeof params.name, "%sBackward", function->name);
  FyNode *node = fy_node_new((FyNodeKind){.name = "Function", .name_of = name_of, .backward = function_backward},
                             &params, sizeof params, inputs.count, params.outputs);
  node->owned = fy_retain(function);
  for (int i = 0; i < inputs.count; i++) {
    FyTensor *t = inputs.items[i];
    fy_meta_describe(&node->inputs[i], t);
    if (t && fy_dtype_is_floating(t->array.dtype))
      node->next[i] = fy_gradient_edge(t);
    if (t && t->base)
      fy_node_make_youngest(node);
  }
  fy_node_set_stream(node, device);
  return node;
}

static void check_output(const FyFunctionCall *call, FyTensor *const *outputs, int i) {
  const char *name = call->function->name;
  const FyTensor *t = outputs[i];
  fy_check(t, FY_RUNTIME_ERROR, "%s: forward stored no output %d", name, i);
  for (int k = 0; k < call->inputs.count; k++)
    fy_check(!call->inputs.items[k] || call->inputs.items[k]->storage != t->storage, FY_RUNTIME_ERROR,
             "%s: output %d of forward shares memory with input %d. Return a copy: fy_clone(x)", name, i, k);
  fy_check(!fy_has_gradient(t), FY_RUNTIME_ERROR,
           "%s: output %d of forward has a history of its own. Return a new tensor: grad mode is off in forward", name,
           i);
  for (int k = 0; k < i; k++)
    fy_check(outputs[k]->storage != t->storage, FY_RUNTIME_ERROR,
             "%s: outputs %d and %d of forward share memory. Return a copy: fy_clone(y)", name, k, i);
}

static int place_of(FyTensor *const *tensors, int count, const FyTensor *t) {
  for (int i = 0; i < count; i++)
    if (tensors[i] == t)
      return i;
  return -1;
}

// Aliases are saved, as ops do it: an output that its own history held would never be freed.
static void save(const FyFunctionCall *call, FyTensor *const *outputs) {
  FyNode *node = call->node;
  const int n_out = call->function->options.outputs;
  for (int k = 0; k < call->saved_count; k++) {
    FyTensor *t = call->saved[k];
    fy_node_save(node, t ? fy_detach(t) : NULL, t ? place_of(outputs, n_out, t) : -1,
                 t ? place_of(call->inputs.items, call->inputs.count, t) : -1, t && t->base);
  }
  ((NodeParams *)(void *)node->params)->saved = call->saved_count;
}

static void record(const FyFunctionCall *call, FyTensor **outputs) {
  for (int i = 0; i < call->function->options.outputs; i++)
    fy_meta_describe(&call->node->outputs[i], outputs[i]);
  save(call, outputs);
  for (int i = 0; i < call->function->options.outputs; i++)
    if (fy_dtype_is_floating(outputs[i]->array.dtype) && !(call->not_differentiable >> i & 1))
      fy_set_history(outputs[i], call->node, i);
}

// Versions of the inputs, to see whether forward changed one.
typedef struct Versions {
  FyObject object;
  uint32_t of[];
} Versions;

static Versions *versions_of(FyTensors inputs) {
  Versions *versions = fy_object_new(sizeof *versions + (size_t)inputs.count * sizeof *versions->of, free);
  for (int i = 0; i < inputs.count; i++)
    versions->of[i] = inputs.items[i] ? fy_version_of(inputs.items[i]) : 0;
  return versions;
}

static void check_unchanged(const FyFunctionCall *call, const Versions *versions) {
  for (int i = 0; i < call->inputs.count; i++)
    fy_check(!call->inputs.items[i] || fy_version_of(call->inputs.items[i]) == versions->of[i], FY_RUNTIME_ERROR,
             "%s: forward changed input %d in place. Change a copy: fy_clone(x)", call->function->name, i);
}

void fy_function_apply_all_with(FyFunction *function, FyTensor **outputs, FyTensors inputs) {
  fy_check(function, FY_TYPE_ERROR, "fy_function_apply: the function is NULL");
  fy_check(!fy_thread_op_hooks, FY_RUNTIME_ERROR,
           "%s is a function of fy_function_new, and cannot be traced: what its forward does besides ops is not seen",
           function->name);
  const int scope = fy_scope_open(), n_out = function->options.outputs;
  const FyDevice device = device_of(inputs);
  FyFunctionCall call = {.function = function, .inputs = inputs};
  FyTensor *made[MAX_OUTPUTS] = {NULL};
  if (is_recorded(inputs))
    call.node = node_of(function, inputs, device);
  const Versions *versions = versions_of(inputs);
  use_device(device.type == FY_CUDA ? device.index : -1);
  fy_no_grad
    function->options.forward(&call, inputs.items, made);
  check_unchanged(&call, versions);
  for (int i = 0; i < n_out; i++) {
    check_output(&call, made, i);
    if (made[i]->base) { // a view of what forward computed: a tensor of its own from here on
      const int place = place_of(call.saved, call.saved_count, made[i]);
      made[i] = fy_detach(made[i]);
      if (place >= 0)
        call.saved[place] = made[i];
    }
  }
  if (call.node)
    record(&call, made);
  for (int i = 0; i < n_out; i++)
    outputs[i] = fy_keep(made[i]);
  fy_scope_close(scope);
}

FyTensor *fy_function_apply_with(FyFunction *function, FyTensors inputs) {
  FyTensor *outputs[MAX_OUTPUTS];
  fy_function_apply_all_with(function, outputs, inputs);
  for (int i = 1; i < function->options.outputs; i++)
    fy_drop(outputs[i]);
  return outputs[0];
}

// ---- what forward and backward ask -------------------------------------------------------------------------------------------

void *fy_function_context(const FyFunctionCall *call) {
  return call->function->options.context;
}

bool fy_needs_input_grad(const FyFunctionCall *call, int i) {
  const int count = call->is_backward ? call->node->n_in : call->inputs.count;
  fy_check(i >= 0 && i < count, FY_INDEX_ERROR, "%s: there is no input %d of %d", call->function->name, i, count);
  return call->node && fy_node_needs(call->node, i);
}

void fy_save_for_backward_with(FyFunctionCall *call, FyTensors tensors) {
  const char *name = call->function->name;
  fy_check(!call->is_backward, FY_RUNTIME_ERROR, "%s: fy_save_for_backward belongs into forward", name);
  fy_check(!call->has_saved, FY_RUNTIME_ERROR,
           "%s: fy_save_for_backward was called before: name all tensors in one call", name);
  fy_check(tensors.count <= FY_MAX_SAVED, FY_RUNTIME_ERROR,
           "%s: %d tensors to save, at most %d are possible: put some together with fy_cat", name, tensors.count,
           FY_MAX_SAVED);
  call->has_saved = true;
  if (!call->node)
    return;
  call->saved_count = tensors.count;
  for (int k = 0; k < tensors.count; k++)
    call->saved[k] = tensors.items[k];
}

FyTensor *fy_saved_tensor(FyFunctionCall *call, int k) {
  const char *name = call->function->name;
  fy_check(call->is_backward, FY_RUNTIME_ERROR, "%s: fy_saved_tensor belongs into backward", name);
  const int count = fy_node_params(call->node, NodeParams)->saved;
  fy_check(k >= 0 && k < count, FY_INDEX_ERROR, "%s: there is no saved tensor %d: forward saved %d", name, k, count);
  return fy_saved(call->node, k);
}

void fy_mark_non_differentiable(FyFunctionCall *call, int i) {
  fy_check(!call->is_backward, FY_RUNTIME_ERROR, "%s: fy_mark_non_differentiable belongs into forward",
           call->function->name);
  fy_check(i >= 0 && i < call->function->options.outputs, FY_INDEX_ERROR, "%s: there is no output %d",
           call->function->name, i);
  call->not_differentiable |= (uint8_t)(1u << i);
}
