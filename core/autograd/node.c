// Nodes: what an op leaves behind for backward, and how tensors point at them.
#include "autograd/node.h"
#include "base/small.h"
#include "device/runtime.h"
#include "op/op.h"
#include "op/ops.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_ullong next_sequence = 1;

// Guards every leaf's weak pointer to its accumulator, for a few instructions at a time: hence no mutex.
static atomic_flag accumulators = ATOMIC_FLAG_INIT;

static void lock_accumulators(void) {
  while (atomic_flag_test_and_set_explicit(&accumulators, memory_order_acquire))
    sched_yield();
}

static void unlock_accumulators(void) {
  atomic_flag_clear_explicit(&accumulators, memory_order_release);
}

// ---- life ------------------------------------------------------------------------------------------------------------

static FyNode *node_new(const FyOp *op, size_t params_bytes, int n_in, int n_out) {
  size_t inputs = (size_t)n_in * (sizeof(FyEdge) + sizeof(FyMeta)), outputs = (size_t)n_out * sizeof(FyMeta);
  size_t params = params_bytes / 16 * 16 + 16; // never none: see bury
  size_t bytes = sizeof(FyNode) + params + inputs + outputs;
  FyNode *node = fy_small_alloc(bytes);
  fy_check(node, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the autograd graph");
  memset(node, 0, offsetof(FyNode, params));
  atomic_init(&node->references, 1);
  node->op = op;
  node->sequence = atomic_fetch_add_explicit(&next_sequence, 1, memory_order_relaxed);
  node->n_in = n_in;
  node->n_out = n_out;
  node->bytes = bytes;
  node->inputs = (FyMeta *)(void *)(node->params + params);
  node->outputs = node->inputs + n_in;
  node->next = (FyEdge *)(node->outputs + n_out);
  memset(node->next, 0, (size_t)n_in * sizeof(FyEdge));
  node->file = fy_where_file;
  node->line = fy_where_line;
  return node;
}

FyNode *fy_node_retain(FyNode *node) {
  atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
  return node;
}

void fy_free_hooks(FyHook *hook) {
  while (hook) {
    FyHook *next = hook->next;
    if (hook->free_context)
      hook->free_context(hook->context);
    free(hook);
    hook = next;
  }
}

static void release_saved(FyNode *node) {
  for (int i = 0; i < node->n_saved; i++) {
    FyTensor *tensor = node->saved[i].tensor;
    node->saved[i].tensor = NULL;
    fy_release(tensor);
  }
  node->released = true;
}

void fy_node_release_saved(FyNode *node) {
  release_saved(node);
  if (node->inner)
    fy_node_release_saved(node->inner);
}

// A long chain of nodes would overflow the stack if each freed the next from inside: the thread keeps a list instead.
static _Thread_local FyNode *doomed;
static _Thread_local bool freeing;

static void node_free(FyNode *node) {
  FyTensor *leaf = node->leaf;
  release_saved(node);
  fy_free_hooks(node->hooks);
  fy_release(node->stream);
  for (int i = 0; i < node->n_in; i++)
    if (node->next[i].node)
      fy_node_release(node->next[i].node);
  if (node->inner)
    fy_node_release(node->inner);
  fy_small_free(node, node->bytes);
  fy_release(leaf);
}

static void bury(FyNode *node) {
  if (freeing) {
    memcpy(node->params, &doomed, sizeof doomed); // params are of no use any more
    doomed = node;
    return;
  }
  freeing = true;
  node_free(node);
  while (doomed) {
    FyNode *next = doomed;
    memcpy(&doomed, next->params, sizeof doomed);
    node_free(next);
  }
  freeing = false;
}

void fy_node_release(FyNode *node) {
  if (node->leaf) { // nobody may find it through the leaf while it dies
    lock_accumulators();
    bool last = atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) == 1;
    if (last && node->leaf->accumulator == node)
      node->leaf->accumulator = NULL;
    unlock_accumulators();
    if (last)
      bury(node);
    return;
  }
  if (atomic_load_explicit(&node->references, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) == 1)
    bury(node);
}

