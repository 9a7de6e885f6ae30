// SPDX-License-Identifier: MIT
// PyTorch's rules for device memory, in numbers: block sizes, segments, best fit, splitting, merging, statistics.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads
#include "expect.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct Held {
  char *pointer;
  void *block;
} Held;

static Held take_on(int device, size_t bytes) {
  void *pointer;
  Held held;
  fy_cuda_alloc(device, bytes, &pointer, &held.block);
  held.pointer = pointer;
  return held;
}

static Held take(size_t bytes) {
  return take_on(0, bytes);
}

static void give(Held held) {
  fy_cuda_free(held.block);
}

static FyMemoryStats stats(void) {
  return fy_memory_stats(fy_cuda_device(0));
}

// Every test begins and ends with nothing allocated and nothing cached.
static int nothing_held(void **state) {
  (void)state;
  fy_synchronize(fy_cuda_device(0));
  fy_empty_cache();
  fy_reset_peak_memory_stats(fy_cuda_device(0));
  FyMemoryStats s = stats();
  return s.allocated || s.reserved || s.requested || s.active_blocks || s.segments || s.inactive_split_blocks;
}

// ---- sizes -----------------------------------------------------------------------------------------------------------

static void expect_sizes(size_t bytes, size_t allocated, size_t reserved) {
  Held held = take(bytes);
  assert_int_equal(fy_memory_allocated(fy_cuda_device(0)), allocated);
  assert_int_equal(fy_memory_reserved(fy_cuda_device(0)), reserved);
  assert_int_equal(stats().requested, bytes);
  give(held);
  assert_int_equal(fy_memory_allocated(fy_cuda_device(0)), 0);
  assert_int_equal(fy_memory_reserved(fy_cuda_device(0)), reserved);
  fy_empty_cache();
  assert_int_equal(fy_memory_reserved(fy_cuda_device(0)), 0);
}

static void requests_round_up_to_512_bytes(void **state) {
  (void)state;
  expect_sizes(1, 512, 2 * MIB);
  expect_sizes(512, 512, 2 * MIB);
  expect_sizes(513, 1024, 2 * MIB);
  expect_sizes(36, 512, 2 * MIB);
  expect_sizes(MIB, MIB, 2 * MIB);
}

static void segments_have_pytorchs_sizes(void **state) {
  (void)state;
  expect_sizes(MIB + 1, MIB + 512, 20 * MIB);
  expect_sizes(10 * MIB - 512, 10 * MIB - 512, 20 * MIB);
  expect_sizes(10 * MIB, 10 * MIB, 10 * MIB);
  expect_sizes(10 * MIB + 1, 10 * MIB + 512, 12 * MIB);
  expect_sizes(11 * MIB, 12 * MIB, 12 * MIB);             // a rest of 1 MiB is not split off,
  expect_sizes(11 * MIB - 512, 11 * MIB - 512, 12 * MIB); // more than that is
  expect_sizes(19 * MIB, 20 * MIB, 20 * MIB);
}

static void nothing_for_no_bytes(void **state) {
  (void)state;
  Held held = take(0);
  assert_null(held.pointer);
  assert_null(held.block);
  give(held);
  assert_int_equal(stats().reserved, 0);
}

// ---- blocks ----------------------------------------------------------------------------------------------------------

static void small_requests_share_a_segment(void **state) {
  (void)state;
  Held a = take(100);
  Held b = take(1000);
  Held c = take(MIB);
  assert_ptr_equal(b.pointer, a.pointer + 512);
  assert_ptr_equal(c.pointer, b.pointer + 1024);
  FyMemoryStats s = stats();
  assert_int_equal(s.segments, 1);
  assert_int_equal(s.active_blocks, 3);
  assert_int_equal(s.inactive_split_blocks, 1);
  assert_int_equal(s.allocated, 512 + 1024 + MIB);
  assert_int_equal(s.requested, 100 + 1000 + MIB);
  Held d = take(MIB); // the rest of the segment is 1536 bytes short of this
  assert_int_equal(stats().segments, 2);
  give(a);
  give(b);
  give(c);
  give(d);
}

static void a_freed_block_is_taken_again(void **state) {
  (void)state;
  int64_t mallocs = stats().device_mallocs;
  Held a = take(4 * MIB);
  char *first = a.pointer;
  for (int i = 0; i < 100; i++) {
    give(a);
    a = take(4 * MIB);
    assert_ptr_equal(a.pointer, first);
  }
  assert_int_equal(stats().device_mallocs, mallocs + 1);
  give(a);
}

