// SPDX-License-Identifier: MIT
// Backward: walks the graph from the roots, the latest node first, and hands each gradient on.
//
// A node runs when all the nodes that send gradients to it have run: tasks.c counts them. Between two nodes lies
// hand_over, which brings a gradient to the shape, dtype, device and stream of the one that takes it, and adds up what
// several send. A leaf's node adds to .grad. For fy_autograd_grad only the nodes between the root and the tensors asked
// for run (tasks.c), and only they give up what they saved.
//
// Streams: a node runs on the stream of its forward call. A gradient is made on the stream of the node that sends it; the
// one that takes it waits for that stream first, and what several send is added up on the taker's stream, after all of
// them. The first gradient, the caller's, is handed over in the same way, and at the end the caller's streams wait for
// all that were used.
//
// Threads: several may run backward at once, also over shared nodes and into one leaf (lock_leaf).
#include "autograd/engine.h"
#include "autograd/autograd.h"
#include "autograd/tasks.h"
#include "base/small.h"
#include "base/state.h"
#include "base/watch.h"
#include "device/capture.h"
#include "device/runtime.h"
#include "graph/place.h"
#include "op/launch.h"
#include "op/ops.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool anomaly_mode;

void fy_set_detect_anomaly(bool enabled) {
  atomic_store_explicit(&anomaly_mode, enabled, memory_order_relaxed);
}

static bool detects_anomaly(void) {
  return atomic_load_explicit(&anomaly_mode, memory_order_relaxed);
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
  bool same = fy_has_shape(&grad->array, meta->ndim, meta->shape);
  if (!same)
    grad = reduce_to(grad, meta, node);
  if (grad->array.dtype != meta->dtype || !fy_device_equal(grad->device, meta->device))
    grad = fy_to(grad, meta->device, .dtype = (FyDType)meta->dtype);
  return grad;
}

// The default stream cannot become part of a capture. A node remembers it from a forward call before the capture, an
// accumulator from the first call that used its leaf, for as long as some graph of it is alive.
static void check_capture(const FyNode *to, const FyStream *from) {
  if (!fy_is_capturing() || fy_stream_raw(to->stream))
    return;
  fy_check(!fy_captured_into(fy_stream_device(to->stream).index, fy_stream_raw(from)), FY_RUNTIME_ERROR,
           "During CUDA graph capture, autograd node '%s' has a stale reference to the default stream (stream 0) from "
           "warmup. This will invalidate the capture because cudaStreamWaitEvent on the default stream pulls a "
           "non-capturing stream into the graph.\nTo fix, either:\n  (a) Run warmup on the same stream that capture "
           "will use, or\n  (b) Delete references to the loss / autograd graph (e.g. `fy_drop(loss)`) before capture.",
           to->leaf ? "AccumulateGrad" : fy_node_name(to));
}

// The gradient was made on the current stream of its device; the node that takes it runs on its own. Returns whether the
// gradient is where that stream is.
static bool order_streams(const FyNode *to, FyTensor *grad) {
  if (!to->stream || grad->device.type != FY_CUDA || !fy_device_equal(fy_stream_device(to->stream), grad->device))
    return false;
  FyStream *from = fy_current_stream(grad->device);
  if (from != to->stream) {
    check_capture(to, from);
    fy_stream_wait_stream(to->stream, from);
    fy_record_stream(grad, to->stream);
  }
  return true;
}

static FyTensor *sum_on(FyStream *stream, FyTensor *a, FyTensor *b) {
  FyTensor *sum = NULL;
  if (!stream)
    return fy_add(a, b);
  fy_stream_guard(stream)
    sum = fy_add(a, b);
  return sum;
}

// Gives `grad` to a node, beside what has arrived in the same slot already.
static void hand_over(const FyNode *to, FyTensor **slot, FyTensor *grad) {
  bool on_stream = order_streams(to, grad);
  FyTensor *old = *slot;
  *slot = fy_retain(old ? sum_on(on_stream ? to->stream : NULL, old, grad) : grad);
  fy_release(old);
}

static void deliver(Engine *e, FyNode *node, int i, FyTensor *grad) {
  const FyEdge edge = node->next[i];
  const Task *to = grad ? fy_engine_task(e, edge.node) : NULL;
  if (to && (to->needed || to->captured))
    hand_over(edge.node, &to->grads[edge.index], conform(grad, &node->inputs[i], node));
}

static void release_dependents(Engine *e, FyNode *node) {
  for (int i = 0; i < node->n_in; i++) {
    if (!node->next[i].node)
      continue;
    Task *task = fy_engine_task(e, node->next[i].node);
    if (--task->dependencies == 0 && (task->needed || task->captured))
      fy_engine_push(e, (int)(task - e->tasks));
  }
}

// ---- hooks -----------------------------------------------------------------------------------------------------------------

