// SPDX-License-Identifier: MIT
// What the recorder of memory keeps: which events, in which order, with which line; the ring; threads.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy FERRY_SIM_MEMORY_MB=64
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads FERRY_SIM_MEMORY_MB=64
// tsan
#include "expect.h"
#include "ferry.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 4096 };

static FyMemoryEvent events[MOST];

static size_t history(FyDevice device) {
  size_t count = fy_memory_history(device, events, MOST);
  assert_true(count <= MOST);
  return count;
}

static void expect_event(size_t i, FyMemoryAction action, size_t size) {
  if (events[i].action != action || events[i].size != size)
    fail_msg("event %zu is %s of %zu bytes, not %s of %zu", i, fy_memory_action_name(events[i].action), events[i].size,
             fy_memory_action_name(action), size);
}

static int nothing_recorded(void **state) {
  (void)state;
  fy_record_memory_history(false);
  fy_synchronize(fy_cuda_device(0));
  fy_empty_cache();
  return fy_memory_reserved(fy_cuda_device(0)) != 0 || history(fy_cuda_device(0)) != 0 || history(FY_CPU_DEVICE) != 0;
}

static void off_nothing_is_kept(void **state) {
  (void)state;
  fy_scope {
    fy_empty(fy_shape(1000), .device = fy_cuda_device(0));
    fy_empty(fy_shape(1000));
  }
  assert_int_equal(history(fy_cuda_device(0)), 0);
  assert_int_equal(history(FY_CPU_DEVICE), 0);
}

static void a_tensors_life_on_a_device(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  int line, drop_line;
  fy_record_memory_history(true);
  fy_scope {
    line = __LINE__ + 1;
    FyTensor *x = fy_empty(fy_shape(1000, 3), .device = device);
    drop_line = __LINE__ + 1;
    fy_drop(x);
  }
  fy_empty_cache();
  assert_int_equal(history(device), 5);
  expect_event(0, FY_MEMORY_SEGMENT_ALLOC, 2 * MIB);
  expect_event(1, FY_MEMORY_ALLOC, 12000);
  expect_event(2, FY_MEMORY_FREE_REQUESTED, 12000);
  expect_event(3, FY_MEMORY_FREE_COMPLETED, 12000);
  expect_event(4, FY_MEMORY_SEGMENT_FREE, 2 * MIB);
  assert_int_equal(events[1].line, line);
  assert_string_equal(events[1].file, __FILE__);
  assert_int_equal(events[2].line, drop_line);
  assert_int_equal(events[1].allocated, 12288); // rounded
  assert_int_equal(events[2].allocated, 0);
  assert_true(events[0].address == events[4].address && events[1].address == events[3].address);
  assert_true(events[1].address == events[0].address && events[0].address != 0);
  for (int i = 1; i < 5; i++)
    assert_true(events[i].time_us >= events[i - 1].time_us);
}

static void a_tensors_life_on_the_cpu(void **state) {
  (void)state;
  fy_record_memory_history(true);
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  fy_scope {
    fy_empty(fy_shape(700001));
  }
  fy_empty_cache();
  assert_int_equal(history(FY_CPU_DEVICE), 5);
  expect_event(0, FY_MEMORY_SEGMENT_ALLOC, events[0].size);
  expect_event(1, FY_MEMORY_ALLOC, 700001 * 4);
  expect_event(2, FY_MEMORY_FREE_REQUESTED, 700001 * 4);
  expect_event(3, FY_MEMORY_FREE_COMPLETED, 700001 * 4);
  expect_event(4, FY_MEMORY_SEGMENT_FREE, events[0].size);
  assert_true(events[0].size >= 700001 * 4);
  assert_int_equal(events[1].allocated, before + events[0].size);
  assert_int_equal(events[2].allocated, before);
  assert_int_equal(history(fy_cuda_device(0)), 0);
}

// Freed at once, but not free before the other stream has passed.
static void another_stream_keeps_a_block(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  FyMemoryBlock blocks[4];
  fy_record_memory_history(true);
  fy_scope {
    FyStream *side = fy_stream_new(device, 0);
    FyTensor *x = fy_zeros(fy_shape(500, 500), .device = device);
    fy_record_stream(x, side);
    fy_drop(x);
    size_t count = history(device);
    expect_event(count - 1, FY_MEMORY_FREE_REQUESTED, 1000000);
    assert_int_equal(fy_memory_blocks(device, blocks, 4), 2);
    assert_int_equal(blocks[0].state, FY_MEMORY_ACTIVE_PENDING_FREE);
    assert_int_equal(blocks[0].requested, 1000000);
    FyMemoryStats stats = fy_memory_stats(device);
    assert_int_equal(stats.allocated, 0);
    assert_int_equal(stats.active, blocks[0].size);
    fy_stream_synchronize(side);
    fy_empty_cache(); // looks at the streams
    history(device);
    expect_event(count, FY_MEMORY_FREE_COMPLETED, 1000000);
    assert_int_equal(fy_memory_stats(device).active, 0);
  }
}

