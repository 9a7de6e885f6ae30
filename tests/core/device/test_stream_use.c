// SPDX-License-Identifier: MIT
// Memory that several streams use: it is free again when the last of them has passed. A gate in the stream, which the test
// opens, makes the waiting visible; it is a host function of the simulator's CUDA.
// run check: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
#include "expect.h"
#include "sim/include/cuda_runtime_api.h"
#include <pthread.h>

enum { BYTES = 12 << 20 };

// ---- the gate --------------------------------------------------------------------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool gate_is_open;

static void wait_at_gate(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  while (!gate_is_open)
    pthread_cond_wait(&moved, &lock);
  pthread_mutex_unlock(&lock);
}

static void close_gate_in(FyStream *stream) {
  gate_is_open = false;
  fy_use_device(fy_stream_device(stream).index); // where a default stream's handle, NULL, is meant
  assert_int_equal(cudaLaunchHostFunc((cudaStream_t)fy_stream_raw(stream), wait_at_gate, NULL), cudaSuccess);
}

static void open_gate(void) {
  pthread_mutex_lock(&lock);
  gate_is_open = true;
  pthread_cond_broadcast(&moved);
  pthread_mutex_unlock(&lock);
}

static int nothing_held(void **state) {
  (void)state;
  fy_empty_cache();
  return fy_memory_reserved(fy_cuda_device(0)) != 0;
}

// ---- device memory ---------------------------------------------------------------------------------------------------

static void *take(void **block) {
  void *pointer;
  fy_cuda_alloc(0, BYTES, &pointer, block);
  return pointer;
}

static void a_block_waits_for_the_stream_that_used_it(void **state) {
  (void)state;
  FyDevice device = fy_cuda_device(0);
  FyStream *side = fy_stream_new(device, 0);
  void *first_block;
  void *second_block;
  void *third_block;
  void *first = take(&first_block);
  close_gate_in(side);
  fy_cuda_record_stream(first_block, 0, fy_stream_raw(side));
  fy_cuda_record_stream(first_block, 0, fy_stream_raw(side)); // counts once
  fy_cuda_free(first_block);
  assert_int_equal(fy_memory_allocated(device), 0); // at once
  assert_int_equal(fy_memory_stats(device).active_blocks, 1);
  void *second = take(&second_block);
  assert_ptr_not_equal(second, first);
  open_gate();
  fy_stream_synchronize(side);
  void *third = take(&third_block);
  assert_ptr_equal(third, first);
  fy_cuda_free(second_block);
  fy_cuda_free(third_block);
  assert_int_equal(fy_memory_stats(device).active_blocks, 0);
}

static void the_owners_stream_needs_no_record(void **state) {
  (void)state;
  FyStream *side = fy_stream_new(fy_cuda_device(0), 0);
  void *block = NULL;
  fy_stream_guard(side) {
    void *first = take(&block);
    close_gate_in(side);
    fy_cuda_record_stream(block, 0, fy_stream_raw(side));
    fy_cuda_free(block);
    assert_ptr_equal(take(&block), first); // the stream's own order is enough
  }
  open_gate();
  fy_stream_synchronize(side);
  fy_cuda_free(block);
}

static void every_stream_must_have_passed(void **state) {
  (void)state;
  FyStream *blocked = fy_stream_new(fy_cuda_device(0), 0);
  FyStream *quick = fy_stream_new(fy_cuda_device(0), 0);
  void *block;
  void *other_block;
  void *first = take(&block);
  close_gate_in(blocked);
  fy_cuda_record_stream(block, 0, fy_stream_raw(quick));
  fy_cuda_record_stream(block, 0, fy_stream_raw(blocked));
  fy_cuda_free(block);
  fy_stream_synchronize(quick);
  assert_ptr_not_equal(take(&other_block), first);
  open_gate();
  fy_stream_synchronize(blocked);
  assert_ptr_equal(take(&block), first);
  fy_cuda_free(block);
  fy_cuda_free(other_block);
}

// The default streams of all devices have one raw handle, and are different streams.
static void a_stream_of_another_device_is_another(void **state) {
  (void)state;
  skip_below_devices(2);
  FyStream *other = fy_default_stream(fy_cuda_device(1));
  void *block;
  void *next_block;
  void *first = take(&block);
  close_gate_in(other);
  fy_cuda_record_stream(block, 1, fy_stream_raw(other));
  fy_cuda_free(block);
  void *next = take(&next_block);
  open_gate();
  assert_ptr_not_equal(next, first);
  fy_stream_synchronize(other);
  assert_ptr_equal(take(&block), first);
  fy_cuda_free(block);
  fy_cuda_free(next_block);
}

