// SPDX-License-Identifier: MIT
// DistributedDataParallel: the module around the module.
#include "distributed/ddp.h"
#include "base/state.h"
#include "distributed/reducer.h"
#include "nn/impl.h"
#include "op/ops.h"
#include <stdlib.h>
#include <string.h>

typedef struct Ddp {
  FyModule base;
  FyModule *module;
  FyReducer *reducer;
  FyTensorList *buffers;                // counted
  bool broadcast_buffers, sync_forward; // sync_forward: the buffers may differ
  int device;                           // inputs go there; -1: they stay
} Ddp;

// ---- what is the same in all ranks ---------------------------------------------------------------------------------------

// One parameter, as the ranks compare it.
typedef struct Described {
  int32_t dtype, ndim;
  int64_t shape[FY_MAX_DIM];
} Described;

static void verify_parameters(FyGroup *group, const FyTensorList *parameters) {
  const int n = parameters->count, ranks = group->size;
  int32_t counts[ranks], own = n;
  fy_group_gather_bytes(group, &own, counts, sizeof own);
  for (int r = 0; r < ranks; r++)
    fy_check(
        counts[r] == n, FY_RUNTIME_ERROR,
        "DDP expects same model across all ranks, but Rank %d has %d params, while rank %d has inconsistent %d params.",
        fy_distributed.rank, n, group->ranks[r], counts[r]);
  for (int i = 0; i < n; i++) {
    const FyTensor *t = parameters->items[i];
    Described mine = {.dtype = t->array.dtype, .ndim = t->array.ndim}, all[ranks];
    memcpy(mine.shape, t->array.shape, (size_t)mine.ndim * sizeof *mine.shape);
    fy_group_gather_bytes(group, &mine, all, sizeof mine);
    for (int r = 0; r < ranks; r++)
      fy_check(memcmp(&mine, &all[r], sizeof mine) == 0, FY_RUNTIME_ERROR,
               "[Rank %d]: params[%d] (%s) in this process with sizes %s and dtype %s appears not to match sizes of "
               "the same "
               "param in process %d: %s, %s.",
               fy_distributed.rank, i, parameters->names[i], fy_sizes_of(t), fy_dtype_name((FyDType)mine.dtype),
               group->ranks[r], fy_sizes_string(all[r].ndim, all[r].shape), fy_dtype_name((FyDType)all[r].dtype));
  }
}

static void broadcast_all(FyGroup *group, const FyTensorList *list) {
  fy_scope {
    FyWork *works[list->count + 1];
    for (int i = 0; i < list->count; i++) {
      FyTensor *t = fy_detach(list->items[i]);
      fy_check(t->array.contiguous, FY_RUNTIME_ERROR, "DistributedDataParallel: %s is not contiguous", list->names[i]);
      works[i] = fy_broadcast(t, group->ranks[0], .group = group, .async_op = true);
    }
    for (int i = 0; i < list->count; i++)
      fy_work_wait(works[i]);
  }
}

// ---- no_sync ---------------------------------------------------------------------------------------------------------------

// The thread's open blocks, innermost first. An error that leaves one ends it, as it does other modes.
static _Thread_local FyNoSync *no_sync;

static void save_blocks(void *saved) {
  *(FyNoSync **)saved = no_sync;
}
static void restore_blocks(const void *saved) {
  no_sync = *(FyNoSync *const *)saved;
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {
      .room = "distributed", .height = 6, .bytes = sizeof(FyNoSync *), .save = save_blocks, .restore = restore_blocks};
  fy_thread_part_register(&part);
}

static bool is_synchronized(const Ddp *ddp) {
  const FyNoSync *guard = no_sync;
  while (guard && guard->ddp != &ddp->base)
    guard = guard->outer;
  return guard == NULL;
}

// ---- the module ------------------------------------------------------------------------------------------------------------

static FyTensor *ddp_forward(FyModule *self_, FyTensor *input) {
  Ddp *self = (Ddp *)self_;
  const bool averaged = fy_is_grad_enabled() && is_synchronized(self);
  if (averaged)
    fy_reducer_prepare_forward(self->reducer);
  if (self->sync_forward && self->broadcast_buffers && self->buffers->count > 0)
    broadcast_all(self->reducer->group, self->buffers);
  if (self->device >= 0)
    input = fy_to(input, fy_cuda_device(self->device), .non_blocking = true);
  FyTensor *output = fy_forward_of(self->module, input);
  self->sync_forward = averaged;
  if (averaged)
    fy_reducer_prepare_backward(self->reducer, output);
  return output;
}

