// SPDX-License-Identifier: MIT
// A tensor's inside, for core/ only.
#ifndef FERRY_TENSOR_IMPL_H
#define FERRY_TENSOR_IMPL_H

#include "tensor/tensor.h"

struct FyNode;

// Memory that tensors share: a tensor and its views, a tensor and its detached alias.
typedef struct FyStorage {
  atomic_int references;
  atomic_uint version; // counts in-place changes, as PyTorch's version counter
  FyDevice device;
  void *data;
  size_t bytes;
  bool pinned;
  void *block; // the allocator's own handle
  void *owner; // an object, counted, whose memory this is; NULL: the allocator's
  const char
      *changed_by; // the last change in place that was recorded: its node's name, a constant, and the version it made
  uint32_t changed_at;
} FyStorage;

struct FyTensor {
  FyObject object;
  FyArray array;
  FyStorage *storage;
  FyDevice device; // index always resolved
  atomic_bool
      requires_grad; // this and the fields of its history below: only by graph/history.h, a view's may be out of date
  bool retains_grad;
  bool wrapped_number;            // from fy_number: weak in type promotion
  int16_t output_index;           // which output of grad_fn
  struct FyNode *_Atomic grad_fn; // counted; NULL for leaves. Atomic, as requires_grad: threads may read a stale view
  struct FyNode *_Atomic accumulator; // the leaf's AccumulateGrad node, not counted
  FyTensor *grad;                     // counted
  FyTensor
      *grad_place; // of a leaf: where its gradient is to lie, which is its .grad then; not counted (fy_set_grad_place)
  struct FyHook *hooks;     // of a leaf; a non-leaf's are in its grad_fn
  FyTensor *base;           // of a view: the tensor it views, counted, itself no view
  atomic_uint view_version; // of a view: the storage's version at which its history was written down
  int16_t view_number;      // of a view: which output of the call that made it
  uint8_t view_creation;    // FyViewCreation
};

// What a tensor that goes away asks of graph/, which puts nodes and hooks on tensors, and sets this before main.
typedef struct FyTensorGraph {
  void (*forget_tensor)(FyTensor *t); // its hooks, and what retain_grad() left elsewhere
  void (*release_node)(struct FyNode *node);
} FyTensorGraph;
extern FyTensorGraph fy_tensor_graph;

// What trace/ is told, while it records the calling thread's ops, of values that leave the tensors: `as` is what becomes of
// them ("number"). NULL: nobody records. Does not raise.
extern _Thread_local void (*fy_value_leaves)(const FyTensor *t, const char *as);

// tensor.requires_grad: its own, or its base's. Never raises.
static inline bool fy_has_gradient(const FyTensor *t) {
  return atomic_load_explicit(&t->requires_grad, memory_order_relaxed) ||
         (t->base && atomic_load_explicit(&t->base->requires_grad, memory_order_relaxed));
}

// An uninitialized row-major tensor, owned by the innermost scope. `device` may have index -1.
FyTensor *fy_new_tensor(FyDType dtype, FyDevice device, int ndim, const int64_t *shape, bool pinned);

// A tensor on the storage of `t` with another shape and strides; `offset` in elements from t's first. No autograd.
FyTensor *fy_new_alias(const FyTensor *t, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset);

// One dimension of `count` elements in memory of the host that belongs to `owner`, an object that the storage counts.
FyTensor *fy_new_tensor_in(void *data, void *owner, FyDType dtype, int64_t count);

// Resolves index -1, checks that the device exists and is usable; raises otherwise.
FyDevice fy_resolve_device(FyDevice device);

// Fills numel and contiguous from ndim, shape, stride.
void fy_array_finish(FyArray *a);

// dim of -ndim..ndim-1 to 0..ndim-1; raises PyTorch's FY_INDEX_ERROR otherwise (a 0-dim tensor allows -1 and 0).
int fy_wrap_dim(int64_t dim, int ndim);

void fy_storage_retain(FyStorage *storage);
void fy_storage_release(FyStorage *storage);

// Counts an in-place change of t's storage.
void fy_bump_version(FyTensor *t);

// Is this the shape of `a`? That of `b`? Neither raises. A loop, since for few dimensions a call of memcmp costs more.
static inline bool fy_has_shape(const FyArray *a, int ndim, const int64_t *shape) {
  bool same = a->ndim == ndim;
  for (int d = 0; same && d < ndim; d++)
    same = a->shape[d] == shape[d];
  return same;
}
static inline bool fy_same_shape(const FyArray *a, const FyArray *b) {
  return fy_has_shape(a, b->ndim, b->shape);
}

// "[2, 3]", as PyTorch writes sizes in most messages. Static buffer of the thread, valid until eight further calls.
const char *fy_sizes_string(int ndim, const int64_t *sizes);
static inline const char *fy_sizes_of(const FyTensor *t) {
  return fy_sizes_string(t->array.ndim, t->array.shape);
}

// tensor.type(): "torch.cuda.FloatTensor". Static buffer of the thread, as above.
const char *fy_type_string(const FyTensor *t);

// Raises FY_RUNTIME_ERROR "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
// a CUDA device first.
_Noreturn void fy_raise_two_devices(FyDevice a, FyDevice b);
static inline void fy_check_same_device(FyDevice a, FyDevice b) {
  if (!fy_device_equal(a, b))
    fy_raise_two_devices(a, b);
}

// The common shape of two broadcast operands into out (returns ndim); raises PyTorch's broadcasting error.
int fy_broadcast_shapes(const FyArray *a, const FyArray *b, int64_t *out);

#endif
