// SPDX-License-Identifier: MIT
// The loader's threads: each takes the next batch that is set up, and makes its samples.
#include "base/state.h"
#include "data/loader_impl.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

// "Caught ValueError in DataLoader worker 1, sample 37 of batch 4 (index 1053): ..."
static void describe(FyError *error, const FyError *cause, const FyWorker *worker, int64_t sample, const FySlot *slot) {
  char who[32] = "";
  *error = *cause;
  if (worker->iterator->loader->options.num_workers)
    snprintf(who, sizeof who, " worker %d", worker->number);
  int64_t position = slot->batch * (int64_t)worker->iterator->loader->options.batch_size + sample;
  int length =
      snprintf(error->message, sizeof error->message,
               "Caught %s in DataLoader%s, sample %lld of batch %lld (index %lld): ", fy_error_name(cause->kind), who,
               (long long)sample, (long long)slot->batch, (long long)worker->iterator->order[position]);
  snprintf(error->message + length, sizeof error->message - (size_t)length, "%s", cause->message);
}

void fy_loader_fill(FyWorker *worker, FySlot *slot) {
  FyLoaderIterator *it = worker->iterator;
  volatile int64_t sample = 0;
  FyError error;
  fy_trap(error) {
    for (; sample < slot->size && !atomic_load_explicit(&it->stop, memory_order_relaxed); sample++) {
      int64_t position = slot->batch * (int64_t)it->loader->options.batch_size + sample;
      int scope = fy_scope_open();
      fy_sample_make(&it->plan, it->order[position], fy_mix(it->seed, (uint64_t)position),
                     slot->bytes[0] + (size_t)sample * it->plan.data_bytes,
                     slot->bytes[1] + (size_t)sample * it->plan.target_bytes, worker->scratch);
      fy_scope_close(scope);
    }
  }
  slot->error.kind = FY_NO_ERROR;
  if (error.kind)
    describe(&slot->error, &error, worker, sample, slot);
}

// The next slot to fill, or NULL when told to stop.
static FySlot *next_slot(FyLoaderIterator *it) {
  FySlot *slot = NULL;
  pthread_mutex_lock(&it->lock);
  while (!it->stop && it->taken == it->queued)
    pthread_cond_wait(&it->queued_more, &it->lock);
  if (!it->stop)
    slot = &it->slots[it->taken++ % it->slot_count];
  pthread_mutex_unlock(&it->lock);
  return slot;
}

static void *work(void *argument) {
  FyWorker *worker = argument;
  FyLoaderIterator *it = worker->iterator;
  FySlot *slot;
#ifdef _OPENMP
  omp_set_num_threads(1); // the workers are the parallelism
#endif
  fy_grad_enabled = false;
  while ((slot = next_slot(it))) {
    fy_loader_fill(worker, slot);
    pthread_mutex_lock(&it->lock);
    slot->done = true;
    pthread_cond_broadcast(&it->done_one);
    pthread_mutex_unlock(&it->lock);
  }
  return NULL;
}

void fy_workers_start(FyLoaderIterator *it) {
  int workers = it->loader->options.num_workers, error = 0;
  int wanted = it->batches < workers ? (int)it->batches : workers;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // signals are for the program's own threads
  while (it->worker_count < wanted && !error) {
    error = pthread_create(&it->workers[it->worker_count].thread, NULL, work, &it->workers[it->worker_count]);
    it->worker_count += !error;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  int started = it->worker_count;
  if (error)
    fy_workers_stop(it);
  fy_check(!error, FY_OS_ERROR, "DataLoader: worker %d of %d cannot be started: %s", started, wanted, strerror(error));
}

void fy_workers_stop(FyLoaderIterator *it) {
  pthread_mutex_lock(&it->lock);
  it->stop = true;
  pthread_cond_broadcast(&it->queued_more);
  pthread_mutex_unlock(&it->lock);
  for (int i = 0; i < it->worker_count; i++)
    pthread_join(it->workers[i].thread, NULL);
  it->worker_count = 0;
}