static void a_waiting_block_does_not_merge(void **state) {
  (void)state;
  FyStream *side = fy_stream_new(fy_cuda_device(0), 0);
  void *pointer;
  void *a;
  void *b;
  fy_cuda_alloc(0, MIB, &pointer, &a);
  fy_cuda_alloc(0, MIB, &pointer, &b);
  close_gate_in(side);
  fy_cuda_record_stream(a, 0, fy_stream_raw(side));
  fy_cuda_free(a);
  fy_cuda_free(b);
  FyMemoryStats s = fy_memory_stats(fy_cuda_device(0));
  assert_int_equal(s.active_blocks, 1);
  assert_int_equal(s.inactive_split_blocks, 1);
  assert_int_equal(s.requested, MIB);
  open_gate();
  fy_stream_synchronize(side);
  fy_empty_cache();
  assert_int_equal(fy_memory_reserved(fy_cuda_device(0)), 0);
}

// ---- pinned memory ---------------------------------------------------------------------------------------------------

static void a_pinned_block_waits_too(void **state) {
  (void)state;
  FyStream *side = fy_stream_new(fy_cuda_device(0), 0);
  void *first;
  void *second;
  void *third;
  void *block;
  void *other_block;
  fy_pinned_alloc(1000, &first, &block);
  close_gate_in(side);
  fy_pinned_record_stream(block, 0, fy_stream_raw(side));
  fy_pinned_free(block);
  fy_pinned_alloc(1000, &second, &other_block);
  assert_ptr_not_equal(second, first);
  open_gate();
  fy_stream_synchronize(side);
  fy_pinned_alloc(1000, &third, &block);
  assert_ptr_equal(third, first);
  fy_pinned_free(block);
  fy_pinned_free(other_block);
}

// ---- what is asynchronous ----------------------------------------------------------------------------------------------

static void queries_tell_what_is_done(void **state) {
  (void)state;
  FyStream *side = fy_stream_new(fy_cuda_device(0), 0);
  FyEvent *event = fy_event_new(true);
  FyEvent *start = fy_event_new(true);
  fy_event_record(start, side);
  close_gate_in(side);
  fy_event_record(event, side);
  assert_false(fy_stream_query(side));
  assert_false(fy_event_query(event));
  expect_error(FY_RUNTIME_ERROR, "must be completed", fy_event_elapsed_time(start, event));
  open_gate();
  fy_event_synchronize(event);
  assert_true(fy_event_query(event));
  fy_stream_synchronize(side);
  assert_true(fy_stream_query(side));
}

static void a_pinned_copy_returns_before_it_is_done(void **state) {
  (void)state;
  FyStream *side = fy_stream_new(fy_cuda_device(0), 0);
  void *pinned;
  void *pinned_block;
  void *device;
  void *device_block;
  unsigned char back[64] = {0};
  fy_pinned_alloc(sizeof back, &pinned, &pinned_block);
  fy_cuda_alloc(0, sizeof back, &device, &device_block);
  memset(pinned, 1, sizeof back);
  close_gate_in(side);
  int64_t waits = fy_counters().synchronizations;
  fy_stream_guard(side) {
    fy_copy_bytes(device, 0, false, pinned, -1, true, sizeof back, true);
  }
  assert_int_equal(fy_counters().synchronizations, waits);
  memset(pinned, 2, sizeof back); // the mistake: the copy has not read it yet
  open_gate();
  fy_stream_synchronize(side);
  fy_copy_bytes(back, -1, false, device, 0, false, sizeof back, false);
  assert_int_equal(back[0], 2);
  fy_pinned_free(pinned_block);
  fy_cuda_free(device_block);
}

static void a_peer_copy_keeps_both_devices_in_order(void **state) {
  (void)state;
  void *source;
  void *source_block;
  void *target;
  void *target_block;
  unsigned char back[256];
  FyStream *side = fy_stream_new(fy_cuda_device(0), 0);
  fy_cuda_alloc(0, sizeof back, &source, &source_block);
  fy_cuda_alloc(1, sizeof back, &target, &target_block);
  fy_stream_guard(side) {
    close_gate_in(side);
    fy_use_device(0);
    fy_cuda_check(fy_backend()->set(source, 5, sizeof back, fy_raw_stream(0)));
    fy_copy_bytes(target, 1, false, source, 0, false, sizeof back, true);
  }
  assert_false(fy_stream_query(fy_default_stream(fy_cuda_device(1)))); // it waits for the copy
  open_gate();
  fy_copy_bytes(back, -1, false, target, 1, false, sizeof back, false);
  for (size_t i = 0; i < sizeof back; i++)
    assert_int_equal(back[i], 5);
  fy_cuda_free(source_block);
  fy_cuda_free(target_block);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_held, nothing_held)
  const struct CMUnitTest tests[] = {
      TEST(a_block_waits_for_the_stream_that_used_it),
      TEST(the_owners_stream_needs_no_record),
      TEST(every_stream_must_have_passed),
      TEST(a_stream_of_another_device_is_another),
      TEST(a_waiting_block_does_not_merge),
      TEST(a_pinned_block_waits_too),
      TEST(queries_tell_what_is_done),
      TEST(a_pinned_copy_returns_before_it_is_done),
      TEST(a_peer_copy_keeps_both_devices_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
