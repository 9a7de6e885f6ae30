// SPDX-License-Identifier: MIT
// Batches of a dataset: torch.utils.data.DataLoader, with threads as workers.
//
//   FyDataLoader *loader = fy_data_loader(train, .batch_size = 64, .shuffle = true, .num_workers = 2);
//   fy_for_batches(batch, loader) {
//     FyTensor *loss = fy_cross_entropy(fy_forward(model, fy_to(batch.data, device)), fy_to(batch.target, device));
//     ...
//   }
//
// Only one thread at a time may use a loader, an iterator or a prefetcher. Several loaders may share a dataset and run
// on different threads.
#ifndef FERRY_DATA_LOADER_H
#define FERRY_DATA_LOADER_H

#include "data/dataset.h"

typedef struct FyDataLoader FyDataLoader;
typedef struct FyLoaderIterator FyLoaderIterator;

// ---- samplers -------------------------------------------------------------------------------------------------------

// A sampler: determines the order of the samples in an epoch. An object owned by a scope.
typedef struct FySampler FySampler;
struct FySampler {
  FyObject object;
  int64_t count;                                                   // number of samples in an epoch
  void (*order)(FySampler *self, uint64_t seed, int64_t *indices); // stores `count` indices; `seed` is the epoch's
  void (*destroy)(FySampler *self); // optional: frees the members that your struct adds to FySampler
};

// Creates a sampler of your own kind, owned by the innermost scope: a zeroed struct of `bytes` bytes whose first member
// is an FySampler. `order` runs on the thread that creates the iterator. Raises FY_TYPE_ERROR if `order` is NULL, and
// FY_VALUE_ERROR if `bytes` is too small or `count` is negative. PyTorch: class MySampler(torch.utils.data.Sampler).
FY_API void *fy_sampler_new(size_t bytes, int64_t count, void (*order)(FySampler *, uint64_t, int64_t *));

FY_API FySampler *fy_sequential_sampler(int64_t count); // torch.utils.data.SequentialSampler: 0, 1, ..., count - 1
FY_API FySampler *fy_random_sampler(int64_t count);     // torch.utils.data.RandomSampler: a new permutation each epoch
// Creates a sampler that permutes the given indices, a new permutation in each epoch. Copies the indices. PyTorch:
// torch.utils.data.SubsetRandomSampler(indices).
FY_API FySampler *fy_subset_sampler(const int64_t *indices, int64_t count);

// ---- loaders --------------------------------------------------------------------------------------------------------

// Creates a data loader, an object owned by the innermost scope. It retains the dataset and the sampler.
//
// Worker threads create batches in advance, up to prefetch_factor batches per worker. With 0 workers, each batch is
// created when it is requested. With .pin_memory, batches are in page-locked memory. Without CUDA, they are in ordinary
// memory and a warning is printed, as in PyTorch.
//
// With a seed other than 0, the order and the random transforms of epoch e (from 0) depend only on (seed, e). They are
// the same on every machine and for any number of workers. With seed 0, each epoch draws its seed from the process's
// generator (fy_manual_seed), as in PyTorch.
//
// Raises FY_TYPE_ERROR if the dataset is NULL. Raises FY_VALUE_ERROR if a number is negative, for more than 256 workers
// or a prefetch_factor above 1024, and if both .shuffle and .sampler are set.
//
// PyTorch: torch.utils.data.DataLoader(dataset, batch_size, shuffle, sampler, num_workers, prefetch_factor, pin_memory,
// drop_last).
typedef struct FyDataLoaderOptions {
  FyDataset *dataset;
  int batch_size; // 0 means 1
  bool shuffle;
  FySampler *sampler;               // NULL: random order if `shuffle` is set, otherwise 0, 1, ...
  int num_workers, prefetch_factor; // a prefetch_factor of 0 means 2
  bool pin_memory, drop_last;       // drop_last: omit the last batch if it is incomplete
  uint64_t seed;
} FyDataLoaderOptions;
#define fy_data_loader(...) fy_data_loader_with((FyDataLoaderOptions){.dataset = __VA_ARGS__})
FY_API FyDataLoader *fy_data_loader_with(FyDataLoaderOptions options);

FY_API int64_t fy_loader_batches(const FyDataLoader *loader); // len(loader): number of batches in an epoch
FY_API int64_t fy_loader_samples(const FyDataLoader *loader); // number of samples in an epoch, without dropped ones