const char *fy_node_name(const FyNode *node) {
  if (!node->op)
    return "AccumulateGrad";
  return node->op->grad_name_of ? node->op->grad_name_of(node) : node->op->grad_name;
}

// ---- saved tensors -----------------------------------------------------------------------------------------------------

static void save(FyNode *node, FyTensor *tensor, uint32_t version, int output_index) {
  if (node->n_saved == FY_MAX_SAVED)
    fy_panic("%s saves more than %d tensors", fy_node_name(node), FY_MAX_SAVED);
  FySaved *saved = &node->saved[node->n_saved++];
  *saved = (FySaved){.tensor = tensor, .version = version, .output_index = (int8_t)output_index};
  if (tensor) {
    saved->dtype = tensor->array.dtype;
    saved->device = tensor->device;
  }
}

void fy_save_input(FyNode *node, FyCall *call, int i) {
  FyTensor *t = call->in[i];
  uint32_t version = t ? fy_version_of(t) : 0;
  if (t && call->in_place && t->storage == call->out[0]->storage) {
    version--;        // its value is overwritten: using it later is an error
    t = fy_detach(t); // and the target itself would hold its own history in a circle
  }
  save(node, fy_retain(t), version, -1);
}

// Stored detached: a tensor that its own grad_fn held would never be freed.
void fy_save_output(FyNode *node, FyCall *call, int i) {
  FyTensor *alias = fy_retain(fy_detach(call->out[i]));
  save(node, alias, fy_version_of(alias), i);
}

static void check_version(const FyNode *node, const FySaved *saved) {
  const FyTensor *t = saved->tensor;
  uint32_t version = fy_version_of(t);
  if (version == saved->version)
    return;
  const char *shape = fy_shape_string(t) + strlen("torch.Size("); // "[2, 3])"
  char origin[96] = "";
  const char *producer = saved->output_index >= 0 ? fy_node_name(node) : fy_grad_fn_name(t);
  int index = saved->output_index >= 0 ? saved->output_index : t->output_index;
  if (producer)
    snprintf(origin, sizeof origin, ", which is output %d of %s,", index, producer);
  fy_raise(FY_RUNTIME_ERROR,
           "one of the variables needed for gradient computation has been modified by an inplace operation: "
           "[torch.%s%sTensor %.*s]%s is at version %u; expected version %u instead. Hint: enable anomaly detection to "
           "find the operation that failed to compute its gradient, with fy_set_detect_anomaly(true).",
           t->device.type == FY_CUDA ? "cuda." : "", fy_dtype_scalar_name(t->array.dtype), (int)strlen(shape) - 1,
           shape, origin, version, saved->version);
}

FyTensor *fy_saved(FyNode *node, int k) {
  fy_check(!node->released, FY_RUNTIME_ERROR,
           "Trying to backward through the graph a second time (or directly access saved tensors after they have "
           "already been freed). Saved intermediate values of the graph are freed when you call fy_backward() or "
           "fy_autograd_grad(). Specify .retain_graph = true if you need to backward through the graph a second time "
           "or if you need to access saved tensors after calling backward.");
  const FySaved *saved = &node->saved[k];
  FyTensor *t = saved->tensor;
  if (!t)
    return NULL;
  check_version(node, saved);
  if (t->array.dtype != saved->dtype || !fy_device_equal(t->device, saved->device))
    return fy_to(fy_detach(t), saved->device, .dtype = (FyDType)saved->dtype);
  return t;
}

// ---- edges -------------------------------------------------------------------------------------------------------------

static void set_stream(FyNode *node, FyDevice device) {
  if (device.type == FY_CUDA)
    node->stream = fy_retain(fy_current_stream(device));
}

// Of an input that was not given: zeros.
static void describe(FyMeta *meta, const FyTensor *t) {
  meta->ndim = t ? t->array.ndim : 0;
  meta->dtype = t ? t->array.dtype : 0;
  meta->device = t ? t->device : FY_CPU_DEVICE;
  for (int d = 0; d < meta->ndim; d++)
    meta->shape[d] = t->array.shape[d];
}