static void call_hooks(FyHook *hook, int output_index, FyTensor **grad) {
  for (; hook && *grad; hook = hook->next) {
    if (!hook->function || hook->output_index != output_index)
      continue;
    FyTensor *changed = hook->function(*grad, hook->context);
    if (changed && changed != *grad) {
      fy_retain(changed);
      fy_release(*grad);
      *grad = changed;
    }
  }
}

// retain_grad(): after all hooks, whenever they were registered.
static void keep_retained(FyNode *node, FyTensor *const *grads) {
  FyTensor *t;
  for (int k = 0; fy_retained_tensor(node, k, &t); k++) {
    FyTensor *grad = fy_hold(t) ? grads[t->output_index] : NULL;
    if (!grad)
      continue;
    FyTensor *old = t->grad;
    t->grad = fy_retain(old ? fy_add(old, grad) : fy_clone(grad));
    fy_release(old);
  }
}

static void call_node_hooks(FyNode *node, FyTensor **grads) {
  for (int i = 0; i < node->n_out; i++)
    call_hooks(node->leaf ? node->leaf->hooks : node->hooks, i, &grads[i]);
  if (node->retained)
    keep_retained(node, grads);
}

// ---- leaves ----------------------------------------------------------------------------------------------------------------

// Leaves share a few locks. A lock is an object of the scope, so that an error lets go of it.
enum { LEAF_LOCKS = 16 };
static pthread_mutex_t leaf_locks[LEAF_LOCKS];
static pthread_once_t leaf_locks_once = PTHREAD_ONCE_INIT;

typedef struct LeafLock {
  FyObject object;
  pthread_mutex_t *mutex;
} LeafLock;

static void init_leaf_locks(void) {
  for (int i = 0; i < LEAF_LOCKS; i++)
    pthread_mutex_init(&leaf_locks[i], NULL);
}

static void unlock_leaf(void *pointer) {
  LeafLock *lock = pointer;
  if (lock->mutex)
    pthread_mutex_unlock(lock->mutex);
  fy_small_free(lock, sizeof *lock);
}

static LeafLock *lock_leaf(const FyTensor *leaf) {
  LeafLock *lock = fy_object_new(sizeof *lock, unlock_leaf);
  pthread_once(&leaf_locks_once, init_leaf_locks);
  pthread_mutex_t *mutex = &leaf_locks[((uintptr_t)leaf >> 6) % LEAF_LOCKS];
  pthread_mutex_lock(mutex);
  lock->mutex = mutex;
  return lock;
}

// Is the gradient in the buffer nobody else's, so that the leaf may have it without a copy?
static bool is_sole_owner(const FyTensor *grad) {
  return atomic_load(&grad->object.references) == 1 && atomic_load(&grad->storage->references) == 1 &&
         grad->array.contiguous && !grad->base;
}

// It may be there already.
static void put_in_place(FyTensor *place, FyTensor *grad) {
  if (grad->array.data == place->array.data && grad->array.contiguous)
    fy_bump_version(place);
  else
    fy_copy_(place, grad);
}

static void accumulate(FyTensor *leaf, FyTensor *grad) {
  if (leaf->grad) {
    fy_add_(leaf->grad, grad);
    return;
  }
  if (leaf->grad_place && fy_fits_place(leaf->grad_place, grad)) {
    put_in_place(leaf->grad_place, grad);
    leaf->grad = fy_retain(leaf->grad_place);
    return;
  }
  leaf->grad = fy_retain(is_sole_owner(grad) ? grad : fy_clone(fy_detach(grad)));
}

static void run_leaf(FyTensor *leaf, FyTensor *grad) {
  if (!grad || !leaf->requires_grad) // it may have been switched off since the forward
    return;
  LeafLock *lock = lock_leaf(leaf);
  accumulate(leaf, grad);
  fy_drop(lock);
  for (FyHook *hook = leaf->hooks; hook; hook = hook->next)
    if (hook->leaf_function)
      hook->leaf_function(leaf, hook->context);
}

// ---- running one node ------------------------------------------------------------------------------------------------------

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
  fprintf(stderr, "Warning: Error detected in %s. The forward call that caused the error is at %s:%d\n",
          fy_node_name(node), node->file ? node->file : "?", node->line);
  fy_raise_again(error);
}

static void run_backward(FyNode *node, FyTensor *const *grads, FyTensor **grad_in) {
  fy_check(node->backward, FY_NOT_IMPLEMENTED_ERROR, "derivative for %s is not implemented", fy_node_name(node));
  if (!detects_anomaly()) {
    node->backward(node, grads, grad_in);
    return;
  }
  FyError error;
  fy_trap(error) {
    node->backward(node, grads, grad_in);
  }
  if (error.kind)
    explain_failure(node, &error);
  check_anomaly(node, grad_in);
}

// Is the gradient of input i the only one for a leaf that has a place for it, and nothing there yet?
static bool is_placed(Engine *e, const FyNode *node, int i) {
  FyNode *next = node->next[i].node;
  if (!next || !next->leaf || !next->leaf->grad_place || next->leaf->grad || !next->leaf->requires_grad)
    return false;
  const Task *task = fy_engine_task(e, next);
  return task->needed && !task->captured && task->dependencies == 1 && !task->grads[0];
}