// Set and return the epoch that the next iteration will have, to resume an interrupted training. It is 0 at first, and
// increases by 1 whenever an iteration starts. fy_loader_set_epoch raises FY_VALUE_ERROR if the epoch is negative.
FY_API void fy_loader_set_epoch(FyDataLoader *loader, int64_t epoch);
FY_API int64_t fy_loader_epoch(const FyDataLoader *loader);

// Runs the following block for every batch of one epoch. The macro declares `batch`, an FyBatch. Each run of the block
// has its own scope, so its tensors are freed before the next batch, except those that fy_keep moves to the scope
// around the loop. You may leave the block with break, continue or return. (Inside a nested fy_scope, break and
// continue leave only that scope.)
//
// If a worker raises an error, the loop raises it when it reaches the worker's batch: "Caught ValueError in DataLoader
// worker 1, sample 37 of batch 4 (index 1053): ...". To continue with the next batch after an error, use fy_loader_next
// instead. If the loop ends early, including by an error, each worker stops after its current sample.
//
// PyTorch: for batch in loader.
#define fy_for_batches(batch, loader) fy_for_opened_batches(batch, fy_batch_loop_open((loader), NULL))

// Does the same as fy_for_batches, with every batch on `device`: an FyPrefetcher copies the next batch while the block
// uses the current one.
#define fy_for_prefetched_batches(batch, loader, device)                                                               \
  fy_for_opened_batches(batch, fy_batch_loop_open((loader), &(FyDevice[]){device}[0]))

// Iterate over the batches of an epoch by hand. fy_loader_iter starts an epoch and returns its iterator, an object
// owned by the innermost scope. The workers start on the first batches immediately. fy_loader_next stores the next
// batch, owned by the innermost scope, and returns true, or returns false after the last batch. If a worker failed, it
// raises the worker's error instead; the next call returns the batch after that one. fy_loader_close stops the workers
// and waits for them to end, at any time; so does freeing the iterator, for example with fy_drop. PyTorch: iter(loader)
// and next(iterator).
FY_API FyLoaderIterator *fy_loader_iter(FyDataLoader *loader);
FY_API bool fy_loader_next(FyLoaderIterator *iterator, FyBatch *batch);
FY_API void fy_loader_close(FyLoaderIterator *iterator);

// ---- prefetcher -----------------------------------------------------------------------------------------------------

// Copies the batches of a loader to a device, one batch ahead. fy_prefetcher starts an epoch and returns a prefetcher,
// an object owned by the innermost scope. It copies batch k + 1 on its own stream while you use batch k. The copies are
// asynchronous if the loader has .pin_memory. fy_prefetcher_next returns like fy_loader_next. It makes the current
// stream wait for the copy (the host does not wait), and records this stream on the tensors (fy_record_stream), so that
// their memory is not reused too early. On the CPU, it returns the loader's batches without a copy. It raises the
// loader's errors at the same batch. fy_prefetcher_close ends the epoch like fy_loader_close.
typedef struct FyPrefetcher FyPrefetcher;
FY_API FyPrefetcher *fy_prefetcher(FyDataLoader *loader, FyDevice device);
FY_API bool fy_prefetcher_next(FyPrefetcher *prefetcher, FyBatch *batch);
FY_API void fy_prefetcher_close(FyPrefetcher *prefetcher);

// Returns the stream of the prefetcher's copies, borrowed from the prefetcher; NULL on the CPU. Use it to observe the
// copies, for example with an event. Work that you enqueue on it does not delay any other stream.
FY_API FyStream *fy_prefetcher_stream(FyPrefetcher *prefetcher);

// ---- implementation of fy_for_batches -------------------------------------------------------------------------------

typedef struct FyBatchLoop {
  FyLoaderIterator *iterator;
  FyPrefetcher *prefetcher;
  int around; // the scope of the iterator
  int scope;  // the scope of the current batch; -1 if none is open
  bool open;
} FyBatchLoop;
FY_API FyBatchLoop fy_batch_loop_open(FyDataLoader *loader, const FyDevice *device);
FY_API bool fy_batch_loop_next(FyBatchLoop *loop, FyBatch *batch);
FY_API void fy_batch_loop_close(FyBatchLoop *loop); /* no location */
#define fy_for_opened_batches(batch, opened)                                                                           \
  for (__attribute__((cleanup(fy_batch_loop_close))) FyBatchLoop fy_batch_loop = (opened); fy_batch_loop.open;         \
       fy_batch_loop.open = false)                                                                                     \
    for (FyBatch batch; fy_batch_loop_next(&fy_batch_loop, &batch);)

#endif
