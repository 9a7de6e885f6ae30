// SPDX-License-Identifier: MIT
// Streams and events: which is current, in what order work runs, what is waited for.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
// tsan
#include "expect.h"
#include <pthread.h>

static FyDevice cuda(int index) {
  return fy_cuda_device(index);
}

// ---- which is current --------------------------------------------------------------------------------------------------

static void the_default_stream_is_current_at_first(void **state) {
  (void)state;
  FyStream *first = fy_default_stream(cuda(0));
  assert_ptr_equal(fy_current_stream(cuda(0)), first);
  assert_ptr_equal(fy_current_stream(cuda(-1)), first);
  assert_null(fy_stream_raw(first));
  assert_null(fy_raw_stream(0));
  assert_true(fy_device_equal(fy_stream_device(first), cuda(0)));
}

static void set_stream_and_back(void **state) {
  (void)state;
  FyStream *stream = fy_stream_new(cuda(0), 0);
  assert_non_null(fy_stream_raw(stream));
  fy_set_stream(stream);
  assert_ptr_equal(fy_current_stream(cuda(0)), stream);
  assert_ptr_equal(fy_raw_stream(0), fy_stream_raw(stream));
  fy_drop(stream); // the thread holds it while it is current
  assert_ptr_equal(fy_current_stream(cuda(0)), stream);
  fy_stream_synchronize(stream);
  fy_set_stream(fy_default_stream(cuda(0)));
  assert_null(fy_raw_stream(0));
}

static void a_stream_guard_changes_the_device_too(void **state) {
  (void)state;
  skip_below_devices(2);
  FyStream *a = fy_stream_new(cuda(0), 0);
  FyStream *b = fy_stream_new(cuda(1), -1);
  fy_stream_guard(a) {
    fy_stream_guard(b) {
      assert_int_equal(fy_cuda_current_device(), 1);
      assert_ptr_equal(fy_current_stream(cuda(1)), b);
      assert_ptr_equal(fy_current_stream(cuda(0)), a);
    }
    assert_int_equal(fy_cuda_current_device(), 0);
    assert_ptr_equal(fy_current_stream(cuda(1)), fy_default_stream(cuda(1)));
    assert_ptr_equal(fy_current_stream(cuda(0)), a);
  }
  assert_ptr_equal(fy_current_stream(cuda(0)), fy_default_stream(cuda(0)));
}

static void an_error_puts_streams_back(void **state) {
  (void)state;
  FyStream *volatile outer = fy_stream_new(cuda(0), 0);
  FyStream *volatile inner = fy_stream_new(cuda(fy_cuda_device_count() - 1), 0);
  fy_stream_guard(outer) {
    expect_error(FY_VALUE_ERROR, "inside", {
      fy_stream_guard(inner) {
        fy_raise(FY_VALUE_ERROR, "inside");
  }
});
assert_ptr_equal(fy_current_stream(cuda(0)), outer);
assert_int_equal(fy_cuda_current_device(), 0);
}
int last = fy_cuda_device_count() - 1;
assert_ptr_equal(fy_current_stream(cuda(last)), fy_default_stream(cuda(last)));
}

static void an_error_forgets_a_stream_that_has_ended(void **state) {
  (void)state;
  FyStream *volatile stream = fy_stream_new(cuda(0), 0);
  fy_set_stream(stream);
  expect_error(FY_VALUE_ERROR, "inside", {
    fy_set_stream(fy_default_stream(cuda(0)));
    fy_drop(stream); // its last reference
    fy_raise(FY_VALUE_ERROR, "inside");
  });
  assert_ptr_equal(fy_current_stream(cuda(0)), fy_default_stream(cuda(0)));
}

static void an_error_puts_back_the_streams_of_every_device(void **state) {
  (void)state;
  skip_below_devices(2);
  FyStream *kept = fy_stream_new(cuda(1), 0);
  fy_set_stream(kept);
  fy_cuda_set_device(0);
  expect_error(FY_VALUE_ERROR, "inside", {
    fy_set_stream(fy_stream_new(cuda(1), 0));
    fy_raise(FY_VALUE_ERROR, "inside");
  });
  assert_int_equal(fy_cuda_current_device(), 0);
  assert_ptr_equal(fy_current_stream(cuda(1)), kept);
  fy_set_stream(fy_default_stream(cuda(1)));
  fy_cuda_set_device(0);
}

