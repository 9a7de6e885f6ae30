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

void fy_node_save(FyNode *node, FyTensor *tensor, uint32_t version, int output_index) {
  if (node->n_saved == FY_MAX_SAVED)
    fy_panic("%s saves more than %d tensors", fy_node_name(node), FY_MAX_SAVED);
  node->saved[node->n_saved++] =
      (FySaved){.tensor = fy_retain(tensor), .version = version, .output_index = output_index};
}

static void release_saved(FyNode *node) {
  FyTensor *tensors[FY_MAX_SAVED];
  const int count = node->n_saved;
  if (!count)
    return;
  atomic_flag *lock = lock_of(node);
  for (int i = 0; i < count; i++) {
    tensors[i] = node->saved[i].tensor;
    node->saved[i].tensor = NULL;
  }
  node->released = true;
  atomic_flag_clear_explicit(lock, memory_order_release);
  for (int i = 0; i < count; i++)
    fy_release(tensors[i]);
}

void fy_node_release_saved(FyNode *node) {
  release_saved(node);
  if (node->inner)
    fy_node_release_saved(node->inner);
}

static void check_version(const FyNode *node, const FySaved *saved, FyTensor *t) {
  uint32_t version = fy_version_of(t);
  if (version == saved->version)
    return;
  char origin[96] = "";
  const char *producer = saved->output_index >= 0 ? fy_node_name(node) : t->grad_fn ? fy_node_name(t->grad_fn) : NULL;
  int index = saved->output_index >= 0 ? saved->output_index : t->output_index;
  if (producer)
    snprintf(origin, sizeof origin, ", which is output %d of %s,", index, producer);
  fy_raise(FY_RUNTIME_ERROR,
           "one of the variables needed for gradient computation has been modified by an inplace operation: "
           "[%s %s]%s is at version %u; expected version %u instead. Hint: enable anomaly detection to "
           "find the operation that failed to compute its gradient, with fy_set_detect_anomaly(true).",
           fy_type_string(t), fy_sizes_of(t), origin, version, saved->version);
}

FyTensor *fy_saved(FyNode *node, int k) {
  atomic_flag *lock = lock_of(node);
  const bool released = node->released;
  const FySaved saved = node->saved[k];
  fy_retain(saved.tensor);
  atomic_flag_clear_explicit(lock, memory_order_release);
  FyTensor *tensor = fy_hold(saved.tensor);
  fy_check(!released, FY_RUNTIME_ERROR,
           "Trying to backward through the graph a second time (or directly access saved tensors after they have "
           "already been freed). Saved intermediate values of the graph are freed when you call fy_backward() or "
           "fy_autograd_grad(). Specify .retain_graph = true if you need to backward through the graph a second time "
           "or if you need to access saved tensors after calling backward.");
  if (tensor)
    check_version(node, &saved, tensor);
  return tensor;
}
