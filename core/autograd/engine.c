// Backward: walks the graph from the roots, the latest node first, and hands each gradient on.
//
// A node runs when all the nodes that send gradients to it have run: discover counts them. Between two nodes lies
// hand_over, which brings a gradient to the shape, dtype, device and stream of the one that takes it, and adds up what
// several send. A leaf's node adds to .grad. For fy_autograd_grad only the nodes between the root and the tensors asked
// for run (mark_needed), and only they give up what they saved.
//
// Streams: a node runs on the stream of its forward call. A gradient is made on the stream of the node that sends it; the
// one that takes it waits for that stream first, and what several send is added up on the taker's stream, after all of
// them. The first gradient, the caller's, is handed over in the same way, and at the end the caller's streams wait for
// all that were used.
//
// Threads: several may run backward at once, also over shared nodes and into one leaf (lock_leaf).
#include "autograd/engine.h"
#include "autograd/autograd.h"
#include "base/small.h"
#include "base/state.h"
#include "device/runtime.h"
#include "op/launch.h"
#include "op/ops.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct Task {
  FyNode *node;
  FyTensor **grads; // [n_out], counted; NULL where nothing has arrived
  int dependencies; // edges into it that have not delivered yet
  bool needed;      // its function runs; the others at most hand their gradient to whoever captures it
  bool captured;    // somebody wants the gradient that arrives here
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

static atomic_bool anomaly_mode;

void fy_set_detect_anomaly(bool enabled) {
  atomic_store_explicit(&anomaly_mode, enabled, memory_order_relaxed);
}

static bool detects_anomaly(void) {
  return atomic_load_explicit(&anomaly_mode, memory_order_relaxed);
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

// The task of a node, made when it is new.
static Task *task_of(Engine *e, FyNode *node) {
  if (e->count == e->capacity)
    grow(e);
  int *slot = slot_of(e, node);
  if (!*slot) {
    FyTensor **grads = fy_small_alloc_zeroed((size_t)node->n_out * sizeof *grads);
    fy_check(grads, FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward");
    e->tasks[e->count] = (Task){.node = fy_node_retain(node), .grads = grads, .needed = true};
    *slot = ++e->count;
  }
  return &e->tasks[*slot - 1];
}

// Finds every node reachable from the root and counts the edges into each. The task list is its own work list.
static void discover(Engine *e, FyNode *root) {
  task_of(e, root);
  for (int i = 0; i < e->count; i++) {
    FyNode *node = e->tasks[i].node; // `tasks` moves when the list grows
    for (int k = 0; k < node->n_in; k++)
      if (node->next[k].node)
        task_of(e, node->next[k].node)->dependencies++;
  }
}

static int by_sequence(const void *a, const void *b) {
  const Task *const *x = a, *const *y = b;
  uint64_t s = (*x)->node->sequence, t = (*y)->node->sequence;
  return (s > t) - (s < t);
}

static bool leads_on(Engine *e, const FyNode *node) {
  for (int k = 0; k < node->n_in; k++) {
    if (!node->next[k].node)
      continue;
    const Task *next = task_of(e, node->next[k].node);
    if (next->needed || next->captured)
      return true;
  }
  return false;
}

// With captures, a node is needed when a captured one lies behind it. An op's node is younger than all it leads to, but for
// leaves' nodes, which lead nowhere: going from the oldest to the youngest, each knows of those behind it already.
static void mark_needed(Engine *e) {
  Task **order = fy_small_alloc((size_t)e->count * sizeof *order);
  fy_check(order, FY_OUT_OF_MEMORY_ERROR, "out of host memory for backward over %d nodes", e->count);
  for (int i = 0; i < e->count; i++) {
    order[i] = &e->tasks[i];
    order[i]->needed = false;
    for (int k = 0; k < e->run->capture_count; k++)
      order[i]->captured |= e->run->capture_edges[k].node == order[i]->node;
  }
  qsort(order, (size_t)e->count, sizeof *order, by_sequence);
  for (int i = 0; i < e->count; i++)
    order[i]->needed = leads_on(e, order[i]->node);
  fy_small_free(order, (size_t)e->count * sizeof *order);
}

// Nodes that do not run deliver nothing.
static void count_needed(Engine *e) {
  for (int i = 0; i < e->count; i++) {
    const FyNode *node = e->tasks[i].node;
    for (int k = 0; k < node->n_in && !e->tasks[i].needed; k++)
      if (node->next[k].node)
        task_of(e, node->next[k].node)->dependencies--;
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
  bool same = fy_has_shape(&grad->array, meta->ndim, meta->shape);
  if (!same)
    grad = reduce_to(grad, meta, node);
  if (grad->array.dtype != meta->dtype || !fy_device_equal(grad->device, meta->device))
    grad = fy_to(grad, meta->device, .dtype = (FyDType)meta->dtype);
  return grad;
}

// The gradient was made on the current stream of its device; the node that takes it runs on its own. Returns whether the
// gradient is where that stream is.
static bool order_streams(const FyNode *to, FyTensor *grad) {
  if (!to->stream || grad->device.type != FY_CUDA || !fy_device_equal(fy_stream_device(to->stream), grad->device))
    return false;
  FyStream *from = fy_current_stream(grad->device);
  if (from != to->stream) {
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
  const Task *to = grad ? task_of(e, edge.node) : NULL;
  if (to && (to->needed || to->captured))
    hand_over(edge.node, &to->grads[edge.index], conform(grad, &node->inputs[i], node));
}

static void settle(Engine *e, FyNode *node) {
  for (int i = 0; i < node->n_in; i++) {
    if (!node->next[i].node)
      continue;
    Task *task = task_of(e, node->next[i].node);
    if (--task->dependencies == 0 && (task->needed || task->captured))
      push(e, (int)(task - e->tasks));
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

static void accumulate(FyTensor *leaf, FyTensor *grad) {
  if (leaf->grad) {
    fy_add_(leaf->grad, grad);
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

static void run_op(Engine *e, FyNode *node, FyTensor **grads) {
  FyTensor *grad_in[FY_MAX_INPUTS] = {NULL};
  bool any = false;
  for (int i = 0; i < node->n_out; i++)
    any |= grads[i] != NULL;
  if (any)
    run_backward(node, grads, grad_in);
  for (int i = 0; i < node->n_in; i++)
    if (node->next[i].node)
      deliver(e, node, i, grad_in[i]);
}

// Gradients asked for by fy_autograd_grad are taken where they arrive.
static void capture(const Engine *e, const Task *task) {
  for (int i = 0; i < e->run->capture_count; i++) {
    const FyEdge *edge = &e->run->capture_edges[i];
    if (edge->node == task->node && !e->run->captured[i])
      e->run->captured[i] = fy_retain(task->grads[edge->index]);
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
    if (e->tasks[index].needed)
      settle(e, node);
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
  fy_scope {
    fy_no_grad {
      Engine *e = engine_new(run);
      FyEdge root = fy_gradient_edge(run->root);
      fy_check(root.node, FY_RUNTIME_ERROR, FY_NO_GRADIENT);
      discover(e, root.node);
      fy_node_release(root.node); // the engine holds it now
      if (run->capture_count) {
        mark_needed(e);
        count_needed(e);
      }
      hand_over(root.node, &e->tasks[0].grads[root.index], run->gradient);
      if (e->tasks[0].needed || e->tasks[0].captured)
        push(e, 0);
      run_ready(e);
      join_streams(e);
    }
  }
}