static void out_of_memory_is_an_event(void **state) {
  (void)state;
  skip_unless_simulated();
  FyDevice device = fy_cuda_device(0);
  FyError error;
  fy_record_memory_history(true);
  fy_trap(error) {
    fy_empty(fy_shape(100, MIB), .device = device);
  }
  assert_int_equal(error.kind, FY_OUT_OF_MEMORY_ERROR);
  assert_int_equal(history(device), 1);
  expect_event(0, FY_MEMORY_OOM, 400 * MIB);
  assert_int_equal(events[0].device_free, 64 * MIB);
  assert_int_equal(events[0].line, error.line);
  fy_trap(error) {
    fy_empty(fy_shape((int64_t)1 << 45));
  }
  assert_int_equal(error.kind, FY_OUT_OF_MEMORY_ERROR);
  size_t count = history(FY_CPU_DEVICE);
  assert_true(count >= 1);
  expect_event(count - 1, FY_MEMORY_OOM, (size_t)1 << 47);
}

static void the_share_of_a_process_can_be_limited(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  size_t unused, total;
  fy_mem_get_info(device, &unused, &total);
  fy_set_per_process_memory_fraction(25.0 * (double)MIB / (double)total, device);
  fy_scope {
    fy_empty(fy_shape(5, MIB), .device = device);
    expect_error(FY_OUT_OF_MEMORY_ERROR, "is free. 25.00 MiB allowed; This process has 20.00 MiB reserved",
                 fy_empty(fy_shape(3, MIB), .device = device));
  }
  fy_scope {
    fy_empty(fy_shape(6, MIB), .device = device); // the cache is given up for it
  }
  fy_set_per_process_memory_fraction(1, device);
  fy_scope {
    fy_empty(fy_shape(10, MIB), .device = device);
  }
  expect_error(FY_VALUE_ERROR, "Invalid fraction value: 1.5. Allowed range: 0~1",
               fy_set_per_process_memory_fraction(1.5, device));
  expect_error(FY_VALUE_ERROR, "nan. Allowed range", fy_set_per_process_memory_fraction(NAN, device));
  expect_error(FY_VALUE_ERROR, "not that of cpu", fy_set_per_process_memory_fraction(0.5, FY_CPU_DEVICE));
}

static void allocate_sizes(int first, int last) {
  for (int i = first; i <= last; i++)
    fy_scope {
      fy_empty(fy_shape(i), .dtype = FY_UINT8, .device = fy_cuda_device(0));
    }
}

static void the_newest_events_stay(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  allocate_sizes(1, 1); // the segment
  fy_record_memory_history(true, .max_entries = 7);
  allocate_sizes(1, 100);
  assert_int_equal(history(device), 7);
  expect_event(0, FY_MEMORY_FREE_COMPLETED, 98);
  expect_event(1, FY_MEMORY_ALLOC, 99);
  expect_event(6, FY_MEMORY_FREE_COMPLETED, 100);
  FyMemoryEvent last[2];
  assert_int_equal(fy_memory_history(device, last, 2), 7);
  assert_int_equal(last[0].action, FY_MEMORY_FREE_REQUESTED);
  assert_int_equal(last[1].action, FY_MEMORY_FREE_COMPLETED);
  fy_record_memory_history(true, .max_entries = 10); // room for more: the old ones stay
  allocate_sizes(101, 101);
  assert_int_equal(history(device), 10);
  expect_event(0, FY_MEMORY_FREE_COMPLETED, 98);
  expect_event(9, FY_MEMORY_FREE_COMPLETED, 101);
  fy_record_memory_history(true, .max_entries = 2);
  assert_int_equal(history(device), 2);
  expect_event(0, FY_MEMORY_FREE_REQUESTED, 101);
  allocate_sizes(102, 102);
  assert_int_equal(history(device), 2);
  expect_event(1, FY_MEMORY_FREE_COMPLETED, 102);
  fy_record_memory_history(true, .clear_history = true);
  assert_int_equal(history(device), 0);
  allocate_sizes(1, 1000);
  assert_int_equal(history(device), 3000);
  expect_event(2999, FY_MEMORY_FREE_COMPLETED, 1000);
}

