// SPDX-License-Identifier: MIT
// Running out of device memory: PyTorch's order of attempts, its words, and life afterwards.
// run check: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_MEMORY_MB=64 FERRY_SIM_MODE=lazy
// run: FERRY_CUDA=sim FERRY_SIM_DEVICES=1 FERRY_SIM_MEMORY_MB=64 FERRY_SIM_MODE=threads
#include "expect.h"

static void *take(size_t bytes) {
  void *pointer;
  void *block;
  fy_cuda_alloc(0, bytes, &pointer, &block);
  return block;
}

static FyMemoryStats stats(void) {
  return fy_memory_stats(fy_cuda_device(0));
}

static int nothing_held(void **state) {
  (void)state;
  fy_empty_cache();
  return stats().reserved != 0;
}

static void the_message_is_pytorchs(void **state) {
  (void)state;
  void *held = take(48 * MIB);
  expect_error(FY_OUT_OF_MEMORY_ERROR,
               "CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which ",
               take(29 * MIB));
  expect_error(FY_OUT_OF_MEMORY_ERROR, "48.00 MiB reserved, of which 48.00 MiB is allocated and 0 bytes is cached",
               take(29 * MIB));
  expect_error(FY_OUT_OF_MEMORY_ERROR, "Tried to allocate 20.00 MiB", take(2 * MIB)); // the segment it would need
  fy_cuda_free(held);
}

static void everything_works_afterwards(void **state) {
  (void)state;
  int64_t before = stats().out_of_memories;
  void *held = take(40 * MIB);
  FyMemoryStats full = stats();
  expect_error(FY_OUT_OF_MEMORY_ERROR, "out of memory", take(40 * MIB));
  assert_int_equal(stats().out_of_memories, before + 1);
  assert_int_equal(stats().allocated, full.allocated);
  assert_int_equal(stats().active_blocks, full.active_blocks);
  void *small = take(100); // there is room for this
  fy_cuda_free(small);
  fy_cuda_free(held);
  void *again = take(40 * MIB);
  fy_cuda_free(again);
  fy_synchronize(fy_cuda_device(0)); // no error stayed behind
}

static void the_cache_is_given_up_before_failing(void **state) {
  (void)state;
  int64_t retries = stats().retries;
  int64_t frees = stats().device_frees;
  void *a = take(20 * MIB);
  void *b = take(20 * MIB);
  fy_cuda_free(a);
  fy_cuda_free(b);
  assert_int_equal(stats().reserved, 40 * MIB);
  void *c = take(50 * MIB);
  assert_int_equal(stats().retries, retries + 1);
  assert_int_equal(stats().device_frees, frees + 2);
  assert_int_equal(stats().reserved, 50 * MIB);
  fy_cuda_free(c);
}

static void split_segments_are_not_given_up(void **state) {
  (void)state;
  void *a = take(9 * MIB);
  void *b = take(9 * MIB); // two thirds of the segment's 20 MiB
  fy_cuda_free(a);
  expect_error(FY_OUT_OF_MEMORY_ERROR, "11.00 MiB is cached", take(50 * MIB));
  assert_int_equal(stats().reserved, 20 * MIB);
  fy_cuda_free(b);
  void *c = take(50 * MIB);
  fy_cuda_free(c);
}

static void memory_of_another_stream_is_given_up_too(void **state) {
  (void)state;
  FyStream *stream = fy_stream_new(fy_cuda_device(0), 0);
  void *a = take(40 * MIB);
  fy_cuda_record_stream(a, 0, fy_stream_raw(stream));
  fy_cuda_free(a); // waits for an event of `stream`
  void *b = NULL;
  fy_stream_guard(stream) {
    b = take(40 * MIB);
  }
  assert_int_equal(stats().reserved, 40 * MIB);
  fy_cuda_free(b);
  fy_drop(stream);
}

static void absurd_sizes_are_refused(void **state) {
  (void)state;
  expect_error(FY_OUT_OF_MEMORY_ERROR, "Tried to allocate", take((size_t)1 << 50));
  expect_error(FY_OUT_OF_MEMORY_ERROR, "Tried to allocate", take(SIZE_MAX));
  expect_error(FY_OUT_OF_MEMORY_ERROR, "Tried to allocate", take(SIZE_MAX - 511));
}

static void kernels_can_try(void **state) {
  (void)state;
  void *pointer;
  void *block;
  assert_false(fy_cuda_try_alloc(0, 100 * MIB, &pointer, &block));
  assert_null(pointer);
  assert_null(block);
  assert_true(fy_cuda_try_alloc(0, 10 * MIB, &pointer, &block));
  assert_non_null(pointer);
  fy_cuda_free(block);
}

// As a training loop does that looks for the largest batch that fits.
static void a_loop_survives_many_failures(void **state) {
  (void)state;
  for (volatile int i = 0; i < 200; i++) {
    void *volatile held = take(33 * MIB);
    expect_error(FY_OUT_OF_MEMORY_ERROR, "Tried to allocate 34.00 MiB", take(33 * MIB));
    fy_cuda_free(held);
  }
  assert_int_equal(stats().allocated, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_held, nothing_held)
  const struct CMUnitTest tests[] = {
      TEST(the_message_is_pytorchs),
      TEST(everything_works_afterwards),
      TEST(the_cache_is_given_up_before_failing),
      TEST(split_segments_are_not_given_up),
      TEST(memory_of_another_stream_is_given_up_too),
      TEST(absurd_sizes_are_refused),
      TEST(kernels_can_try),
      TEST(a_loop_survives_many_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
