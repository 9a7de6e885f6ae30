// SPDX-License-Identifier: MIT
// Tensors that backward will need, and the check that nobody changed them since.
#include "base/state.h"
#include "graph/history.h"
#include "graph/node.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>

// Two threads may run backward over one graph, and one of them give up what the other is about to read: a lock for as long
// as it takes to count a reference. Nodes share a few locks.
enum { LOCKS = 64 };
static atomic_flag locks[LOCKS]; // static: all clear

static atomic_flag *lock_of(const FyNode *node) {
  atomic_flag *lock = &locks[((uintptr_t)node >> 6) % LOCKS];
  while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
    sched_yield();
  return lock;
}

// ---- hooks ---------------------------------------------------------------------------------------------------------------

_Thread_local FySavedHooks *fy_saved_hooks;
_Thread_local uint64_t fy_backward_number;

uint64_t fy_backward_enter(void) {
  static _Atomic uint64_t last;
  const uint64_t outer = fy_backward_number;
  fy_backward_number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  return outer;
}

// What a trap restores. A thread that is given another's state is none of those whose saving the hooks are about.
typedef struct ThreadHooks {
  FySavedHooks *hooks;
  FySavedHooks **owner;
} ThreadHooks;

static void save_hooks(void *saved) {
  *(ThreadHooks *)saved = (ThreadHooks){.hooks = fy_saved_hooks, .owner = &fy_saved_hooks};
}

static void restore_hooks(const void *saved) {
  const ThreadHooks *s = saved;
  fy_saved_hooks = s->owner == &fy_saved_hooks ? s->hooks : NULL;
}

__attribute__((constructor)) static void register_hooks(void) {
  static const FyThreadPart part = {
      .room = "graph", .height = 3, .bytes = sizeof(ThreadHooks), .save = save_hooks, .restore = restore_hooks};
  fy_thread_part_register(&part);
}

// ---- saving --------------------------------------------------------------------------------------------------------------

void fy_node_save(FyNode *node, FyTensor *tensor, int output, int input, bool is_view) {
  if (node->n_saved == FY_MAX_SAVED)
    fy_panic("%s saves more than %d tensors", fy_node_name(node), FY_MAX_SAVED);
  FyPacked *packed = fy_saved_hooks && tensor ? fy_saved_hooks->pack(fy_saved_hooks, tensor) : NULL;
  if (packed)
    tensor = NULL;
  node->saved[node->n_saved++] = (FySaved){.tensor = fy_retain(tensor),
                                           .packed = packed,
                                           .version = tensor ? fy_version_of(tensor) : 0,
                                           .output = (int8_t)output,
                                           .input = (int8_t)input,
                                           .is_view = is_view};
}

static void release_saved(FyNode *node) {
  FyTensor *tensors[FY_MAX_SAVED];
  FyPacked *packed[FY_MAX_SAVED];
  const int count = node->n_saved;
  atomic_store_explicit(&node->released, true, memory_order_relaxed);
  if (!count)
    return;
  atomic_flag *lock = lock_of(node);
  for (int i = 0; i < count; i++) {
    tensors[i] = node->saved[i].tensor;
    packed[i] = node->saved[i].packed;
    node->saved[i].tensor = NULL;
    node->saved[i].packed = NULL;
  }
  atomic_flag_clear_explicit(lock, memory_order_release);
  for (int i = 0; i < count; i++) {
    fy_release(tensors[i]);
    fy_release(packed[i]);
  }
}

void fy_node_release_saved(FyNode *node) {
  release_saved(node);
  if (node->inner)
    fy_node_release_saved(node->inner);
}

// The op that the tensor comes from now: what changed it in place, if that was recorded, or what made it.
static void describe_origin(const FyNode *node, const FySaved *saved, const FyStorage *storage, char *text,
                            size_t size) {
  const FyEdge made_by = saved->input >= 0 ? node->next[saved->input] : (FyEdge){NULL, 0};
  const char *name = NULL;
  int index = 0;
  text[0] = '\0';
  if (saved->output >= 0 && fy_dtype_is_floating((FyDType)node->outputs[saved->output].dtype)) {
    name = fy_node_name(node);
    index = saved->output;
  } else if (storage->changed_by && storage->changed_at > saved->version) {
    name = saved->is_view ? "AsStridedBackward0" : storage->changed_by;
  } else if (made_by.node && !made_by.node->leaf) {
    name = fy_node_name(made_by.node);
    index = made_by.index;
  }
  if (name)
    snprintf(text, size, ", which is output %d of %s,", index, name);
}

static void check_version(const FyNode *node, const FySaved *saved, FyTensor *t) {
  uint32_t version = fy_version_of(t);
  if (version == saved->version)
    return;
  char origin[96];
  describe_origin(node, saved, t->storage, origin, sizeof origin);
  fy_raise(FY_RUNTIME_ERROR,
           "one of the variables needed for gradient computation has been modified by an inplace operation: "
           "[%s %s]%s is at version %u; expected version %u instead. Hint: enable anomaly detection to "
           "find the operation that failed to compute its gradient, with fy_set_detect_anomaly(true).",
           fy_type_string(t), fy_sizes_of(t), origin, version, saved->version);
}

void fy_node_check_not_released(const FyNode *node) {
  fy_check(!atomic_load_explicit(&node->released, memory_order_relaxed), FY_RUNTIME_ERROR,
           "Trying to backward through the graph a second time (or directly access saved tensors after they have "
           "already been freed). Saved intermediate values of the graph are freed when you call fy_backward() or "
           "fy_autograd_grad(). Specify .retain_graph = true if you need to backward through the graph a second time "
           "or if you need to access saved tensors after calling backward.");
}

FyTensor *fy_saved(FyNode *node, int k) {
  atomic_flag *lock = lock_of(node);
  const FySaved saved = node->saved[k];
  fy_retain(saved.tensor);
  fy_retain(saved.packed);
  atomic_flag_clear_explicit(lock, memory_order_release);
  FyPacked *packed = fy_hold(saved.packed);
  if (packed)
    return packed->unpack(packed);
  FyTensor *tensor = fy_hold(saved.tensor);
  if (!tensor)
    fy_node_check_not_released(node);
  else
    check_version(node, &saved, tensor);
  return tensor;
}