static void ddp_destroy(FyModule *self_) {
  Ddp *self = (Ddp *)self_;
  fy_reducer_free(self->reducer);
  fy_release(self->buffers);
}

static const FyModuleClass ddp_class = {
    .name = "DistributedDataParallel", .forward = ddp_forward, .destroy = ddp_destroy};

static Ddp *ddp_required(FyModule *module, const char *attribute) {
  fy_module_required(module, "DistributedDataParallel");
  fy_check(module->type == &ddp_class, FY_TYPE_ERROR, "'%s' object has no attribute '%s'", module->type->name,
           attribute);
  return (Ddp *)module;
}

static FyTensorList *trained_parameters(FyModule *module) {
  FyTensorList *all = fy_parameters_of(module), *trained = fy_tensor_list_new();
  for (int i = 0; i < all->count; i++)
    if (fy_requires_grad(all->items[i]))
      fy_list_add(trained, all->names[i], all->items[i]);
  return trained;
}

static void check_device_ids(const FyDistributedDataParallel *o, const FyTensorList *parameters) {
  for (int i = 0; o->device_ids && i < parameters->count; i++)
    fy_check(fy_get_device(parameters->items[i]) == *o->device_ids, FY_VALUE_ERROR,
             "DistributedDataParallel: device_ids names cuda:%d, but %s is on %s: move the module there first",
             *o->device_ids, parameters->names[i], fy_device_name_of(fy_device_of(parameters->items[i])));
}

FyModule *fy_distributed_data_parallel_with(FyDistributedDataParallel o) {
  FyGroup *group = fy_group_required(o.group);
  fy_module_required(o.module, "fy_distributed_data_parallel");
  fy_check(o.bucket_cap_mb >= 0, FY_VALUE_ERROR, "bucket_cap_mb must not be negative, but got %g", o.bucket_cap_mb);
  int mark = fy_scope_open();
  FyTensorList *parameters = trained_parameters(o.module);
  fy_check(parameters->count > 0, FY_RUNTIME_ERROR,
           "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.");
  check_device_ids(&o, parameters);
  verify_parameters(group, parameters);
  Ddp *self = fy_module_new_of(sizeof *self, &ddp_class);
  self->device = o.device_ids ? *o.device_ids : -1;
  self->broadcast_buffers = fy_option_or_true(o.named, "broadcast_buffers", o.broadcast_buffers);
  self->sync_forward = true;
  fy_register_module(self, module, o.module);
  self->buffers = fy_retain(fy_buffers_of(o.module));
  fy_no_grad {
    broadcast_all(group, fy_parameters_of(o.module));
    broadcast_all(group, self->buffers);
  }
  self->reducer = fy_reducer_new(group, parameters, o.bucket_cap_mb, o.find_unused_parameters);
  fy_keep(self);
  fy_scope_close(mark);
  return &self->base;
}

FyModule *fy_ddp_module(FyModule *ddp) {
  return ddp_required(ddp, "module")->module;
}

FyNoSync *fy_ddp_no_sync_open(FyNoSync *guard) {
  ddp_required(guard->ddp, "no_sync");
  guard->outer = no_sync;
  return no_sync = guard;
}

FyNoSync *fy_ddp_no_sync_close(FyNoSync *guard) {
  no_sync = guard->outer;
  return NULL;
}

// ---- buckets -----------------------------------------------------------------------------------------------------------------

int fy_ddp_bucket_count(FyModule *ddp) {
  return ddp_required(ddp, "reducer")->reducer->bucket_count;
}

int fy_ddp_bucket_of(FyModule *ddp, int parameter) {
  const FyReducer *r = ddp_required(ddp, "reducer")->reducer;
  fy_check(parameter >= 0 && parameter < r->parameters->count, FY_INDEX_ERROR, "there is no parameter %d of %d",
           parameter, r->parameters->count);
  return r->bucket_of[parameter];
}

int64_t fy_ddp_bucket_bytes(FyModule *ddp, int bucket) {
  const FyReducer *r = ddp_required(ddp, "reducer")->reducer;
  fy_check(bucket >= 0 && bucket < r->bucket_count, FY_INDEX_ERROR, "there is no bucket %d of %d", bucket,
           r->bucket_count);
  return (int64_t)fy_nbytes(r->buckets[bucket].flat);
}