typedef struct Seen {
  FyStream *stream;
  int device;
  bool own_is_separate;
} Seen;

static void *look(void *pointer) {
  Seen *seen = pointer;
  seen->stream = fy_current_stream(cuda(0));
  seen->device = fy_cuda_current_device();
  FyStream *own = fy_stream_new(cuda(0), 0);
  fy_set_stream(own);
  seen->own_is_separate = fy_current_stream(cuda(0)) == own;
  return NULL;
}

static void each_thread_has_its_own_current_stream(void **state) {
  (void)state;
  FyStream *stream = fy_stream_new(cuda(0), 0);
  fy_set_stream(stream);
  Seen seen = {0};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, look, &seen), 0);
  pthread_join(thread, NULL);
  assert_ptr_equal(seen.stream, fy_default_stream(cuda(0)));
  assert_int_equal(seen.device, 0);
  assert_true(seen.own_is_separate);
  assert_ptr_equal(fy_current_stream(cuda(0)), stream);
  fy_set_stream(fy_default_stream(cuda(0)));
}

static void priorities_are_checked(void **state) {
  (void)state;
  expect_error(FY_VALUE_ERROR, "got 1", fy_stream_new(cuda(0), 1));
  expect_error(FY_VALUE_ERROR, "got -2", fy_stream_new(cuda(0), -2));
  expect_error(FY_VALUE_ERROR, "NULL", fy_set_stream(NULL));
}

static void the_cpu_has_a_stream_that_never_waits(void **state) {
  (void)state;
  FyStream *stream = fy_current_stream(FY_CPU_DEVICE);
  assert_ptr_equal(stream, fy_default_stream(FY_CPU_DEVICE));
  fy_set_stream(stream);
  fy_stream_synchronize(stream);
  assert_true(fy_stream_query(stream));
  assert_true(fy_device_equal(fy_stream_device(stream), FY_CPU_DEVICE));
  FyStream *own = fy_stream_new(FY_CPU_DEVICE, 0);
  fy_stream_wait_stream(own, stream);
  fy_stream_guard(own) {
    assert_int_equal(fy_cuda_current_device(), 0);
  }
  FyEvent *start = fy_event_new(true);
  FyEvent *end = fy_event_new(true);
  fy_event_record(start, stream);
  fy_event_record(end, stream);
  fy_event_synchronize(end);
  assert_true(fy_event_elapsed_time(start, end) >= 0);
}

// ---- the order of work -------------------------------------------------------------------------------------------------

enum { BYTES = 1 << 20 };

typedef struct Buffer {
  void *pointer, *block;
} Buffer;

static Buffer device_buffer(void) {
  Buffer b;
  fy_cuda_alloc(0, BYTES, &b.pointer, &b.block);
  return b;
}

static void fill(Buffer b, int byte, FyStream *stream) {
  fy_use_device(0);
  fy_cuda_check(fy_backend()->set(b.pointer, byte, BYTES, fy_stream_raw(stream)));
}

static void copy(Buffer to, Buffer from, FyStream *stream) {
  fy_stream_guard(stream) {
    fy_copy_bytes(to.pointer, 0, false, from.pointer, 0, false, BYTES, true);
  }
}

static void expect_bytes(Buffer b, int byte) {
  static unsigned char host[BYTES];
  fy_copy_bytes(host, -1, false, b.pointer, 0, false, BYTES, false);
  for (int i = 0; i < BYTES; i += 997)
    assert_int_equal(host[i], byte);
  assert_int_equal(host[BYTES - 1], byte);
}

