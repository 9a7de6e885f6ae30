// SPDX-License-Identifier: MIT
// The loader's inside: for loader.c and worker.c only.
//
// An epoch's batches go through a ring of slots. The consumer sets a slot up (its tensors are made by the consumer, so that
// workers never touch a tensor or a scope of its), workers fill slots in the order of their batches, and the consumer takes
// them in that order. The lock guards everything that changes after the workers have started.
#ifndef FERRY_DATA_LOADER_IMPL_H
#define FERRY_DATA_LOADER_IMPL_H

#include "data/impl.h"
#include <pthread.h>

struct FyDataLoader {
  FyObject object;
  FyDataLoaderOptions options; // data set and sampler counted
  int64_t epoch;
};

typedef struct FySlot {
  FyTensor *tensors[2];    // data, target: counted
  unsigned char *bytes[2]; // their elements
  int64_t batch, size;
  bool done;
  FyError error; // of the sample that failed
} FySlot;

typedef struct FyWorker {
  FyLoaderIterator *iterator;
  int number;
  void *scratch;
  pthread_t thread;
} FyWorker;

struct FyLoaderIterator {
  FyObject object;
  FyDataLoader *loader; // counted
  FySamplePlan plan;
  uint64_t seed;  // the epoch's
  int64_t *order; // of its samples
  int64_t samples, batches;

  FyWorker *workers; // workers[0] is the consumer itself when there are none
  int worker_count;  // threads that run
  FySlot *slots;
  int slot_count;

  pthread_mutex_t lock;
  pthread_cond_t queued_more, done_one;
  int64_t queued, taken, handed; // batches set up, begun by workers, given to the consumer
  atomic_bool stop;              // changes under the lock, and is also looked at between samples
  bool closed;
};

// Fills a slot. Never raises: a failure is stored in slot->error, with the worker and the sample. Stops between samples
// when told to.
void fy_loader_fill(FyWorker *worker, FySlot *slot);

// Starts threads, as many as the loader has workers, and stops and joins those there are. Starting raises FY_OS_ERROR when
// a thread cannot be had (those that were started are stopped first). Stopping never raises.
void fy_workers_start(FyLoaderIterator *iterator);
void fy_workers_stop(FyLoaderIterator *iterator);

#endif
