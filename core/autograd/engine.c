// Backward: walks the graph from the roots, the latest node first, and hands each gradient on.
#include "base/state.h"
#include "device/runtime.h"
#include "autograd/engine.h"
#include "base/small.h"
#include "op/op.h"
#include "op/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Task {
  FyNode *node;
  FyTensor **grads; // [n_out], counted; NULL where nothing has arrived
  int dependencies; // edges into it that have not delivered yet
} Task;

enum { FEW = 16 }; // nodes of a small graph, for which the engine needs no further memory

// All of one backward call. An object, so that an error on the way frees it with its scope.
typedef struct Engine {
  FyObject object;
  Task *tasks;
  int count, capacity;
  int *slots; // open addressing: node -> task index + 1
  int slot_count;
  int *heap; // ready tasks, latest sequence on top
  int ready;
  const FyEngineRun *run;
  Task few_tasks[FEW];
  int few_slots[4 * FEW], few_heap[FEW];
} Engine;

static bool anomaly_mode;

void fy_set_detect_anomaly(bool enabled) {
  anomaly_mode = enabled;
}

static void engine_destroy(void *pointer) {
  Engine *e = pointer;
  for (int i = 0; i < e->count; i++) {
    for (int k = 0; k < e->tasks[i].node->n_out && e->tasks[i].grads; k++)
      fy_release(e->tasks[i].grads[k]);
    fy_small_free(e->tasks[i].grads, (size_t)e->tasks[i].node->n_out * sizeof *e->tasks[i].grads);
    fy_node_release(e->tasks[i].node);
  }
  if (e->capacity > FEW) {
    free(e->tasks);
    free(e->slots);
    free(e->heap);
  }
  fy_small_free(e, sizeof *e);
}

static Engine *engine_new(const FyEngineRun *run) {
  Engine *e = fy_object_new(sizeof *e, engine_destroy);
  e->run = run;
  e->tasks = e->few_tasks;
  e->slots = e->few_slots;
  e->heap = e->few_heap;
  e->capacity = FEW;
  e->slot_count = 4 * FEW;
  return e;
}

// ---- the map of nodes --------------------------------------------------------------------------------------------------

static int *slot_of(Engine *e, const FyNode *node) {
  size_t mask = (size_t)e->slot_count - 1;
  size_t i = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15u >> 20 & mask;
  while (e->slots[i] && e->tasks[e->slots[i] - 1].node != node)
    i = (i + 1) & mask;
  return &e->slots[i];
}

static void grow(Engine *e) {
  size_t old = (size_t)e->capacity, capacity = 2 * old;
  bool own = e->capacity > FEW;
  Task *tasks = malloc(capacity * sizeof *tasks);
  int *heap = malloc(capacity * sizeof *heap), *slots = calloc(4 * capacity, sizeof *slots);
  if (!tasks || !heap || !slots) {
    free(tasks);
    free(heap);
    free(slots);
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward over %zu nodes", capacity);
  }
  memcpy(tasks, e->tasks, old * sizeof *tasks);
  memcpy(heap, e->heap, old * sizeof *heap);
  if (own) {
    free(e->tasks);
    free(e->heap);
    free(e->slots);
  }
  e->tasks = tasks;
  e->heap = heap;
  e->slots = slots;
  e->capacity = (int)capacity;
  e->slot_count = 4 * e->capacity;
  for (int i = 0; i < e->count; i++)
    *slot_of(e, e->tasks[i].node) = i + 1;
}

