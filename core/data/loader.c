// SPDX-License-Identifier: MIT
// DataLoader: what an epoch consists of, and its batches in order.
#include "data/loader_impl.h"
#include "base/watch.h"
#include "op/random/random_state.h"
#include "tensor/impl.h"
#include <stdlib.h>

static void destroy_loader(void *object) {
  FyDataLoader *self = object;
  fy_release(self->options.dataset);
  fy_release(self->options.sampler);
  free(self);
}

static void check_options(const FyDataLoaderOptions *o) {
  fy_check(o->dataset, FY_TYPE_ERROR, "fy_data_loader: the data set is NULL");
  fy_check(o->batch_size >= 0, FY_VALUE_ERROR, "batch_size should be a positive integer value, but got batch_size=%d",
           o->batch_size);
  fy_check(o->num_workers >= 0, FY_VALUE_ERROR,
           "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.");
  fy_check(o->prefetch_factor >= 0, FY_VALUE_ERROR, "prefetch_factor option should be non-negative, but got %d",
           o->prefetch_factor);
  fy_check(o->num_workers <= 256 && o->prefetch_factor <= 1024, FY_VALUE_ERROR,
           "fy_data_loader: at most 256 workers and a prefetch_factor of at most 1024, but got %d and %d",
           o->num_workers, o->prefetch_factor);
  fy_check(!o->shuffle || !o->sampler, FY_VALUE_ERROR, "sampler option is mutually exclusive with shuffle");
}

FyDataLoader *fy_data_loader_with(FyDataLoaderOptions o) {
  static bool warned;
  check_options(&o);
  FyDataLoader *self = fy_object_new(sizeof *self, destroy_loader);
  o.batch_size = o.batch_size ? o.batch_size : 1;
  o.prefetch_factor = o.prefetch_factor ? o.prefetch_factor : 2;
  if (o.pin_memory && !fy_cuda_is_available()) {
    fy_warn_once(&warned, "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
                          "won't be used.");
    o.pin_memory = false;
  }
  self->options = o;
  self->options.sampler = NULL;
  fy_retain(self->options.dataset);
  fy_scope {
    FySampler *sampler = o.sampler   ? o.sampler
                         : o.shuffle ? fy_random_sampler(o.dataset->count)
                                     : fy_sequential_sampler(o.dataset->count);
    self->options.sampler = fy_retain(sampler);
  }
  return self;
}

int64_t fy_loader_batches(const FyDataLoader *loader) {
  fy_check(loader, FY_TYPE_ERROR, "fy_loader_batches: the loader is NULL");
  int64_t count = loader->options.sampler->count, size = loader->options.batch_size;
  return count / size + (!loader->options.drop_last && count % size != 0);
}

int64_t fy_loader_samples(const FyDataLoader *loader) {
  int64_t count = loader->options.sampler->count, size = loader->options.batch_size;
  return fy_loader_batches(loader) * size < count ? fy_loader_batches(loader) * size : count;
}

void fy_loader_set_epoch(FyDataLoader *loader, int64_t epoch) {
  fy_check(epoch >= 0, FY_VALUE_ERROR, "fy_loader_set_epoch: expected an epoch from 0, but got %lld", (long long)epoch);
  loader->epoch = epoch;
}

int64_t fy_loader_epoch(const FyDataLoader *loader) {
  return loader->epoch;
}

// ---- an epoch ----------------------------------------------------------------------------------------------------------

static void give_up_tensors(FySlot *slot) {
  for (int i = 0; i < 2; i++) {
    fy_release(slot->tensors[i]);
    slot->tensors[i] = NULL;
  }
}

void fy_loader_close(FyLoaderIterator *it) {
  if (!it || it->closed)
    return;
  fy_workers_stop(it);
  for (int i = 0; it->slots && i < it->slot_count; i++)
    give_up_tensors(&it->slots[i]);
  it->closed = true;
}

static void destroy_iterator(void *object) {
  FyLoaderIterator *it = object;
  fy_loader_close(it);
  if (it->workers)
    free(it->workers[0].scratch);
  free(it->workers);
  free(it->slots);
  free(it->order);
  fy_release(it->plan.transform);
  pthread_cond_destroy(&it->done_one);
  pthread_cond_destroy(&it->queued_more);
  pthread_mutex_destroy(&it->lock);
  fy_release(it->loader);
  free(it);
}

