// SPDX-License-Identifier: MIT
// One model on many processes: torch.nn.parallel.DistributedDataParallel and torch.utils.data.DistributedSampler.
//
//   fy_init_process_group(NULL);
//   FyDevice device = fy_cuda_device(fy_get_node_local_rank());
//   FyModule *model = fy_distributed_data_parallel(fy_module_to(new_net(), device));
//   FySampler *sampler = fy_distributed_sampler(count);
//   FyDataLoader *loader = fy_data_loader(train, .batch_size = 64, .sampler = sampler);
//   for (int epoch = 0; epoch < epochs; epoch++) {
//     fy_distributed_sampler_set_epoch(sampler, epoch);
//     fy_for_batches(batch, loader) { ... as with any model ... }
//   }
//
// Every rank has the whole model and a part of each batch. In backward the gradients are averaged over the ranks, bucket by
// bucket, each as soon as it is full while backward goes on; the ranks' optimizers then take the same step.
#ifndef FERRY_DISTRIBUTED_DDP_H
#define FERRY_DISTRIBUTED_DDP_H

#include "base/options.h"
#include "data/loader.h"
#include "distributed/distributed.h"
#include "nn/nn.h"

// DistributedDataParallel(module, device_ids, broadcast_buffers, process_group, bucket_cap_mb, find_unused_parameters):
// a module that calls `module`; state_dict has its names with "module." before them. All ranks make it, from modules of
// the same parameters; those of the group's first rank are broadcast to the others. Made before the optimizer or after it.
//
// - broadcast_buffers (true unless it is named): before each forward that follows a synchronized one the first rank's
//   buffers (running means of batch norm) are broadcast.
// - bucket_cap_mb: MiB of a bucket, 25 (and 1 for the first) when it is 0. As in PyTorch, the first backward has one bucket for
//   each dtype; before the second forward the buckets are rebuilt in the order in which the first rank's gradients came.
// - find_unused_parameters: the graph is searched after each forward for parameters that the output does not depend on, and
//   the buckets are not rebuilt.
// - device_ids: NULL, or the address of one CUDA index, to which inputs are moved.
//
// .grad of the parameters are views of the buckets. Gradients of ranks are averaged, so the loss is to be the mean over a
// rank's samples, and the ranks' batches of one size. Raises FY_RUNTIME_ERROR with PyTorch's texts: no parameter that requires a
// gradient; a forward after a backward that did not reach every parameter ("Expected to have finished reduction in the prior
// iteration ..."); ranks whose parameters differ in number or shape ("DDP expects same model across all ranks ..."). And what
// collectives raise: in backward, too.
typedef struct FyDistributedDataParallel {
  const char *named; // the arguments' text, by the macro. NULL: `broadcast_buffers` holds
  void *module;      // any module
  const int *device_ids;
  FyGroup *group;
  double bucket_cap_mb;
  bool broadcast_buffers, find_unused_parameters;
} FyDistributedDataParallel;
#define fy_distributed_data_parallel(...)                                                                              \
  fy_distributed_data_parallel_with(                                                                                   \
      (FyDistributedDataParallel){.named = FY_TEXT_OF(__VA_ARGS__), .module = __VA_ARGS__})
FY_API FyModule *fy_distributed_data_parallel_with(FyDistributedDataParallel options);

// The module inside (.module): what rank 0 evaluates and saves.
FY_API FyModule *fy_ddp_module(FyModule *ddp);

// with ddp.no_sync(): runs the following block, in which forward and backward add up gradients only on this rank. The next
// backward outside averages the sums. Belongs to the thread; return, break and goto end the block, too.
#define fy_ddp_no_sync(model)                                                                                          \
  for (FY_AT_END(fy_ddp_no_sync_leave) FyNoSync *fy_guard = fy_ddp_no_sync_open(&(FyNoSync){.ddp = (model)});          \
       fy_guard; fy_guard = fy_ddp_no_sync_close(fy_guard))
typedef struct FyNoSync {
  FyModule *ddp;
  struct FyNoSync *outer;
} FyNoSync;
FY_API FyNoSync *fy_ddp_no_sync_open(FyNoSync *guard);
FY_API FyNoSync *fy_ddp_no_sync_close(FyNoSync *guard);
static inline void fy_ddp_no_sync_leave(FyNoSync *const *guard) {
  if (*guard)
    fy_ddp_no_sync_close(*guard);
}

// To look at: the buckets as they are now, in the order in which they are sent; parameters are numbered as fy_parameters has
// those that require a gradient.
FY_API int fy_ddp_bucket_count(FyModule *ddp);
FY_API int fy_ddp_bucket_of(FyModule *ddp, int parameter);
FY_API int64_t fy_ddp_bucket_bytes(FyModule *ddp, int bucket);

// DistributedSampler(dataset, num_replicas, rank, shuffle, seed, drop_last) for a data set of `count` samples: each rank takes
// every num_replicas-th of one permutation, from its rank on. The permutation is that of fy_random_sampler for seed + epoch,
// the same in every rank; it is filled up with samples from its beginning, or with drop_last cut off, so that all ranks have as
// many. num_replicas 0 means the world size and this rank; otherwise .rank is used. shuffle is true unless it is named. Raises
// FY_VALUE_ERROR for a rank outside, and for no samples.
typedef struct FyDistributedSamplerOptions {
  const char *named;
  int64_t count;
  int num_replicas, rank;
  uint64_t seed;
  bool shuffle, drop_last;
} FyDistributedSamplerOptions;
#define fy_distributed_sampler(...)                                                                                    \
  fy_distributed_sampler_with((FyDistributedSamplerOptions){.named = FY_TEXT_OF(__VA_ARGS__), .count = __VA_ARGS__})
FY_API FySampler *fy_distributed_sampler_with(FyDistributedSamplerOptions options);

// sampler.set_epoch(epoch): to be called before each epoch. Without it all epochs have the order of the first.
FY_API void fy_distributed_sampler_set_epoch(FySampler *sampler, int64_t epoch);

#endif
