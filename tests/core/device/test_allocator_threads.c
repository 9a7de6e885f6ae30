// SPDX-License-Identifier: MIT
// Threads that allocate, use and free device and pinned memory at the same time, each other's too.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// tsan
#include "expect.h"
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 400, SHARED = 16 };

typedef struct Worker {
  pthread_t thread;
  unsigned int seed;
  int device;
  FyStream *side;
  bool failed;
} Worker;

static void *_Atomic shared[SHARED];
static void *_Atomic shared_pinned[SHARED];

static void exchange(Worker *w) {
  void *pointer;
  void *block;
  fy_cuda_alloc(w->device, (size_t)1 << (rand_r(&w->seed) % 22), &pointer, &block);
  if (rand_r(&w->seed) % 4 == 0)
    fy_cuda_record_stream(block, w->device, fy_stream_raw(w->side));
  fy_cuda_free(atomic_exchange(&shared[rand_r(&w->seed) % SHARED], block));
  if (rand_r(&w->seed) % 8 != 0)
    return;
  fy_pinned_alloc((size_t)1 << (rand_r(&w->seed) % 16), &pointer, &block);
  fy_pinned_record_stream(block, w->device, fy_stream_raw(w->side));
  fy_pinned_free(atomic_exchange(&shared_pinned[rand_r(&w->seed) % SHARED], block));
}

static void *work(void *pointer) {
  Worker *w = pointer;
  FyError error;
  fy_trap(error) {
    fy_cuda_set_device(w->device);
    w->side = fy_stream_new(fy_cuda_device(w->device), 0);
    for (int i = 0; i < ROUNDS; i++)
      exchange(w);
    fy_stream_synchronize(w->side);
  }
  w->failed = error.kind != FY_NO_ERROR;
  return NULL;
}

static void threads_share_the_allocators(void **state) {
  (void)state;
  static Worker workers[THREADS];
  FyMemoryStats before[FY_MAX_DEVICES];
  int devices = fy_cuda_device_count();
  for (int d = 0; d < devices; d++)
    before[d] = fy_memory_stats(fy_cuda_device(d));
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (Worker){.seed = (unsigned int)i + 1, .device = i % devices};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    assert_false(workers[i].failed);
  }
  for (int i = 0; i < SHARED; i++) {
    fy_cuda_free(atomic_exchange(&shared[i], NULL));
    fy_pinned_free(atomic_exchange(&shared_pinned[i], NULL));
  }
  int64_t allocations = 0;
  for (int d = 0; d < devices; d++) {
    FyMemoryStats s = fy_memory_stats(fy_cuda_device(d));
    allocations += s.allocations - before[d].allocations;
    assert_int_equal(s.allocated, 0);
    assert_int_equal(s.allocations - s.frees, 0);
  }
  assert_int_equal(allocations, THREADS * ROUNDS);
  fy_empty_cache();
  for (int d = 0; d < devices; d++) {
    FyMemoryStats s = fy_memory_stats(fy_cuda_device(d));
    assert_int_equal(s.reserved, 0);
    assert_int_equal(s.active_blocks, 0);
    assert_int_equal(s.requested, 0);
  }
}

static void *take_handle(void *pointer) {
  *(void **)pointer = NULL;
  fy_use_device(0);
  fy_raw_blas(0, fy_raw_stream(0), pointer);
  return NULL;
}

static void a_threads_cublas_handle_goes_to_the_next(void **state) {
  (void)state;
  void *first;
  void *second;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, take_handle, &first), 0);
  pthread_join(thread, NULL);
  assert_int_equal(pthread_create(&thread, NULL, take_handle, &second), 0);
  pthread_join(thread, NULL);
  assert_non_null(first);
  assert_ptr_equal(first, second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_share_the_allocators),
      cmocka_unit_test(a_threads_cublas_handle_goes_to_the_next),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