static void a_stream_waits_for_another(void **state) {
  (void)state;
  FyStream *writer = fy_stream_new(cuda(0), 0);
  FyStream *reader = fy_stream_new(cuda(0), 0);
  Buffer a = device_buffer();
  Buffer b = device_buffer();
  for (int i = 1; i <= 20; i++) {
    fill(a, i, writer);
    fy_stream_wait_stream(reader, writer);
    copy(b, a, reader);
    fy_stream_wait_stream(writer, reader); // the next fill must not overtake the copy
    fy_stream_wait_stream(fy_default_stream(cuda(0)), reader);
    expect_bytes(b, i);
  }
  fy_synchronize(cuda(0));
  fy_cuda_free(a.block);
  fy_cuda_free(b.block);
}

static void an_event_orders_and_measures(void **state) {
  (void)state;
  FyStream *side = fy_stream_new(cuda(0), 0);
  FyEvent *start = fy_event_new(true);
  FyEvent *end = fy_event_new(true);
  Buffer a = device_buffer();
  assert_true(fy_event_query(start)); // never recorded
  fy_event_synchronize(start);
  fy_event_wait(start, side);
  fy_event_record(start, side);
  fill(a, 7, side);
  fy_event_record(end, side);
  fy_event_wait(end, NULL); // the current stream, which reads `a` next
  expect_bytes(a, 7);
  fy_event_synchronize(end);
  assert_true(fy_event_query(end));
  double milliseconds = fy_event_elapsed_time(start, end);
  assert_true(milliseconds >= 0 && milliseconds < 60e3);
  fy_cuda_free(a.block);
}

static void times_need_two_timed_events(void **state) {
  (void)state;
  FyEvent *timed = fy_event_new(true);
  FyEvent *untimed = fy_event_new(false);
  FyEvent *unrecorded = fy_event_new(true);
  fy_event_record(timed, NULL);
  fy_event_record(untimed, NULL);
  fy_synchronize(cuda(0));
  expect_error(FY_VALUE_ERROR, "enable_timing", fy_event_elapsed_time(timed, untimed));
  expect_error(FY_VALUE_ERROR, "must be recorded", fy_event_elapsed_time(timed, unrecorded));
}

static void an_event_stays_on_its_device(void **state) {
  (void)state;
  skip_below_devices(2);
  FyEvent *event = fy_event_new(false);
  fy_event_record(event, fy_default_stream(cuda(0)));
  expect_error(FY_RUNTIME_ERROR, "Event device cuda:0 does not match recording stream's device cuda:1",
               fy_event_record(event, fy_default_stream(cuda(1))));
  fy_event_wait(event, fy_default_stream(cuda(1))); // waiting across devices is allowed
  fy_synchronize(cuda(1));
}

static void *blas_handle(int device) {
  void *handle = NULL;
  fy_use_device(device);
  assert_int_equal(fy_raw_blas(device, fy_raw_stream(device), &handle), 0);
  assert_non_null(handle);
  return handle;
}

static void streams_and_handles_are_reused(void **state) {
  (void)state;
  FyStream *first = fy_stream_new(cuda(0), 0);
  void *raw = fy_stream_raw(first);
  fy_drop(first);
  FyStream *second = fy_stream_new(cuda(0), 0);
  assert_ptr_equal(fy_stream_raw(second), raw);
  void *blas = blas_handle(0);
  fy_stream_guard(second) {
    assert_ptr_equal(blas_handle(0), blas);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_default_stream_is_current_at_first),
      cmocka_unit_test(set_stream_and_back),
      cmocka_unit_test(a_stream_guard_changes_the_device_too),
      cmocka_unit_test(an_error_puts_streams_back),
      cmocka_unit_test(an_error_forgets_a_stream_that_has_ended),
      cmocka_unit_test(an_error_puts_back_the_streams_of_every_device),
      cmocka_unit_test(each_thread_has_its_own_current_stream),
      cmocka_unit_test(priorities_are_checked),
      cmocka_unit_test(the_cpu_has_a_stream_that_never_waits),
      cmocka_unit_test(a_stream_waits_for_another),
      cmocka_unit_test(an_event_orders_and_measures),
      cmocka_unit_test(times_need_two_timed_events),
      cmocka_unit_test(an_event_stays_on_its_device),
      cmocka_unit_test(streams_and_handles_are_reused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