static FyNode *accumulator_new(FyTensor *leaf) {
  FyNode *node = node_new(NULL, 0, 0, 1);
  node->sequence = UINT64_MAX; // runs as soon as it is ready
  describe(&node->outputs[0], leaf);
  node->leaf = fy_retain(leaf);
  set_stream(node, leaf->device);
  return node;
}

static FyNode *accumulator_of(FyTensor *leaf) {
  FyNode *fresh = leaf->accumulator ? NULL : accumulator_new(leaf);
  lock_accumulators();
  FyNode *node = leaf->accumulator;
  if (node)
    fy_node_retain(node);
  else if (fresh)
    node = leaf->accumulator = fresh;
  unlock_accumulators();
  if (!node)
    return accumulator_of(leaf); // the old one died in between
  if (fresh && node != fresh) {
    fresh->references = 0;
    bury(fresh);
  }
  return node;
}

void fy_forget_accumulator(FyTensor *leaf) {
  lock_accumulators();
  leaf->accumulator = NULL; // it is the old graphs' alone now
  unlock_accumulators();
}

static void refresh_view(FyTensor *view);

FyEdge fy_gradient_edge(FyTensor *t) {
  if (!t)
    return (FyEdge){NULL, 0};
  if (t->base)
    refresh_view(t);
  if (!t->requires_grad)
    return (FyEdge){NULL, 0};
  if (t->grad_fn)
    return (FyEdge){fy_node_retain(t->grad_fn), t->output_index};
  return (FyEdge){accumulator_of(t), 0};
}

static void set_history(FyTensor *t, FyNode *node, int output_index) {
  FyNode *old = t->grad_fn;
  t->grad_fn = fy_node_retain(node);
  t->output_index = (int16_t)output_index;
  t->requires_grad = true;
  if (old)
    fy_node_release(old);
}

// ---- recording -----------------------------------------------------------------------------------------------------------

static FyNode *node_of_call(FyCall *call, FyTensor *const *inputs) {
  FyNode *node = node_new(call->op, call->op->params_size, call->n_in, call->n_out);
  for (int i = 0; i < call->n_in; i++) {
    describe(&node->inputs[i], inputs[i]);
    if (inputs[i] && fy_dtype_is_floating(inputs[i]->array.dtype))
      node->next[i] = fy_gradient_edge(inputs[i]);
  }
  for (int i = 0; i < call->n_out; i++)
    describe(&node->outputs[i], call->out[i]);
  if (call->params)
    memcpy(node->params, call->params, call->op->params_size);
  set_stream(node, call->device);
  if (call->op->save)
    call->op->save(call, node);
  return node;
}

void fy_record(FyCall *call, FyTensor *const *inputs) {
  FyNode *node = node_of_call(call, inputs);
  for (int i = 0; i < call->n_out; i++)
    if (fy_dtype_is_floating(call->out[i]->array.dtype))
      set_history(call->out[i], node, i);
  fy_node_release(node);
}

