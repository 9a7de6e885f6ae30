// SPDX-License-Identifier: MIT
// Host memory of CPU tensors: aligned, kept, bounded, and an error when there is none.
// run check: FERRY_CUDA=off FERRY_HOST_CACHE_MB=64
// tsan
#include "expect.h"
#include <pthread.h>
#include <stdlib.h>

static FyMemoryStats stats(void) {
  return fy_memory_stats(FY_CPU_DEVICE);
}

static int nothing_held(void **state) {
  (void)state;
  fy_empty_cache();
  fy_reset_peak_memory_stats(FY_CPU_DEVICE);
  FyMemoryStats s = stats();
  return s.allocated || s.reserved || s.requested || s.active_blocks || s.segments;
}

static void blocks_are_aligned_and_large_enough(void **state) {
  (void)state;
  for (size_t bytes = 1; bytes < 40 * MIB; bytes = bytes * 5 / 4 + 1) {
    void *pointer;
    void *block;
    fy_host_alloc(bytes, &pointer, &block);
    assert_int_equal((uintptr_t)pointer % 64, 0);
    memset(pointer, 0x5a, bytes);
    FyMemoryStats s = stats();
    assert_int_equal(s.requested, bytes);
    assert_true(s.allocated >= bytes);
    assert_true(s.allocated <= bytes + bytes / 8 + 64); // an eighth is the most that a class adds
    fy_host_free(block);
    fy_empty_cache();
  }
}

static void freed_memory_is_taken_again(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 36, 4096, 200 * 1024, 5 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    void *first;
    void *second;
    void *block;
    fy_host_alloc(sizes[i], &first, &block);
    fy_host_free(block);
    int64_t mallocs = stats().device_mallocs;
    fy_host_alloc(sizes[i], &second, &block);
    assert_ptr_equal(first, second);
    assert_int_equal(stats().device_mallocs, mallocs);
    fy_host_free(block);
  }
}

static void a_little_too_large_will_do(void **state) {
  (void)state;
  void *first;
  void *second;
  void *block;
  fy_host_alloc(9 * MIB, &first, &block);
  fy_host_free(block);
  fy_host_alloc(8 * MIB, &second, &block);
  assert_ptr_equal(first, second);
  assert_int_equal(stats().allocated, 9 * MIB);
  fy_host_free(block);
  void *third;
  fy_host_alloc(4 * MIB, &third, &block); // more than twice too large will not
  assert_ptr_not_equal(third, first);
  fy_host_free(block);
}

static void the_cache_is_bounded(void **state) {
  (void)state;
  void *blocks[40];
  void *pointer;
  for (int i = 0; i < 40; i++)
    fy_host_alloc(4 * MIB, &pointer, &blocks[i]);
  assert_int_equal(stats().reserved, 160 * MIB);
  for (int i = 0; i < 40; i++)
    fy_host_free(blocks[i]);
  assert_true(stats().reserved <= 68 * MIB); // 64 by the setting above, and the block that came last
  void *block;
  fy_host_alloc(100 * MIB, &pointer, &block);
  fy_host_free(block); // larger than the whole cache may be
  assert_true(stats().reserved <= 68 * MIB);
}

static void peaks_and_counts(void **state) {
  (void)state;
  void *pointer;
  void *a;
  void *b;
  FyMemoryStats before = stats();
  fy_host_alloc(MIB, &pointer, &a);
  fy_host_alloc(3 * MIB, &pointer, &b);
  fy_host_free(b);
  FyMemoryStats now = stats();
  assert_int_equal(now.allocated, MIB);
  assert_int_equal(now.allocated_peak, 4 * MIB);
  assert_int_equal(fy_max_memory_allocated(FY_CPU_DEVICE), 4 * MIB);
  assert_int_equal(now.reserved_peak, 4 * MIB);
  assert_int_equal(now.allocations - before.allocations, 2);
  assert_int_equal(now.frees - before.frees, 1);
  assert_int_equal(now.active_blocks, 1);
  fy_reset_peak_memory_stats(FY_CPU_DEVICE);
  assert_int_equal(fy_max_memory_allocated(FY_CPU_DEVICE), MIB);
  fy_host_free(a);
}

static void nothing_for_no_bytes(void **state) {
  (void)state;
  void *pointer;
  void *block;
  fy_host_alloc(0, &pointer, &block);
  assert_null(pointer);
  assert_null(block);
  fy_host_free(block);
}

static void too_much_is_an_error_that_passes(void **state) {
  (void)state;
  void *pointer;
  void *block;
  int64_t failures = stats().out_of_memories;
  expect_error(FY_OUT_OF_MEMORY_ERROR,
               "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000000 bytes. Error code 12",
               fy_host_alloc(4000000000000, &pointer, &block));
  assert_int_equal(stats().out_of_memories, failures + 1);
  expect_error(FY_OUT_OF_MEMORY_ERROR, "you tried to allocate 18446744073709551615 bytes",
               fy_host_alloc(SIZE_MAX, &pointer, &block));
  fy_host_alloc(MIB, &pointer, &block);
  fy_host_free(block);
}

// ---- threads ---------------------------------------------------------------------------------------------------------

enum { THREADS = 4, ROUNDS = 2000, SHARED = 32 };

static void *_Atomic shared[SHARED];

// Allocates, and frees what another thread allocated.
static void *exchange(void *pointer) {
  unsigned int seed = (unsigned int)(uintptr_t)pointer;
  for (int i = 0; i < ROUNDS; i++) {
    void *data;
    void *block;
    size_t bytes = (size_t)1 << (rand_r(&seed) % 19);
    fy_host_alloc(bytes, &data, &block);
    ((char *)data)[0] = (char)i;
    ((char *)data)[bytes - 1] = (char)i;
    fy_host_free(atomic_exchange(&shared[rand_r(&seed) % SHARED], block));
  }
  return NULL;
}

static void threads_free_each_others_memory(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  FyMemoryStats before = stats();
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, exchange, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < SHARED; i++)
    fy_host_free(atomic_exchange(&shared[i], NULL));
  FyMemoryStats now = stats();
  assert_int_equal(now.allocations - before.allocations, THREADS * ROUNDS);
  assert_int_equal(now.frees - before.frees, THREADS * ROUNDS);
  assert_int_equal(now.allocated, 0);
  assert_int_equal(now.requested, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_held, nothing_held)
  const struct CMUnitTest tests[] = {
      TEST(blocks_are_aligned_and_large_enough),
      TEST(freed_memory_is_taken_again),
      TEST(a_little_too_large_will_do),
      TEST(the_cache_is_bounded),
      TEST(peaks_and_counts),
      TEST(nothing_for_no_bytes),
      TEST(too_much_is_an_error_that_passes),
      TEST(threads_free_each_others_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
