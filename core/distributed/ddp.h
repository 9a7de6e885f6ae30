// SPDX-License-Identifier: MIT
// One model in many processes: torch.nn.parallel.DistributedDataParallel and torch.utils.data.DistributedSampler.
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
// Each rank has the whole model and processes a part of each batch. Backward averages the gradients over the ranks,
// bucket by bucket: the all-reduce of a bucket starts as soon as it is full, while backward continues. So the
// optimizers of all ranks take the same step.
#ifndef FERRY_DISTRIBUTED_DDP_H
#define FERRY_DISTRIBUTED_DDP_H

#include "base/options.h"
#include "data/loader.h"
#include "distributed/distributed.h"
#include "nn/nn.h"

// Creates a module, owned by the innermost scope, that calls `module` and averages its gradients over the ranks. In its
// state_dict, the names of `module` have the prefix "module.". All ranks of the group must call this function, with
// modules that have the same parameters. It copies the parameters and buffers of the group's first rank to the others.
// You may create the optimizer before or after.
//
// - broadcast_buffers (default true): copies the first rank's buffers (running means of batch norm) to the others
//   before the first forward, and before each forward that follows a synchronized forward.
// - bucket_cap_mb: the size of a bucket in MiB. 0 means 25, and 1 for the first bucket. As in PyTorch, the first
//   backward has one bucket for each dtype. Before the second forward, the buckets are rebuilt in the order in which
//   the first rank's gradients became ready.
// - find_unused_parameters: after each forward, searches the graph for parameters that the output does not depend on.
//   The buckets are then not rebuilt.
// - device_ids: NULL, or the address of one CUDA device index. Forward copies its input to this device.
//
// The parameters' .grad tensors are views of the buckets. Because the gradients are averaged, the loss must be the mean
// over the rank's samples, and all ranks must have batches of the same size.
//
// Raises FY_RUNTIME_ERROR with PyTorch's messages if no parameter requires a gradient, and if the parameters of the
// ranks differ in number, shape or dtype ("DDP expects same model across all ranks ..."); FY_VALUE_ERROR if a parameter
// is not on the device in device_ids. Forward raises FY_RUNTIME_ERROR if the previous backward did not reach every
// parameter ("Expected to have finished reduction in the prior iteration ..."). This function, forward and backward
// also raise the errors of collectives. PyTorch: torch.nn.parallel.DistributedDataParallel(module, device_ids,
// broadcast_buffers, process_group, bucket_cap_mb, find_unused_parameters).
typedef struct FyDistributedDataParallel {
  const char *named; // set by the macro: the arguments as text. If NULL, `broadcast_buffers` is used as it is
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

// Returns the module that was given to fy_distributed_data_parallel, borrowed. Rank 0 uses it to evaluate and to save
// the model. Raises FY_TYPE_ERROR for a different kind of module. PyTorch: ddp.module.
FY_API FyModule *fy_ddp_module(FyModule *ddp);

// Runs the following block, in which forward and backward accumulate gradients only on this rank. The next backward
// outside the block averages the sums. The block affects only the calling thread. Return, break and goto also end it.
// Raises FY_TYPE_ERROR for a different kind of module. PyTorch: with ddp.no_sync().
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

// Return the current number of buckets, the bucket of a parameter, and the size of a bucket in bytes, to inspect them.
// Buckets are numbered in the order in which they are sent. Parameters are numbered as in fy_parameters, without those
// that do not require a gradient. Raise FY_INDEX_ERROR for a number out of range, and FY_TYPE_ERROR for a different
// kind of module.
FY_API int fy_ddp_bucket_count(FyModule *ddp);
FY_API int fy_ddp_bucket_of(FyModule *ddp, int parameter);
FY_API int64_t fy_ddp_bucket_bytes(FyModule *ddp, int bucket);

// Creates a sampler for a data set of `count` samples, owned by the innermost scope. All ranks draw the same
// permutation, the one that fy_random_sampler draws for seed + epoch; the loader's seed is not used. Each rank takes
// every num_replicas-th sample of it, starting at its own rank. To give all ranks the same number of samples, the
// permutation is padded with samples from its beginning; with drop_last it is truncated instead. num_replicas 0 means
// the world size and this process's rank; otherwise .rank is used. shuffle is true by default. Raises FY_VALUE_ERROR if
// the rank is out of range and if there are no samples. PyTorch: torch.utils.data.DistributedSampler(dataset,
// num_replicas, rank, shuffle, seed, drop_last).
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

// Sets the epoch of a distributed sampler. Call it before each epoch; otherwise all epochs have the same order. Raises
// FY_TYPE_ERROR for a different kind of sampler. PyTorch: sampler.set_epoch(epoch).
FY_API void fy_distributed_sampler_set_epoch(FySampler *sampler, int64_t epoch);

#endif