static void the_best_fit_wins(void **state) {
  (void)state;
  Held large = take(8 * KIB);
  Held wall1 = take(512);
  Held small = take(2 * KIB);
  Held wall2 = take(512);
  Held middle = take(4 * KIB);
  Held wall3 = take(512);
  give(large);
  give(small);
  give(middle);
  Held fit = take(3 * KIB);
  assert_ptr_equal(fit.pointer, middle.pointer);
  Held rest = take(1 * KIB); // what was split off behind it is the smallest that fits now
  assert_ptr_equal(rest.pointer, middle.pointer + 3 * KIB);
  Held exact = take(2 * KIB);
  assert_ptr_equal(exact.pointer, small.pointer);
  give(fit);
  give(rest);
  give(exact);
  give(wall1);
  give(wall2);
  give(wall3);
}

static void equal_fits_go_by_address(void **state) {
  (void)state;
  Held low = take(KIB);
  Held wall1 = take(512);
  Held high = take(KIB);
  Held wall2 = take(512);
  give(low);
  give(high);
  Held again = take(KIB);
  assert_ptr_equal(again.pointer, low.pointer);
  give(again);
  give(wall1);
  give(wall2);
}

static void neighbors_merge(void **state) {
  (void)state;
  Held parts[4];
  for (int i = 0; i < 4; i++)
    parts[i] = take(512 * KIB);
  assert_int_equal(stats().inactive_split_blocks, 0); // the segment is used up
  give(parts[0]);
  give(parts[2]);
  assert_int_equal(stats().inactive_split_blocks, 2);
  give(parts[1]);
  assert_int_equal(stats().inactive_split_blocks, 1);
  Held joined = take(MIB);
  assert_ptr_equal(joined.pointer, parts[0].pointer);
  give(joined);
  give(parts[3]);
  assert_int_equal(stats().inactive_split_blocks, 0); // one whole segment, not a split one
  assert_int_equal(stats().segments, 1);
  fy_empty_cache();
  assert_int_equal(stats().segments, 0);
}

static void large_blocks_split_above_a_mebibyte(void **state) {
  (void)state;
  Held a = take(5 * MIB);
  Held b = take(5 * MIB);
  Held c = take(9 * MIB); // leaves exactly 1 MiB of the segment, which stays with it
  assert_ptr_equal(b.pointer, a.pointer + 5 * MIB);
  assert_ptr_equal(c.pointer, b.pointer + 5 * MIB);
  assert_int_equal(stats().allocated, 20 * MIB);
  assert_int_equal(stats().segments, 1);
  assert_int_equal(stats().inactive_split_blocks, 0);
  give(b);
  Held d = take(2 * MIB);
  assert_ptr_equal(d.pointer, b.pointer);
  assert_int_equal(stats().inactive_split_blocks, 1);
  give(a);
  give(c);
  give(d);
}

static void pools_do_not_mix(void **state) {
  (void)state;
  Held large = take(2 * MIB);
  Held small = take(512); // 18 MiB are free, but in the large pool
  assert_int_equal(stats().reserved, 22 * MIB);
  give(small);
  Held medium = take(MIB + 512);
  assert_ptr_equal(medium.pointer, large.pointer + 2 * MIB);
  give(large);
  give(medium);
}

static void empty_cache_returns_whole_segments_only(void **state) {
  (void)state;
  Held a = take(MIB);
  Held b = take(MIB);
  Held c = take(12 * MIB);
  int64_t frees = stats().device_frees;
  give(a);
  give(c);
  fy_empty_cache();
  assert_int_equal(stats().device_frees, frees + 1);
  assert_int_equal(stats().reserved, 2 * MIB);
  give(b);
  fy_empty_cache();
  assert_int_equal(stats().reserved, 0);
}

// ---- statistics --------------------------------------------------------------------------------------------------------

static void peaks_stay_until_reset(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  Held a = take(10 * MIB);
  Held b = take(30 * MIB);
  give(b);
  assert_int_equal(fy_memory_allocated(device), 10 * MIB);
  assert_int_equal(fy_max_memory_allocated(device), 40 * MIB);
  assert_int_equal(fy_max_memory_reserved(device), 40 * MIB);
  fy_empty_cache();
  assert_int_equal(fy_memory_reserved(device), 10 * MIB);
  assert_int_equal(fy_max_memory_reserved(device), 40 * MIB);
  fy_reset_peak_memory_stats(device);
  assert_int_equal(fy_max_memory_allocated(device), 10 * MIB);
  assert_int_equal(fy_max_memory_reserved(device), 10 * MIB);
  give(a);
}

static void calls_are_counted(void **state) {
  (void)state;
  FyMemoryStats before = stats();
  Held a = take(100);
  Held b = take(100);
  give(a);
  FyMemoryStats now = stats();
  assert_int_equal(now.allocations - before.allocations, 2);
  assert_int_equal(now.frees - before.frees, 1);
  assert_int_equal(now.device_mallocs - before.device_mallocs, 1);
  assert_int_equal(now.active_blocks, 1);
  give(b);
}

