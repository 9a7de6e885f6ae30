// SPDX-License-Identifier: MIT
// A tensor's history: edges, accumulators of leaves, hooks.
#include "graph/history.h"
#include "graph/view.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

// Guards every leaf's weak pointer to its accumulator and the lists of retained tensors, for a few instructions at a
// time: hence no mutex.
static atomic_flag histories = ATOMIC_FLAG_INIT;

static void lock_histories(void) {
  while (atomic_flag_test_and_set_explicit(&histories, memory_order_acquire))
    sched_yield();
}

static void unlock_histories(void) {
  atomic_flag_clear_explicit(&histories, memory_order_release);
}

// ---- accumulators ------------------------------------------------------------------------------------------------------

bool fy_accumulator_unlink(FyNode *accumulator) {
  lock_histories();
  bool last = atomic_fetch_sub_explicit(&accumulator->object.references, 1, memory_order_acq_rel) == 1;
  if (last && atomic_load_explicit(&accumulator->leaf->accumulator, memory_order_relaxed) == accumulator)
    atomic_store_explicit(&accumulator->leaf->accumulator, NULL, memory_order_relaxed);
  unlock_histories();
  return last;
}

void fy_accumulator_forget(FyTensor *leaf) {
  lock_histories();
  leaf->accumulator = NULL;
  unlock_histories();
}

static FyNode *find_accumulator(FyTensor *leaf) {
  if (!atomic_load_explicit(&leaf->accumulator, memory_order_relaxed))
    return NULL;
  lock_histories();
  FyNode *node = leaf->accumulator;
  if (node)
    fy_node_retain(node);
  unlock_histories();
  return node;
}

// Two threads may both find none: the first to come back with one wins.
static FyNode *accumulator_of(FyTensor *leaf) {
  FyNode *node = find_accumulator(leaf);
  if (node)
    return node;
  FyNode *fresh = fy_node_new_accumulator(leaf);
  lock_histories();
  node = atomic_load_explicit(&leaf->accumulator, memory_order_relaxed);
  if (node)
    fy_node_retain(node);
  else
    atomic_store_explicit(&leaf->accumulator, node = fresh, memory_order_relaxed);
  unlock_histories();
  if (node != fresh)
    fy_node_release(fresh);
  return node;
}

// ---- reading -----------------------------------------------------------------------------------------------------------

bool fy_history_is_leaf(const FyTensor *t) {
  return !t->grad_fn && !fy_view_is_stale(t);
}

FyNode *fy_history_node(FyTensor *t) {
  if (t->base)
    fy_view_refresh(t);
  return t->grad_fn;
}

const char *fy_history_name(const FyTensor *t) {
  FyTensor *tensor = (FyTensor *)(uintptr_t)t; // writing a view's history anew does not change the tensor
  FyNode *volatile node = NULL;
  FyError error;
  fy_trap(error) {
    node = fy_history_node(tensor);
  }
  return error.kind ? "Invalid" : node ? fy_node_name(node) : NULL;
}

FyEdge fy_gradient_edge(FyTensor *t) {
  if (!t || !fy_has_gradient(t))
    return (FyEdge){NULL, 0};
  FyNode *node = fy_history_node(t);
  if (node)
    return (FyEdge){fy_node_retain(node), t->output_index};
  // A view of a leaf that began to require gradients after the view was made has no part in it, as in PyTorch.
  return (FyEdge){t->requires_grad ? accumulator_of(t) : NULL, 0};
}

// ---- writing -----------------------------------------------------------------------------------------------------------

// The entry of t in the list of `node`, taken out of it.
static FyRetained *take_retained(FyNode *node, const FyTensor *t) {
  for (FyRetained **at = &node->retained; *at; at = &(*at)->next) {
    FyRetained *entry = *at;
    if (entry->tensor != t)
      continue;
    *at = entry->next;
    return entry;
  }
  return NULL;
}

static void put_retained(FyNode *node, FyRetained *entry) {
  entry->next = node->retained;
  node->retained = entry;
}

void fy_set_history(FyTensor *t, FyNode *node, int output_index) {
  FyNode *old = t->grad_fn;
  if (t->retains_grad && old) {
    lock_histories();
    FyRetained *entry = take_retained(old, t);
    if (entry)
      put_retained(node, entry);
    unlock_histories();
  }
  atomic_store_explicit(&t->grad_fn, fy_node_retain(node), memory_order_release);
  atomic_store_explicit(&t->requires_grad, true, memory_order_relaxed);
  if (t->output_index != output_index)
    t->output_index = (int16_t)output_index;
  fy_node_release(old);
}

void fy_history_add_hook(FyTensor *t, FyHook *hook) {
  FyNode *node = fy_history_node(t);
  hook->next = NULL;
  hook->output_index = node ? t->output_index : 0;
  FyHook **end = node ? &node->hooks : &t->hooks;
  while (*end)
    end = &(*end)->next;
  *end = hook;
}

void fy_history_retain_grad(FyTensor *t) {
  FyNode *node = fy_history_node(t);
  if (t->retains_grad)
    return;
  FyRetained *entry = malloc(sizeof *entry);
  fy_check(entry, FY_OUT_OF_MEMORY_ERROR, "out of host memory for fy_retain_grad");
  entry->tensor = t;
  t->retains_grad = true;
  fy_object_know_weakly(t);
  lock_histories();
  put_retained(node, entry);
  unlock_histories();
}

bool fy_retained_tensor(FyNode *node, int k, FyTensor **t) {
  lock_histories();
  FyRetained *entry = node->retained;
  for (; entry && k > 0; k--)
    entry = entry->next;
  const bool found = entry != NULL;
  // One whose last reference has just gone waits for the lock in forget_tensor: it must stay dead.
  *t = fy_retain_if_alive(entry ? entry->tensor : NULL);
  unlock_histories();
  return found;
}

// ---- a tensor's end ----------------------------------------------------------------------------------------------------

// Nobody may write its gradient any more, and its hooks go with it.
static void forget_tensor(FyTensor *t) {
  if (t->retains_grad && t->grad_fn) {
    lock_histories();
    FyRetained *entry = take_retained(t->grad_fn, t);
    unlock_histories();
    free(entry);
  }
  fy_free_hooks(t->hooks);
}

__attribute__((constructor)) static void join_tensors(void) {
  fy_tensor_graph = (FyTensorGraph){.forget_tensor = forget_tensor, .release_node = fy_node_release};
}