// The task of a node, made when it is new (then *added is set).
static Task *task_of(Engine *e, FyNode *node, bool *added) {
  if (e->count == e->capacity)
    grow(e);
  int *slot = slot_of(e, node);
  *added = !*slot;
  if (*added) {
    FyTensor **grads = fy_small_alloc_zeroed((size_t)node->n_out * sizeof *grads);
    fy_check(grads, FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward");
    e->tasks[e->count] = (Task){.node = fy_node_retain(node), .grads = grads};
    *slot = ++e->count;
  }
  return &e->tasks[*slot - 1];
}

// Finds every node reachable from the roots and counts the edges into each. The task list is its own work list.
static void discover(Engine *e, FyNode *root) {
  bool added;
  task_of(e, root, &added);
  for (int i = 0; i < e->count; i++) {
    FyNode *node = e->tasks[i].node;
    for (int k = 0; k < node->n_in; k++)
      if (node->next[k].node)
        task_of(e, node->next[k].node, &added)->dependencies++;
  }
}

// ---- the ready heap ------------------------------------------------------------------------------------------------------

static uint64_t key(const Engine *e, int i) {
  return e->tasks[e->heap[i]].node->sequence;
}

static void swap(Engine *e, int i, int j) {
  int t = e->heap[i];
  e->heap[i] = e->heap[j];
  e->heap[j] = t;
}

static void push(Engine *e, int task) {
  int i = e->ready++;
  e->heap[i] = task;
  while (i > 0 && key(e, (i - 1) / 2) < key(e, i)) {
    swap(e, i, (i - 1) / 2);
    i = (i - 1) / 2;
  }
}

static int pop(Engine *e) {
  int top = e->heap[0], i = 0;
  e->heap[0] = e->heap[--e->ready];
  for (;;) {
    int largest = i;
    for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
      if (child < e->ready && key(e, child) > key(e, largest))
        largest = child;
    if (largest == i)
      return top;
    swap(e, i, largest);
    i = largest;
  }
}

// ---- gradients -------------------------------------------------------------------------------------------------------------

// Sums the dimensions that broadcasting added or stretched.
static FyTensor *reduce_to(FyTensor *grad, const FyMeta *meta, const FyNode *node) {
  const FyArray *a = &grad->array;
  FySize sum = {.ndim = 0}, shape = {.ndim = meta->ndim};
  int extra = a->ndim - meta->ndim;
  bool fits = extra >= 0;
  for (int i = 0; i < a->ndim && fits; i++) {
    int64_t size = i < extra ? 1 : meta->shape[i - extra];
    if (i < extra || (size == 1 && a->shape[i] != 1))
      sum.dim[sum.ndim++] = i;
    else
      fits = size == a->shape[i];
  }
  if (!fits)
    fy_panic("%s returned a gradient of shape %s for an input of %d dimensions", fy_node_name(node),
             fy_shape_string(grad), meta->ndim);
  if (sum.ndim == 0)
    return grad;
  memcpy(shape.dim, meta->shape, (size_t)meta->ndim * sizeof *meta->shape);
  return fy_view(fy_sum_dims(grad, sum, true), shape);
}

// As the input wants it: its shape, dtype and device.
static FyTensor *conform(FyTensor *grad, const FyMeta *meta, const FyNode *node) {
  bool same = grad->array.ndim == meta->ndim &&
              memcmp(grad->array.shape, meta->shape, (size_t)meta->ndim * sizeof *meta->shape) == 0;
  if (!same)
    grad = reduce_to(grad, meta, node);
  if (grad->array.dtype != meta->dtype || !fy_device_equal(grad->device, meta->device))
    grad = fy_to(grad, meta->device, .dtype = (FyDType)meta->dtype);
  return grad;
}

// The gradient was made on the current stream; the node that takes it runs on its own.
static void order_streams(const FyNode *to, FyTensor *grad) {
  if (!to->stream || grad->device.type != FY_CUDA)
    return;
  FyStream *from = fy_current_stream(grad->device);
  if (from == to->stream || !fy_device_equal(fy_stream_device(to->stream), grad->device))
    return;
  fy_stream_wait_stream(to->stream, from);
  fy_record_stream(grad, to->stream);
}

static void add_into(FyTensor **slot, FyTensor *grad) {
  FyTensor *old = *slot;
  if (!old) {
    *slot = fy_retain(grad);
    return;
  }
  *slot = fy_retain(fy_add(old, grad));
  fy_release(old);
}

static void deliver(Engine *e, FyNode *node, int i, FyTensor *grad) {
  FyEdge edge = node->next[i];
  bool added;
  Task *task = task_of(e, edge.node, &added);
  if (grad) {
    grad = conform(grad, &node->inputs[i], node);
    order_streams(edge.node, grad);
    add_into(&task->grads[edge.index], grad);
  }
}

static void settle(Engine *e, FyNode *node) {
  bool added;
  for (int i = 0; i < node->n_in; i++) {
    if (!node->next[i].node)
      continue;
    Task *task = task_of(e, node->next[i].node, &added);
    if (--task->dependencies == 0)
      push(e, (int)(task - e->tasks));
  }
}

// ---- running one node ------------------------------------------------------------------------------------------------------

static void call_hooks(FyHook *hook, int output_index, FyTensor **grad) {
  for (; hook && *grad; hook = hook->next) {
    if (!hook->hook || hook->output_index != output_index)
      continue;
    FyTensor *changed = hook->hook(*grad, hook->context);
    if (changed && changed != *grad) {
      fy_retain(changed);
      fy_release(*grad);
      *grad = changed;
    }
  }
}

// Is the gradient in the buffer nobody else's, so that the leaf may have it without a copy?
static bool is_sole_owner(const FyTensor *grad) {
  return atomic_load(&grad->object.references) == 1 && atomic_load(&grad->storage->references) == 1 &&
         grad->array.contiguous && !grad->base;
}

static void accumulate(FyTensor *leaf, FyTensor *grad) {
  if (leaf->grad) {
    fy_add_(leaf->grad, grad);
    return;
  }
  leaf->grad = fy_retain(is_sole_owner(grad) ? grad : fy_clone(fy_detach(grad)));
}

static void run_leaf(Task *task) {
  FyTensor *leaf = task->node->leaf;
  call_hooks(leaf->hooks, 0, &task->grads[0]);
  if (!task->grads[0])
    return;
  accumulate(leaf, task->grads[0]);
  for (FyHook *hook = leaf->hooks; hook; hook = hook->next)
    if (hook->leaf_hook)
      hook->leaf_hook(leaf, hook->context);
}

static bool has_nan(FyTensor *t) {
  if (!fy_dtype_is_floating(t->array.dtype) || t->array.numel == 0)
    return false;
  return isnan(fy_item(fy_max(t))); // max passes a NaN on
}

static void check_anomaly(const FyNode *node, FyTensor *const *grad_in) {
  for (int i = 0; i < node->n_in; i++) {
    if (!node->next[i].node || !grad_in[i] || !has_nan(grad_in[i]))
      continue;
    fprintf(stderr, "Warning: Error detected in %s. The forward call that caused the error is at %s:%d\n",
            fy_node_name(node), node->file ? node->file : "?", node->line);
    fy_raise(FY_RUNTIME_ERROR, "Function '%s' returned nan values in its %dth output.", fy_node_name(node), i);
  }
}

static void explain_failure(const FyNode *node, const FyError *error) {
  if (anomaly_mode)
    fprintf(stderr, "Warning: Error detected in %s. The forward call that caused the error is at %s:%d\n",
            fy_node_name(node), node->file ? node->file : "?", node->line);
  fy_raise_again(error);
}

static void run_backward(FyNode *node, FyTensor *const *grads, FyTensor **grad_in) {
  if (!anomaly_mode) {
    node->op->backward(node, grads, grad_in);
    return;
  }
  FyError error;
  fy_trap(error) {
    node->op->backward(node, grads, grad_in);
  }
  if (error.kind)
    explain_failure(node, &error);
  check_anomaly(node, grad_in);
}

static void run_op(Engine *e, Task *task) {
  FyNode *node = task->node; // `task` moves when the list grows
  FyTensor **grads = task->grads;
  FyTensor *grad_in[FY_MAX_INPUTS] = {NULL};
  bool any = false;
  for (int i = 0; i < node->n_out; i++) {
    call_hooks(node->hooks, i, &grads[i]);
    any |= grads[i] != NULL;
  }
  if (any)
    run_backward(node, grads, grad_in);
  for (int i = 0; i < node->n_in; i++)
    if (node->next[i].node)
      deliver(e, node, i, grad_in[i]);
}

// Gradients asked for by fy_autograd_grad are taken where they arrive.
static bool capture(Engine *e, const Task *task) {
  bool captured = false;
  for (int i = 0; i < e->run->capture_count; i++) {
    const FyEdge *edge = &e->run->capture_edges[i];
    if (edge->node != task->node)
      continue;
    captured = true;
    e->run->captured[i] = fy_retain(task->grads[edge->index]);
  }
  return captured;
}

static void forget_grads(Task *task) {
  for (int i = 0; i < task->node->n_out; i++) {
    fy_release(task->grads[i]);
    task->grads[i] = NULL;
  }
}

static void run_task(Engine *e, int index) {
  FyNode *node = e->tasks[index].node;
  bool capturing = e->run->capture_count > 0;
  if (capturing)
    capture(e, &e->tasks[index]);
  if (!node->op) {
    if (!capturing)
      run_leaf(&e->tasks[index]);
  } else {
    run_op(e, &e->tasks[index]);
  }
  forget_grads(&e->tasks[index]);
  if (!e->run->retain_graph)
    fy_node_release_saved(node);
}

static void run_ready(Engine *e) {
  while (e->ready) {
    int index = pop(e);
    FyNode *node = e->tasks[index].node;
    fy_scope {
      if (node->stream)
        fy_stream_guard(node->stream)
          run_task(e, index);
      else
        run_task(e, index);
    }
    settle(e, node);
  }
}

// The caller's streams wait for those that the leaves' gradients were written on.
static void join_streams(const Engine *e) {
  for (int i = 0; i < e->count; i++) {
    const FyNode *node = e->tasks[i].node;
    if (node->op || !node->stream)
      continue;
    FyStream *current = fy_current_stream(fy_stream_device(node->stream));
    if (current != node->stream)
      fy_stream_wait_stream(current, node->stream);
  }
}

void fy_engine_run(const FyEngineRun *run) {
  fy_scope {
    fy_no_grad {
      Engine *e = engine_new(run);
      FyEdge root = fy_gradient_edge(run->root);
      discover(e, root.node);
      Task *first = &e->tasks[0];
      first->grads[root.index] = fy_retain(run->gradient);
      fy_node_release(root.node);
      push(e, 0);
      run_ready(e);
      join_streams(e);
    }
  }
}