// An error raised between: what it closes is in the history, and recording goes on.
static void a_trap_is_no_end(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  FyError error;
  fy_record_memory_history(true);
  fy_trap(error) {
    fy_scope {
      FyTensor *x = fy_empty(fy_shape(3, 5), .device = device);
      fy_matmul(x, x);
    }
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  size_t count = history(device);
  expect_event(count - 1, FY_MEMORY_FREE_COMPLETED, 60);
  assert_int_equal(events[count - 1].allocated, 0);
  allocate_sizes(77, 77);
  assert_int_equal(history(device), count + 3);
}

static void backward_has_the_line_of_its_call(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  fy_scope {
    FyTensor *w = fy_ones(fy_shape(33, 17), .device = device, .requires_grad = true);
    FyTensor *loss = fy_sum(fy_mul(w, w));
    fy_record_memory_history(true);
    int line = __LINE__ + 1;
    fy_backward(loss);
    size_t count = history(device), allocs = 0;
    for (size_t i = 0; i < count; i++)
      if (events[i].action == FY_MEMORY_ALLOC) {
        allocs++;
        assert_int_equal(events[i].line, line);
      }
    assert_true(allocs > 0);
  }
}

// ---- blocks ------------------------------------------------------------------------------------------------------------

static void blocks_show_who_asked(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  FyMemoryBlock b[8];
  fy_scope {
    int line = __LINE__ + 1;
    FyTensor *first = fy_empty(fy_shape(100), .device = device);
    FyTensor *second = fy_empty(fy_shape(301), .device = device);
    int large_line = __LINE__ + 1;
    FyTensor *large = fy_empty(fy_shape(3, MIB), .device = device);
    fy_drop(first);
    assert_int_equal(fy_memory_blocks(device, b, 8), 4);
    int s = b[0].small ? 0 : 1, l = b[0].small ? 3 : 0;
    assert_int_equal(b[s].state, FY_MEMORY_INACTIVE);
    assert_int_equal(b[s].size, 512);
    assert_null(b[s].file);
    assert_int_equal(b[s].segment_line, line);
    assert_int_equal(b[s + 1].state, FY_MEMORY_ACTIVE_ALLOCATED);
    assert_int_equal(b[s + 1].line, line + 1);
    assert_int_equal(b[s + 1].requested, 1204);
    assert_int_equal(b[s + 1].size, 1536);
    assert_true(b[s + 1].address == (uintptr_t)fy_data_ptr(second));
    assert_int_equal(b[s + 2].size, 2 * MIB - 2048);
    assert_true(b[s].segment == b[s + 2].segment && b[l].segment != b[s].segment);
    assert_int_equal(b[l].size, 12 * MIB);
    assert_int_equal(b[l].segment_line, large_line);
    assert_true(b[l].address == (uintptr_t)fy_data_ptr(large));
    FyMemoryStats stats = fy_memory_stats(device);
    assert_int_equal(stats.inactive_split, 512 + 2 * MIB - 2048);
    assert_int_equal(fy_memory_blocks(device, NULL, 0), 4);
    assert_int_equal(fy_memory_blocks(device, b, 1), 4);
  }
  assert_int_equal(fy_memory_stats(device).inactive_split, 0);
  assert_int_equal(fy_memory_blocks(device, b, 8), 2); // merged, and still reserved
  fy_empty_cache();
  assert_int_equal(fy_memory_blocks(device, b, 8), 0);
}

static void the_cpus_blocks_too(void **state) {
  (void)state;
  static FyMemoryBlock b[MOST];
  fy_scope {
    int line = __LINE__ + 1;
    FyTensor *x = fy_empty(fy_shape(700001));
    size_t count = fy_memory_blocks(FY_CPU_DEVICE, b, MOST), found = 0;
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++)
      if (b[i].address == (uintptr_t)fy_data_ptr(x)) {
        found++;
        assert_int_equal(b[i].requested, 700001 * 4);
        assert_int_equal(b[i].line, line);
        assert_int_equal(b[i].state, FY_MEMORY_ACTIVE_ALLOCATED);
      }
    assert_int_equal(found, 1);
    fy_drop(x);
    assert_int_equal(fy_memory_blocks(FY_CPU_DEVICE, b, MOST), count);
    fy_empty_cache();
    assert_true(fy_memory_blocks(FY_CPU_DEVICE, b, MOST) < count);
  }
}

// ---- statistics --------------------------------------------------------------------------------------------------------

static void counts_begin_again(FyDevice device) {
  fy_scope {
    FyTensor *x = fy_empty(fy_shape(5000), .device = device);
    FyMemoryStats before = fy_memory_stats(device);
    assert_true(before.allocations > 0);
    fy_reset_accumulated_memory_stats(device);
    FyMemoryStats s = fy_memory_stats(device);
    assert_int_equal(s.allocations, 0);
    assert_int_equal(s.frees, 0);
    assert_int_equal(s.device_mallocs, 0);
    assert_int_equal(s.active_blocks, before.active_blocks);
    assert_int_equal(s.segments, before.segments);
    assert_int_equal(s.requested, before.requested);
    fy_drop(x);
    assert_int_equal(fy_memory_stats(device).frees, 1);
    assert_int_equal(fy_memory_stats(device).active_blocks, before.active_blocks - 1);
  }
}