static void devices_have_memory_of_their_own(void **state) {
  (void)state;
  skip_below_devices(2);
  Held other = take_on(1, 10 * MIB);
  assert_int_equal(fy_memory_allocated(fy_cuda_device(1)), 10 * MIB);
  assert_int_equal(fy_memory_allocated(fy_cuda_device(0)), 0);
  assert_int_equal(fy_cuda_current_device(), 0);
  give(other);
  assert_int_equal(fy_memory_reserved(fy_cuda_device(1)), 10 * MIB);
  fy_empty_cache();
  assert_int_equal(fy_memory_reserved(fy_cuda_device(1)), 0);
}

static void streams_have_blocks_of_their_own(void **state) {
  (void)state;
  FyStream *stream = fy_stream_new(fy_cuda_device(0), 0);
  Held a = take(12 * MIB);
  give(a);
  Held b = {0};
  fy_stream_guard(stream) {
    b = take(12 * MIB);
  }
  assert_ptr_not_equal(b.pointer, a.pointer);
  assert_int_equal(stats().reserved, 24 * MIB);
  Held c = take(12 * MIB);
  assert_ptr_equal(c.pointer, a.pointer);
  give(b); // back to its own stream's cache, although another stream is current
  Held d = take(12 * MIB);
  assert_ptr_not_equal(d.pointer, b.pointer);
  fy_stream_guard(stream) {
    Held e = take(12 * MIB);
    assert_ptr_equal(e.pointer, b.pointer);
    give(e);
  }
  give(c);
  give(d);
  fy_drop(stream);
}

static void the_summary_shows_the_numbers(void **state) {
  (void)state;
  char *text = NULL;
  size_t length = 0;
  Held held = take(3 * MIB);
  FILE *file = open_memstream(&text, &length);
  assert_non_null(file);
  fy_memory_summary(file, fy_device("cuda"));
  fclose(file);
  give(held);
  assert_non_null(strstr(text, "Memory of cuda:0"));
  assert_int_equal(strstr(text, "(simulated)") != NULL, fy_cuda_is_simulated());
  assert_non_null(strstr(text, "| allocated                      |       3.00 MiB |       3.00 MiB |"));
  assert_non_null(strstr(text, "| reserved from the device       |      20.00 MiB |      20.00 MiB |"));
  assert_non_null(strstr(text, "| cached (reserved, unallocated) |      17.00 MiB |"));
  free(text);
}

static void mem_get_info_counts_segments(void **state) {
  (void)state;
  skip_unless_simulated(); // others may work on a real GPU at the same time
  size_t before;
  size_t after;
  size_t total;
  fy_mem_get_info(fy_cuda_device(0), &before, &total);
  Held held = take(100 * MIB);
  fy_mem_get_info(fy_cuda_device(0), &after, &total);
  assert_true(before - after >= 100 * MIB && before - after < 101 * MIB);
  give(held);
}

// ---- many random steps against a simple model --------------------------------------------------------------------------

enum { HELD = 200, STEPS = 20000 };

static uint32_t random_number(void) {
  static uint32_t x = 12345;
  x = x * 1664525u + 1013904223u;
  return x >> 8;
}

static void no_two_blocks_overlap(void **state) {
  (void)state;
  static Held held[HELD];
  static size_t sizes[HELD];
  size_t total = 0;
  int live = 0;
  for (int step = 0; step < STEPS; step++) {
    int i = (int)(random_number() % HELD);
    if (held[i].block) {
      give(held[i]);
      total -= sizes[i];
      live--;
      held[i].block = NULL;
      continue;
    }
    size_t bytes = 1 + random_number() % ((size_t)1 << (random_number() % 21));
    held[i] = take(bytes);
    sizes[i] = bytes;
    total += bytes;
    live++;
    for (int j = 0; j < HELD; j++)
      if (j != i && held[j].block)
        assert_true(held[i].pointer + bytes <= held[j].pointer || held[j].pointer + sizes[j] <= held[i].pointer);
    assert_int_equal(stats().requested, total);
    assert_int_equal(stats().active_blocks, live);
    assert_true(stats().allocated >= total && stats().allocated <= stats().reserved);
  }
  for (int i = 0; i < HELD; i++)
    give(held[i]);
  assert_int_equal(stats().inactive_split_blocks, 0); // all has merged into whole segments
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_held, nothing_held)
  const struct CMUnitTest tests[] = {
      TEST(requests_round_up_to_512_bytes),
      TEST(segments_have_pytorchs_sizes),
      TEST(nothing_for_no_bytes),
      TEST(small_requests_share_a_segment),
      TEST(a_freed_block_is_taken_again),
      TEST(the_best_fit_wins),
      TEST(equal_fits_go_by_address),
      TEST(neighbors_merge),
      TEST(large_blocks_split_above_a_mebibyte),
      TEST(pools_do_not_mix),
      TEST(empty_cache_returns_whole_segments_only),
      TEST(peaks_stay_until_reset),
      TEST(calls_are_counted),
      TEST(devices_have_memory_of_their_own),
      TEST(streams_have_blocks_of_their_own),
      TEST(the_summary_shows_the_numbers),
      TEST(mem_get_info_counts_segments),
      TEST(no_two_blocks_overlap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
