// SPDX-License-Identifier: MIT
// Pinned memory: powers of two, kept and taken again.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include "device/impl.h"
#include "expect.h"

static int nothing_held(void **state) {
  (void)state;
  fy_empty_cache();
  return fy_pinned_memory_stats().reserved != 0;
}

static void expect_size(size_t bytes, size_t reserved) {
  void *pointer;
  void *block;
  fy_pinned_alloc(bytes, &pointer, &block);
  memset(pointer, 1, bytes);
  FyMemoryStats s = fy_pinned_memory_stats();
  assert_int_equal(s.reserved, reserved);
  assert_int_equal(s.allocated, reserved);
  assert_int_equal(s.requested, bytes);
  fy_pinned_free(block);
  assert_int_equal(fy_pinned_memory_stats().allocated, 0);
  assert_int_equal(fy_pinned_memory_stats().reserved, reserved);
  fy_empty_cache();
  assert_int_equal(fy_pinned_memory_stats().reserved, 0);
}

static void sizes_are_powers_of_two(void **state) {
  (void)state;
  expect_size(1, 512);
  expect_size(512, 512);
  expect_size(513, 1024);
  expect_size(MIB, MIB);
  expect_size(MIB + 1, 2 * MIB);
}

static void blocks_are_taken_again_but_never_split(void **state) {
  (void)state;
  void *a;
  void *b;
  void *c;
  void *block;
  void *other;
  int64_t before = fy_pinned_memory_stats().device_mallocs;
  fy_pinned_alloc(3 * MIB, &a, &block);
  fy_pinned_free(block);
  fy_pinned_alloc(2 * MIB + 1, &b, &block);
  assert_ptr_equal(a, b);
  fy_pinned_free(block);
  fy_pinned_alloc(MIB, &c, &other);
  assert_ptr_not_equal(c, a);
  assert_int_equal(fy_pinned_memory_stats().device_mallocs, before + 2);
  fy_pinned_free(other);
}

static void nothing_for_no_bytes(void **state) {
  (void)state;
  void *pointer;
  void *block;
  fy_pinned_alloc(0, &pointer, &block);
  assert_null(pointer);
  assert_null(block);
  fy_pinned_free(block);
  fy_pinned_record_stream(block, 0, NULL);
}

static void absurd_sizes_are_refused(void **state) {
  (void)state;
  void *pointer;
  void *block;
  expect_error(FY_OUT_OF_MEMORY_ERROR, "tried to allocate", fy_pinned_alloc(SIZE_MAX, &pointer, &block));
  assert_int_equal(fy_pinned_memory_stats().active_blocks, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_held, nothing_held)
  const struct CMUnitTest tests[] = {
      TEST(sizes_are_powers_of_two),
      TEST(blocks_are_taken_again_but_never_split),
      TEST(nothing_for_no_bytes),
      TEST(absurd_sizes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