static void accumulated_counts_can_be_reset(void **state) {
  (void)state;
  counts_begin_again(fy_cuda_device(0));
  counts_begin_again(FY_CPU_DEVICE);
}

static void peaks_are_reset_together(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  fy_scope {
    fy_empty(fy_shape(3001), .device = device);
  }
  fy_reset_peak_memory_stats(device);
  FyMemoryStats s = fy_memory_stats(device);
  assert_int_equal(s.requested_peak, 0);
  assert_int_equal(s.active_peak, 0);
  fy_scope {
    fy_empty(fy_shape(3001), .device = device);
  }
  s = fy_memory_stats(device);
  assert_int_equal(s.requested_peak, 12004);
  assert_int_equal(s.active_peak, 12288);
  assert_int_equal(s.active, 0);
}

// ---- threads -----------------------------------------------------------------------------------------------------------

enum { THREADS = 4, ROUNDS = 200 };

static void *work(void *number) {
  FyDevice device = fy_cuda_device(0);
  for (int i = 0; i < ROUNDS; i++)
    fy_scope {
      fy_empty(fy_shape(1 + i * *(int *)number), .device = i % 2 ? device : FY_CPU_DEVICE);
    }
  return NULL;
}

static void threads_write_one_history(void **state) {
  (void)state;
  static FyMemoryBlock blocks[MOST];
  pthread_t threads[THREADS];
  int numbers[THREADS];
  fy_record_memory_history(true, .max_entries = 3000);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = 1 + 97 * i;
    assert_int_equal(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
  }
  for (int i = 0; i < 20; i++) { // reads while they write
    history(fy_cuda_device(0));
    fy_memory_blocks(FY_CPU_DEVICE, blocks, MOST);
    fy_memory_blocks(fy_cuda_device(0), blocks, MOST);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  size_t count = history(fy_cuda_device(0)), allocs = 0, frees = 0, live = 0;
  for (size_t i = 0; i < count; i++) {
    allocs += events[i].action == FY_MEMORY_ALLOC;
    frees += events[i].action == FY_MEMORY_FREE_COMPLETED;
    live += events[i].action == FY_MEMORY_ALLOC ? (events[i].size + 511) / 512 * 512 : 0;
    live -= events[i].action == FY_MEMORY_FREE_REQUESTED ? (events[i].size + 511) / 512 * 512 : 0;
    if (events[i].action == FY_MEMORY_ALLOC || events[i].action == FY_MEMORY_FREE_REQUESTED)
      assert_int_equal(events[i].allocated, live); // in the order in which it happened
  }
  assert_int_equal(allocs, THREADS * ROUNDS / 2);
  assert_int_equal(frees, allocs);
}

static void *no_call(void *number) {
  void *pointer, *block;
  fy_host_alloc((size_t) * (int *)number, &pointer, &block);
  fy_host_free(block);
  return NULL;
}

static void a_thread_without_a_call_has_no_line(void **state) {
  (void)state;
  pthread_t thread;
  int bytes = 12345;
  fy_record_memory_history(true);
  assert_int_equal(pthread_create(&thread, NULL, no_call, &bytes), 0);
  pthread_join(thread, NULL);
  size_t count = history(FY_CPU_DEVICE), found = 0;
  for (size_t i = 0; i < count; i++)
    if (events[i].action == FY_MEMORY_ALLOC && events[i].size == 12345) {
      found++;
      assert_null(events[i].file);
      assert_int_equal(events[i].line, 0);
    }
  assert_int_equal(found, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_recorded, nothing_recorded)
  const struct CMUnitTest tests[] = {
      TEST(off_nothing_is_kept),          TEST(a_tensors_life_on_a_device), TEST(a_tensors_life_on_the_cpu),
      TEST(another_stream_keeps_a_block), TEST(out_of_memory_is_an_event),  TEST(the_share_of_a_process_can_be_limited),
      TEST(the_newest_events_stay),       TEST(a_trap_is_no_end),           TEST(backward_has_the_line_of_its_call),
      TEST(blocks_show_who_asked),        TEST(the_cpus_blocks_too),        TEST(accumulated_counts_can_be_reset),
      TEST(peaks_are_reset_together),     TEST(threads_write_one_history),  TEST(a_thread_without_a_call_has_no_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