// Tells the node's function where gradients are to lie, which asks by fy_node_place.
static void run_placed(Engine *e, FyNode *node, FyTensor **grads, FyTensor **grad_in) {
  const FyPlaced outer = fy_placed;
  fy_placed = (FyPlaced){.node = node};
  for (int i = 0; i < node->n_in && i < FY_MAX_PLACED; i++)
    fy_placed.inputs |= (uint32_t)is_placed(e, node, i) << i;
  run_backward(node, grads, grad_in);
  fy_placed = outer;
}

static void run_op(Engine *e, FyNode *node, FyTensor **grads) {
  FyTensor *grad_in[node->n_in + 1]; // a graphed module's node has as many inputs as parameters
  bool any = false;
  memset(grad_in, 0, sizeof grad_in);
  for (int i = 0; i < node->n_out; i++)
    any |= grads[i] != NULL;
  if (any && __builtin_expect(atomic_load_explicit(&fy_grad_places, memory_order_relaxed) > 0, false))
    run_placed(e, node, grads, grad_in);
  else if (any)
    run_backward(node, grads, grad_in);
  for (int i = 0; i < node->n_in; i++)
    if (node->next[i].node)
      deliver(e, node, i, grad_in[i]);
}

// Gradients asked for by fy_autograd_grad are taken where they arrive. That one may be a view of another gradient is no
// concern of the caller's, who may change it.
static void capture(const Engine *e, const Task *task) {
  for (int i = 0; i < e->run->capture_count; i++) {
    const FyEdge *edge = &e->run->capture_edges[i];
    if (edge->node != task->node || e->run->captured[i])
      continue;
    FyTensor *grad = task->grads[edge->index];
    e->run->captured[i] = fy_retain(grad && grad->base ? fy_detach(grad) : grad);
  }
}

static void forget_grads(Task *task) {
  for (int i = 0; i < task->node->n_out; i++) {
    fy_release(task->grads[i]);
    task->grads[i] = NULL;
  }
}

// As in PyTorch, a captured gradient has passed the hooks where the walk ends with it, and not where it goes on.
static void run_task(Engine *e, int index) {
  FyNode *node = e->tasks[index].node;
  FyTensor **grads = e->tasks[index].grads;
  bool needed = e->tasks[index].needed;
  if (needed && e->tasks[index].captured)
    capture(e, &e->tasks[index]);
  call_node_hooks(node, grads);
  if (!needed)
    capture(e, &e->tasks[index]);
  else if (node->leaf)
    run_leaf(node->leaf, grads[0]);
  else
    run_op(e, node, grads);
  forget_grads(&e->tasks[index]);
  if (needed && !e->run->retain_graph)
    fy_node_release_saved(node);
}

// With a profiler listening, the node is a range of its own, and knows the line of its forward call.
static bool watch_node(const FyNode *node) {
  if (!fy_is_watched())
    return false;
  fy_watcher.begin(&(FyWatchedRange){.kind = FY_RANGE_NODE,
                                     .name = node->leaf ? "AccumulateGrad" : fy_node_name(node),
                                     .file = node->file,
                                     .line = node->line,
                                     .sequence = node->sequence});
  return true;
}

static void run_ready(Engine *e) {
  while (e->ready) {
    int index = fy_engine_pop(e);
    FyNode *node = e->tasks[index].node;
    const bool watched = watch_node(node);
    fy_scope {
      if (node->stream)
        fy_stream_guard(node->stream)
          run_task(e, index);
      else
        run_task(e, index);
    }
    fy_range_close(watched);
    if (e->tasks[index].needed)
      release_dependents(e, node);
  }
}

// The caller's streams wait for those that were used.
static void join_streams(const Engine *e) {
  const FyStream *joined = NULL; // nodes of one stream mostly follow each other
  for (int i = 0; i < e->count; i++) {
    FyStream *stream = e->tasks[i].node->stream;
    if (!stream || stream == joined)
      continue;
    FyStream *current = fy_current_stream(fy_stream_device(stream));
    if (current != stream)
      fy_stream_wait_stream(current, stream);
    joined = stream;
  }
}

void fy_engine_run(const FyEngineRun *run) {
  const bool watched = fy_range_open(FY_RANGE_LIBRARY, "backward");
  fy_scope {
    fy_no_grad {
      Engine *e = fy_engine_new(run);
      FyEdge root = fy_gradient_edge(run->root);
      fy_check(root.node, FY_RUNTIME_ERROR, FY_NO_GRADIENT);
      fy_engine_discover(e, root.node);
      fy_node_release(root.node); // the engine holds it now
      hand_over(root.node, &e->tasks[0].grads[root.index], run->gradient);
      if (e->tasks[0].needed || e->tasks[0].captured)
        fy_engine_push(e, 0);
      run_ready(e);
      join_streams(e);
    }
  }
  fy_range_close(watched);
}
