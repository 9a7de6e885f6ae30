// SPDX-License-Identifier: MIT
// Batches of a data set: torch.utils.data.DataLoader, with threads as workers.
//
//   FyDataLoader *loader = fy_data_loader(train, .batch_size = 64, .shuffle = true, .num_workers = 2);
//   fy_for_batches(batch, loader) {
//     FyTensor *loss = fy_cross_entropy(fy_forward(model, fy_to(batch.data, device)), fy_to(batch.target, device));
//     ...
//   }
//
// A loader, an iterator and a prefetcher are each for one thread at a time; different ones may share a data set.
// Samplers' order functions run in the thread that makes the iterator.
#ifndef FERRY_DATA_LOADER_H
#define FERRY_DATA_LOADER_H

#include "data/dataset.h"

typedef struct FyDataLoader FyDataLoader;
typedef struct FyLoaderIterator FyLoaderIterator;

// ---- samplers --------------------------------------------------------------------------------------------------------

// In which order an epoch takes the samples. An object of the scope; one's own kind is made by fy_sampler_new.
typedef struct FySampler FySampler;
struct FySampler {
  FyObject object;
  int64_t count;                                                   // samples of an epoch
  void (*order)(FySampler *self, uint64_t seed, int64_t *indices); // fills `count` indices; `seed` is the epoch's
  void (*destroy)(FySampler *self);                                // optional: frees what the struct holds beyond
};
FY_API void *fy_sampler_new(size_t bytes, int64_t count, void (*order)(FySampler *, uint64_t, int64_t *));

FY_API FySampler *fy_sequential_sampler(int64_t count); // SequentialSampler: 0, 1, ...
FY_API FySampler *fy_random_sampler(int64_t count);     // RandomSampler: a permutation, another one each epoch
// SubsetRandomSampler(indices): a permutation of the given indices, which are copied.
FY_API FySampler *fy_subset_sampler(const int64_t *indices, int64_t count);

// ---- loaders ---------------------------------------------------------------------------------------------------------

// DataLoader(dataset, batch_size, shuffle, sampler, num_workers, prefetch_factor, pin_memory, drop_last): an object of
// the scope that keeps the data set and the sampler.
// batch_size 0 means 1. num_workers threads make batches ahead, prefetch_factor (0 means 2) each; 0 workers:
// each batch is made when it is asked for. pin_memory: batches lie in page-locked memory (needs CUDA; without it they
// are ordinary, with a warning, as in PyTorch).
// seed: epoch e (from 0) has the order and the random transforms of (seed, e), on any machine with any number of
// workers. With seed 0 each epoch draws its seed from the process's generator (fy_manual_seed), as PyTorch does.
// Raises FY_TYPE_ERROR without a data set, FY_VALUE_ERROR for negative numbers, and for shuffle together with a sampler.
typedef struct FyDataLoaderOptions {
  FyDataset *dataset;
  int batch_size;
  bool shuffle;
  FySampler *sampler;
  int num_workers, prefetch_factor;
  bool pin_memory, drop_last;
  uint64_t seed;
} FyDataLoaderOptions;
#define fy_data_loader(...) fy_data_loader_with((FyDataLoaderOptions){.dataset = __VA_ARGS__})
FY_API FyDataLoader *fy_data_loader_with(FyDataLoaderOptions options);

FY_API int64_t fy_loader_batches(const FyDataLoader *loader); // len(loader): batches of an epoch
FY_API int64_t fy_loader_samples(const FyDataLoader *loader); // samples of an epoch, those dropped at the end left out

// The epoch that the next iteration has (0 at first, one more with each iteration begun): to resume where a run stopped.
FY_API void fy_loader_set_epoch(FyDataLoader *loader, int64_t epoch);
FY_API int64_t fy_loader_epoch(const FyDataLoader *loader);

// for batch in loader: runs the following block for every batch of one epoch, each in its own scope, so that tensors of the
// block are freed before the next batch, except those that fy_keep moves to the scope around the loop. `batch` is an FyBatch
// that the macro declares. break, continue and return are allowed (a scope inside the block is still not to be left by
// them). A worker's error is raised when its batch is due, as "Caught ValueError in DataLoader worker 1, sample 37 of
// batch 4 (index 1053): ..."; with fy_loader_next, iterating may go on after it. Leaving early, by an error too, stops the
// workers after the sample they are at.
#define fy_for_batches(batch, loader) fy_for_opened_batches(batch, fy_batch_loop_open((loader), NULL))

// The same, with every batch on `device`: an FyPrefetcher copies the next one while the block works on this one.
#define fy_for_prefetched_batches(batch, loader, device)                                                               \
  fy_for_opened_batches(batch, fy_batch_loop_open((loader), &(FyDevice[]){device}[0]))

// By hand: iter(loader) starts an epoch and its workers, which begin with the first batches immediately; next stores the next batch, owned by the innermost scope, and
// returns true, or returns false at the end. The iterator is an object of the scope: dropping it (or closing it, at any
// moment) stops and joins the workers. It must be used by one thread at a time.
FY_API FyLoaderIterator *fy_loader_iter(FyDataLoader *loader);
FY_API bool fy_loader_next(FyLoaderIterator *iterator, FyBatch *batch);
FY_API void fy_loader_close(FyLoaderIterator *iterator);

// ---- prefetcher ------------------------------------------------------------------------------------------------------

// Brings batches to a device one ahead: batch k + 1 is copied on a stream of the prefetcher's own while batch k is worked
// on. The copies are asynchronous when the loader has .pin_memory. next makes the consumer's current stream wait for the
// copy (the host does not wait) and records that stream on the tensors, so that their memory is not reused too early. On
// the CPU it passes the loader's batches on. An object of the scope. Raises what the loader raises, at the same batch.
typedef struct FyPrefetcher FyPrefetcher;
FY_API FyPrefetcher *fy_prefetcher(FyDataLoader *loader, FyDevice device);
FY_API bool fy_prefetcher_next(FyPrefetcher *prefetcher, FyBatch *batch);
FY_API void fy_prefetcher_close(FyPrefetcher *prefetcher);

// The stream of its copies, borrowed; NULL on the CPU. To look at: what is queued there is in no other stream's way.
FY_API FyStream *fy_prefetcher_stream(FyPrefetcher *prefetcher);

// ---- what fy_for_batches expands to -----------------------------------------------------------------------------------

typedef struct FyBatchLoop {
  FyLoaderIterator *iterator;
  FyPrefetcher *prefetcher;
  int around; // the scope of the iterator
  int scope;  // of the current batch, -1 when none is open
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