void fy_check_in_place(const FyTensor *target) {
  fy_check(!(target->requires_grad && !target->grad_fn), FY_RUNTIME_ERROR,
           "a leaf Variable that requires grad is being used in an in-place operation.");
  const FyTensor *base = target->base;
  fy_check(!(base && base->requires_grad && !base->grad_fn), FY_RUNTIME_ERROR,
           "a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

// ---- changing a view in place ----------------------------------------------------------------------------------------------
//
// The base's history gets a CopySlices node: the gradient of the changed base goes to the old base everywhere but in the
// view, and through the op there. The view's own history becomes a view of the new base.

typedef struct Geometry {
  int ndim;
  int64_t offset; // in elements, from the base's first
  int64_t shape[FY_MAX_DIM], stride[FY_MAX_DIM];
} Geometry;

static Geometry geometry_of(const FyTensor *view) {
  const FyArray *a = &view->array;
  Geometry g = {.ndim = a->ndim};
  g.offset = a->data ? fy_storage_offset(view) - fy_storage_offset(view->base) : 0;
  memcpy(g.shape, a->shape, (size_t)a->ndim * sizeof *a->shape);
  memcpy(g.stride, a->stride, (size_t)a->ndim * sizeof *a->stride);
  return g;
}

static FyTensor *region(const FyTensor *of, const Geometry *g) {
  return fy_new_alias(of, g->ndim, g->shape, g->stride, g->offset);
}

static FyTensor *zeros_of(const FyMeta *meta) {
  FyFactory options = {.dtype = meta->dtype, .device = meta->device, .size.ndim = meta->ndim};
  memcpy(options.size.dim, meta->shape, (size_t)meta->ndim * sizeof *meta->shape);
  return fy_zeros_with(options);
}

static void as_strided_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *grad = zeros_of(&node->inputs[0]);
  fy_copy_(region(grad, fy_node_params(node, Geometry)), grad_out[0]);
  grad_in[0] = grad;
}

static const FyOp as_strided = {
    .name = "as_strided", .grad_name = "AsStridedBackward0", .backward = as_strided_backward, .id = -1};

static void copy_slices_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *through[FY_MAX_INPUTS] = {NULL};
  FyTensor *grad = fy_clone(grad_out[0]);
  FyTensor *part = region(grad, fy_node_params(node, Geometry));
  FyTensor *outer[1] = {fy_clone(part)};
  FyEdge first = node->inner->next[0];
  node->inner->next[0] = node->next[0]; // the op asks whether its first input needs a gradient: the base does
  node->inner->op->backward(node->inner, outer, through);
  node->inner->next[0] = first;
  if (through[0])
    fy_copy_(part, through[0]);
  else
    fy_zero_(part);
  grad_in[0] = grad;
  for (int i = 1; i < node->n_in; i++)
    grad_in[i] = through[i];
}

static const FyOp copy_slices = {
    .name = "copy_slices", .grad_name = "CopySlices", .backward = copy_slices_backward, .id = -1};

static void refresh_view(FyTensor *view) {
  FyTensor *base = view->base;
  uint64_t history = base->grad_fn ? base->grad_fn->sequence : 0;
  if (view->base_history == history)
    return;
  view->base_history = history;
  if (!base->grad_fn || !base->array.contiguous)
    return;
  FyNode *node = node_new(&as_strided, sizeof(Geometry), 1, 1);
  Geometry g = geometry_of(view);
  memcpy(node->params, &g, sizeof g);
  describe(&node->inputs[0], base);
  describe(&node->outputs[0], view);
  node->next[0] = fy_gradient_edge(base);
  set_stream(node, view->device);
  set_history(view, node, 0);
  fy_node_release(node);
}

static void record_on_view(FyTensor *view, FyNode *inner) {
  FyTensor *base = view->base;
  fy_check(
      base->array.contiguous, FY_RUNTIME_ERROR,
      "an in-place change of a view of a tensor that is not contiguous cannot be recorded; use fy_contiguous on the "
      "tensor before taking the view");
  FyNode *node = node_new(&copy_slices, sizeof(Geometry), inner->n_in, 1);
  Geometry g = geometry_of(view);
  memcpy(node->params, &g, sizeof g);
  node->inner = fy_node_retain(inner);
  describe(&node->inputs[0], base);
  describe(&node->outputs[0], base);
  node->next[0] = fy_gradient_edge(base);
  for (int i = 1; i < inner->n_in; i++) {
    node->inputs[i] = inner->inputs[i];
    node->next[i] = inner->next[i];
    if (node->next[i].node)
      fy_node_retain(node->next[i].node);
  }
  set_stream(node, base->device);
  set_history(base, node, 0);
  fy_node_release(node);
  refresh_view(view);
}

void fy_record_in_place(FyCall *call, FyTensor *const *inputs) {
  FyTensor *target = inputs[0];
  FyNode *node = node_of_call(call, inputs);
  if (target->base)
    record_on_view(target, node);
  else
    set_history(target, node, 0);
  fy_node_release(node);
}
