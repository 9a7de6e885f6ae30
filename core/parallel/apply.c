// SPDX-License-Identifier: MIT
// parallel_apply: each replica on its input, in a thread and on a device of its own.
#include "base/state.h"
#include "nn/impl.h"
#include "op/autocast.h"
#include "op/random/random_state.h"
#include "parallel/impl.h"
#include <pthread.h>
#include <string.h>

typedef struct Job {
  FyModule *replica;
  FyTensor *input;
  FyTensor *output; // counted, on its way from the worker's scope to the caller's
  int index;
  FyThreadState caller;
  FyThreadRng random; // of its own, so that the replicas' numbers do not depend on who draws first
  const char *file;
  int line;
  FyError error;
} Job;

// An error stays in the thread's trap, which closes the thread's scopes; the caller raises it after the join.
static void *work(void *argument) {
  Job *job = argument;
  fy_where_file = job->file;
  fy_where_line = job->line;
  FyThreadRng before = fy_thread_rng;
  fy_thread_rng = job->random;
  fy_trap(job->error) {
    fy_thread_state_inherit(&job->caller);
    if (fy_is_cuda(job->input))
      fy_cuda_set_device(fy_get_device(job->input)); // whose current stream is the caller's
    fy_scope {
      fy_autocast(FY_CUDA, .enabled = fy_is_autocast_enabled(FY_CUDA)) { // a region of the thread's, which ends with it
        job->output = fy_retain(fy_forward_of(job->replica, job->input));
      }
    }
  }
  fy_thread_rng = before;
  return NULL;
}

// In the calling thread: for a single replica, and where no thread is to be had.
static void work_here(Job *job) {
  FyThreadState state;
  fy_thread_state_save(&state);
  work(job);
  fy_thread_state_inherit(&state);
}

static _Noreturn void raise_from(const Job *job) {
  FyError error = job->error;
  int device = fy_get_device(job->input);
  char place[48] = "the CPU";
  if (device >= 0)
    snprintf(place, sizeof place, "device %d", device);
  int used = snprintf(error.message, sizeof error.message, "Caught %s in replica %d on %s.\n",
                      fy_error_name(error.kind), job->index, place);
  snprintf(error.message + used, sizeof error.message - (size_t)used, "%s", job->error.message);
  fy_raise_again(&error);
}

static void finish(Job *jobs, int count, FyTensor **outputs) {
  const Job *failed = NULL;
  for (int i = count - 1; i >= 0; i--)
    if (jobs[i].error.kind)
      failed = &jobs[i];
  for (int i = 0; i < count; i++) {
    if (failed)
      fy_release(jobs[i].output);
    else
      outputs[i] = fy_adopt(jobs[i].output);
  }
  if (failed)
    raise_from(failed);
}

static void prepare(Job *job, int index, FyModule *replica, FyTensor *input) {
  fy_module_required(replica, "fy_parallel_apply");
  fy_check(input, FY_TYPE_ERROR, "fy_parallel_apply: input %d is NULL", index);
  *job = (Job){.replica = replica, .input = input, .index = index, .file = fy_where_file, .line = fy_where_line};
  job->random = fy_thread_rng;
  fy_thread_state_save(&job->caller);
}

void fy_parallel_apply(FyModule *const *replicas, FyTensor *const *inputs, int count, FyTensor **outputs) {
  Job jobs[FY_MAX_DEVICES];
  pthread_t threads[FY_MAX_DEVICES];
  bool started[FY_MAX_DEVICES] = {false};
  fy_check(count > 0 && count <= FY_MAX_DEVICES, FY_VALUE_ERROR, "fy_parallel_apply takes 1 to %d replicas, but got %d",
           FY_MAX_DEVICES, count);
  for (int i = 0; i < count; i++)
    prepare(&jobs[i], i, replicas[i], inputs[i]);
  if (count > 1) {
    FyRngState reserved = fy_rng_reserve(1);
    for (int i = 0; i < count; i++)
      jobs[i].random = fy_thread_rng_from(reserved, i);
  }
  for (int i = 0; i < count && count > 1; i++)
    started[i] = pthread_create(&threads[i], NULL, work, &jobs[i]) == 0;
  for (int i = 0; i < count; i++)
    if (!started[i])
      work_here(&jobs[i]);
  for (int i = 0; i < count; i++)
    if (started[i])
      pthread_join(threads[i], NULL);
  finish(jobs, count, outputs);
}