static void set_order(FyLoaderIterator *it) {
  FySampler *sampler = it->loader->options.sampler;
  int64_t dataset = it->plan.dataset->count, count = sampler->count;
  it->order = malloc((size_t)(count ? count : 1) * sizeof *it->order);
  fy_check(it->order, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the order of %lld samples", (long long)count);
  sampler->order(sampler, it->seed, it->order);
  for (int64_t i = 0; i < count; i++)
    fy_check(it->order[i] >= 0 && it->order[i] < dataset, FY_INDEX_ERROR,
             "the sampler's index %lld, at position %lld, is out of range for a data set of %lld samples",
             (long long)it->order[i], (long long)i, (long long)dataset);
}

static uint64_t epoch_seed(FyDataLoader *loader) {
  uint64_t seed = loader->options.seed, epoch = (uint64_t)loader->epoch++;
  if (seed)
    return fy_mix(seed, epoch);
  FyRngState drawn = fy_rng_reserve(1);
  return fy_mix(drawn.seed, drawn.offset);
}

static void set_up_workers(FyLoaderIterator *it) {
  const FyDataLoaderOptions *o = &it->loader->options;
  int threads = o->num_workers ? o->num_workers : 1;
  size_t stride = (it->plan.scratch_bytes + 127) / 64 * 64; // no two workers on one cache line
  it->slot_count = o->num_workers ? o->num_workers * o->prefetch_factor : 1;
  it->workers = calloc((size_t)threads, sizeof *it->workers);
  it->slots = calloc((size_t)it->slot_count, sizeof *it->slots);
  char *scratch = it->workers ? malloc((size_t)threads * stride) : NULL;
  if (it->workers)
    it->workers[0].scratch = scratch;
  fy_check(it->workers && it->slots && scratch, FY_OUT_OF_MEMORY_ERROR,
           "out of host memory for %d workers of a DataLoader", threads);
  for (int i = 0; i < threads; i++)
    it->workers[i] = (FyWorker){.iterator = it, .number = i, .scratch = scratch + (size_t)i * stride};
}

static FyTensor *new_tensor(const FyLoaderIterator *it, int64_t n, FySize sample, FyDType dtype) {
  FySize size = {.ndim = sample.ndim + 1, .dim = {n}};
  for (int i = 0; i < sample.ndim; i++)
    size.dim[i + 1] = sample.dim[i];
  return fy_empty(size, .dtype = dtype, .pin_memory = it->loader->options.pin_memory);
}

// Makes the tensors of the next batch that no slot has yet.
static FySlot *set_up_slot(FyLoaderIterator *it) {
  FySlot *slot = &it->slots[it->queued % it->slot_count];
  const FyDataset *dataset = it->plan.dataset;
  int64_t begin = it->queued * it->loader->options.batch_size, rest = it->samples - begin;
  give_up_tensors(slot);
  slot->done = false;
  slot->batch = it->queued;
  slot->size = rest < it->loader->options.batch_size ? rest : it->loader->options.batch_size;
  fy_scope {
    slot->tensors[0] = fy_retain(new_tensor(it, slot->size, it->plan.data_size, it->plan.data_dtype));
    slot->tensors[1] = fy_retain(new_tensor(it, slot->size, dataset->target_size, dataset->target_dtype));
  }
  for (int i = 0; i < 2; i++)
    slot->bytes[i] = slot->tensors[i]->array.data;
  return slot;
}

// Keeps the workers busy. Never raises: memory that runs out for a later batch may be there at the batch's turn.
static FyError queue_slots(FyLoaderIterator *it) {
  FyError error;
  fy_trap(error) {
    while (it->queued < it->batches && it->queued - it->handed < it->slot_count) {
      set_up_slot(it);
      pthread_mutex_lock(&it->lock);
      it->queued++; // under the lock, since workers read it
      pthread_cond_signal(&it->queued_more);
      pthread_mutex_unlock(&it->lock);
    }
  }
  return error;
}

FyLoaderIterator *fy_loader_iter(FyDataLoader *loader) {
  fy_check(loader, FY_TYPE_ERROR, "fy_loader_iter: the loader is NULL");
  int scope = fy_scope_open();
  FyLoaderIterator *it = fy_object_new(sizeof *it, destroy_iterator);
  pthread_mutex_init(&it->lock, NULL);
  pthread_cond_init(&it->queued_more, NULL);
  pthread_cond_init(&it->done_one, NULL);
  it->loader = fy_retain(loader);
  it->plan = fy_sample_plan(loader->options.dataset);
  fy_retain(it->plan.transform); // the data set may get another one meanwhile
  it->seed = epoch_seed(loader);
  it->samples = fy_loader_samples(loader);
  it->batches = fy_loader_batches(loader);
  set_order(it);
  set_up_workers(it);
  if (loader->options.num_workers) {
    fy_workers_start(it);
    queue_slots(it);
  }
  fy_keep(it);
  fy_scope_close(scope);
  return it;
}

// ---- batches -----------------------------------------------------------------------------------------------------------

static FySlot *wait_for_slot(FyLoaderIterator *it) {
  if (it->queued == it->handed) {
    FyError error = queue_slots(it);
    if (it->queued == it->handed)
      fy_raise_again(&error);
  }
  FySlot *slot = &it->slots[it->handed % it->slot_count];
  pthread_mutex_lock(&it->lock);
  while (!slot->done)
    pthread_cond_wait(&it->done_one, &it->lock);
  pthread_mutex_unlock(&it->lock);
  it->handed++;
  return slot;
}

static FySlot *make_slot(FyLoaderIterator *it) {
  FySlot *slot = set_up_slot(it);
  it->queued++;
  it->handed++;
  fy_loader_fill(&it->workers[0], slot);
  return slot;
}

static FyTensor *hand_over(FyTensor **held) {
  FyTensor *tensor = *held;
  fy_adopt(tensor);
  *held = NULL;
  return tensor;
}

bool fy_loader_next(FyLoaderIterator *it, FyBatch *batch) {
  fy_check(it && batch, FY_TYPE_ERROR, "fy_loader_next: the iterator or the batch is NULL");
  *batch = (FyBatch){0};
  if (it->closed)
    return false;
  if (it->handed == it->batches) {
    fy_loader_close(it);
    return false;
  }
  const bool watched = fy_range_open(FY_RANGE_LIBRARY, "DataLoader.next");
  FySlot *slot = it->worker_count ? wait_for_slot(it) : make_slot(it);
  FyError error = slot->error;
  if (!error.kind) {
    *batch = (FyBatch){.index = slot->batch, .size = slot->size};
    batch->data = hand_over(&slot->tensors[0]);
    batch->target = hand_over(&slot->tensors[1]);
  }
  if (it->worker_count)
    queue_slots(it);
  if (error.kind) {
    error.file = fy_where_file;
    error.line = fy_where_line;
    fy_raise_again(&error);
  }
  fy_range_close(watched);
  return true;
}
