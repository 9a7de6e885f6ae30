// SPDX-License-Identifier: MIT
// CUDA graphs: what a replay computes, what may not be captured and leaves everything usable, random numbers, streams.
//
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=sync
// tsan
#include "device/capture.h"
#include "expect.h"
#include "ferry.h"
#include <pthread.h>

#define ALONE "operation not permitted when stream is capturing"

static FyDevice device;

// The same place for inputs and outputs of all replays.
static FyTensor *on_device(FySize shape) {
  return fy_zeros(shape, .device = device);
}

static float at(FyTensor *t, int64_t i) {
  return (float)fy_item(fy_select(fy_reshape(t, fy_shape(-1)), 0, i));
}

static int in_order(void **state) {
  (void)state;
  return fy_thread_is_capturing() || fy_cuda_is_current_stream_capturing();
}

// ---- replays ---------------------------------------------------------------------------------------------------------

static void a_capture_runs_nothing_and_a_replay_all_of_it(void **state) {
  (void)state;
  FyTensor *x = on_device(fy_shape(4)), *y = on_device(fy_shape(4));
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_fill_(x, 1);
  fy_cuda_graph_capture(graph) {
    assert_true(fy_cuda_is_current_stream_capturing());
    fy_copy_(y, fy_mul_scalar(fy_add_scalar(x, 1), 10));
  }
  assert_false(fy_cuda_is_current_stream_capturing());
  assert_int_equal(fy_cuda_graph_node_count(graph), 3);
  assert_true(at(y, 3) == 0);
  for (int i = 0; i < 5; i++) {
    fy_fill_(x, i);
    fy_cuda_graph_replay(graph);
    assert_true(at(y, 0) == 10 * (float)(i + 1));
    assert_true(at(y, 3) == 10 * (float)(i + 1));
  }
}

static void a_replay_is_one_launch(void **state) {
  (void)state;
  FyTensor *x = on_device(fy_shape(64)), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyCounters before = fy_counters();
  fy_cuda_graph_capture(graph) {
    y = x;
    for (int i = 0; i < 20; i++)
      y = fy_add_scalar(y, 1);
  }
  FyCounters captured = fy_counters();
  assert_int_equal(captured.launches, before.launches);
  assert_int_equal(captured.ops, before.ops);
  for (int i = 0; i < 3; i++)
    fy_cuda_graph_replay(graph);
  FyCounters after = fy_counters();
  assert_int_equal(after.launches, before.launches);
  assert_int_equal(after.graph_launches - before.graph_launches, 3);
  assert_int_equal(after.graph_nodes - before.graph_nodes, 60);
  assert_true(at(y, 5) == 20);
}

static void replays_on_the_default_stream_and_on_another(void **state) {
  (void)state;
  FyTensor *x = on_device(fy_shape(1));
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyStream *side = fy_stream_new(device, 0);
  fy_cuda_graph_capture(graph) fy_add_(x, fy_number(1));
  fy_cuda_graph_replay(graph);
  fy_stream_wait_stream(side, fy_current_stream(device));
  fy_stream_guard(side)
    fy_cuda_graph_replay(graph);
  fy_stream_wait_stream(fy_current_stream(device), side);
  fy_cuda_graph_replay(graph);
  assert_true(at(x, 0) == 3);
}

static void streams_that_join_and_are_joined(void **state) {
  (void)state;
  FyTensor *x = on_device(fy_shape(8)), *left = NULL, *right = NULL, *sum = NULL;
  FyStream *side = fy_stream_new(device, 0);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    FyStream *main = fy_current_stream(device);
    fy_stream_wait_stream(side, main);
    left = fy_add_scalar(x, 1);
    fy_stream_guard(side)
      right = fy_mul_scalar(x, 3);
    fy_record_stream(right, main);
    fy_stream_wait_stream(main, side);
    sum = fy_add(left, right);
  }
  for (int i = 0; i < 4; i++) {
    fy_fill_(x, i);
    fy_cuda_graph_replay(graph);
    assert_true(at(sum, 7) == (float)(4 * i + 1));
  }
}

static void pinned_memory_is_read_and_written_when_the_replay_runs(void **state) {
  (void)state;
  FyTensor *from = fy_pin_memory(fy_zeros(fy_shape(2))), *to = fy_pin_memory(fy_zeros(fy_shape(2)));
  FyTensor *x = on_device(fy_shape(2));
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    fy_copy_async_(x, from);
    fy_copy_async_(to, fy_mul_scalar(x, 2));
  }
  for (int i = 1; i < 4; i++) {
    fy_fill_(from, i);
    fy_cuda_graph_replay(graph);
    fy_synchronize(device);
    assert_true(at(to, 1) == (float)(2 * i));
  }
}

// ---- random numbers --------------------------------------------------------------------------------------------------

static void draw(FyTensor *x, FyTensor *out) {
  fy_copy_(out, fy_dropout(x, 0.5, true));
  fy_normal_(fy_select(out, 0, 0), 0, 1);
  fy_uniform_(fy_select(out, 0, 1), 0, 1);
}

static void random_numbers_are_those_that_the_block_would_draw(void **state) {
  (void)state;
  enum { N = 301, ROUNDS = 6 };
  static float eager[ROUNDS][4 * N], replayed[ROUNDS][4 * N];
  FyTensor *x = fy_ones(fy_shape(4, N), .device = device), *out = on_device(fy_shape(4, N));
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_manual_seed(7);
  for (int i = 0; i < ROUNDS; i++) {
    draw(x, out);
    fy_copy_to_host(out, eager[i]);
  }
  FyRngState then = fy_get_rng_state();
  fy_manual_seed(7);
  fy_cuda_graph_capture(graph) draw(x, out);
  for (int i = 0; i < ROUNDS; i++) {
    if (i == 3) // eager calls between replays take their part of the numbers
      draw(x, out);
    else
      fy_cuda_graph_replay(graph);
    fy_copy_to_host(out, replayed[i]);
  }
  assert_memory_equal(eager, replayed, sizeof eager);
  FyRngState now = fy_get_rng_state();
  assert_true(now.seed == then.seed && now.offset == then.offset);
  assert_memory_not_equal(eager[0], eager[1], sizeof eager[0]);
}

static void dropout_captured_forward_and_run_backward_later(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(1000), .device = device, .requires_grad = true), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) y = fy_dropout(x, 0.3, true);
  fy_cuda_graph_replay(graph);
  fy_cuda_graph_reset(graph); // what backward needs stays
  graph = NULL;
  fy_empty_cache();
  fy_zeros(fy_shape(1 << 18), .device = device);
  fy_backward(y, .gradient = fy_ones(fy_shape(1000), .device = device));
  assert_true(fy_equal(fy_grad(x), fy_detach(y)));
}

// ---- what may not be captured ----------------------------------------------------------------------------------------

// After each refusal: a capture and a replay as ever, on clean streams.
static void check_usable(FyCudaGraph *graph) {
  assert_false(fy_cuda_is_current_stream_capturing());
  assert_ptr_equal(fy_current_stream(device), fy_default_stream(device));
  expect_error(FY_RUNTIME_ERROR, "Called CUDAGraph::replay without a preceding successful capture.",
               fy_cuda_graph_replay(graph));
  FyTensor *x = fy_ones(fy_shape(3), .device = device), *y = NULL;
  fy_cuda_graph_capture(graph) y = fy_add_scalar(x, 1);
  fy_fill_(x, 4);
  fy_cuda_graph_replay(graph);
  assert_true(at(y, 2) == 5);
  fy_cuda_graph_reset(graph);
  fy_synchronize(device);
}

#define refused(text, ...)                                                                                             \
  do {                                                                                                                 \
    FyCudaGraph *graph_ = fy_cuda_graph_new();                                                                         \
    expect_error(FY_RUNTIME_ERROR, text, fy_cuda_graph_capture(graph_){__VA_ARGS__});                                  \
    check_usable(graph_);                                                                                              \
  } while (0)

static void waiting_is_refused(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3), .device = device);
  float host[3];
  refused(ALONE, fy_item(fy_sum(x)););
  refused(ALONE, fy_synchronize(device););
  refused(ALONE, fy_stream_synchronize(fy_current_stream(device)););
  refused(ALONE, fy_stream_query(fy_current_stream(device)););
  refused(ALONE, fy_copy_to_host(x, host););
  refused(ALONE, fy_scope fy_scope fy_item(fy_sum(fy_mul_scalar(x, 2))););
}

static void copies_of_ordinary_memory_are_refused(void **state) {
  (void)state;
#define PINNED "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned."
  FyTensor *x = fy_ones(fy_shape(3), .device = device), *host = fy_ones(fy_shape(3));
  FyTensor *pinned = fy_pin_memory(host);
  refused(PINNED, fy_to(host, device););
  refused(PINNED, fy_to(host, device, .non_blocking = true););
  refused(PINNED, fy_copy_(x, host););
  refused(PINNED, fy_equal(x, x););
  refused(PINNED, fy_copy_async_(host, x););
  refused(ALONE, fy_copy_(x, pinned);); // it waits
}

static void events_that_are_asked_are_refused(void **state) {
  (void)state;
  FyEvent *inside = fy_event_new(false), *before = fy_event_new(false);
  fy_event_record(before, NULL);
#define CAPTURED "operation not permitted on an event last recorded in a capturing stream"
  refused(CAPTURED, fy_event_record(inside, NULL); fy_event_query(inside););
  refused(CAPTURED, fy_event_record(inside, NULL); fy_event_synchronize(inside););
  refused(ALONE, fy_event_query(before););
  refused("dependency created on uncaptured work in another stream", fy_event_wait(before, NULL););
}

static void streams_that_are_not_joined_are_refused(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3), .device = device);
  FyStream *side = fy_stream_new(device, 0);
  refused("capturing stream has unjoined work", fy_stream_wait_stream(side, fy_current_stream(device));
          fy_stream_guard(side) fy_add_scalar(x, 1););
  refused("dependency created on uncaptured work",
          fy_stream_wait_stream(fy_current_stream(device), fy_default_stream(device)););
  refused("Capture must end on the same stream it began on.", fy_set_stream(side););
}

static void the_default_stream_cannot_be_captured(void **state) {
  (void)state;
  FyCudaGraph *graph = fy_cuda_graph_new();
  expect_error(FY_RUNTIME_ERROR,
               "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
               "on the default stream.)",
               fy_cuda_graph_capture(graph, .stream = fy_default_stream(device)){});
  check_usable(graph);
}

static void the_generator_cannot_be_set(void **state) {
  (void)state;
  refused("Cannot call CUDAGeneratorImpl::set_current_seed during CUDA graph capture.", fy_manual_seed(3););
  refused("Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture.", fy_get_rng_state(););
}

static void an_error_of_the_users_own_ends_the_capture(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3), .device = device);
  refused("own", fy_add_scalar(x, 1); fy_raise(FY_RUNTIME_ERROR, "own"););
  refused("The size of tensor a (3) must match", fy_add(x, fy_ones(fy_shape(4), .device = device)););
}

static void an_error_that_is_trapped_inside_still_spoils_the_capture(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(3), .device = device);
  FyError error;
  refused("operation failed due to a previous error during capture", fy_trap(error) fy_synchronize(device););
  assert_true(strstr(error.message, ALONE) != NULL);
  refused("operation failed due to a previous error during capture", fy_trap(error) fy_synchronize(device);
          fy_add_scalar(x, 1););
}

static void captures_and_replays_in_captures(void **state) {
  (void)state;
  FyTensor *x = on_device(fy_shape(3));
  FyCudaGraph *graph = fy_cuda_graph_new(), *other = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) fy_add_(x, fy_number(1));
  expect_error(FY_RUNTIME_ERROR, "This CUDAGraph instance already owns a captured graph.",
               fy_cuda_graph_capture(graph){});
  expect_error(
      FY_RUNTIME_ERROR, "Cannot prepare for replay during capturing stage.",
      fy_cuda_graph_capture(other) { fy_cuda_graph_replay(graph); });
  check_usable(other);
  fy_cuda_graph_replay(graph);
  assert_true(at(x, 1) == 1);
  expect_error(FY_TYPE_ERROR, "the graph is NULL", fy_cuda_graph_capture(NULL){});
  expect_error(FY_TYPE_ERROR, "the graph is NULL", fy_cuda_graph_replay(NULL));
  expect_error(FY_RUNTIME_ERROR, "Called CUDAGraph::pool() without", fy_cuda_graph_pool(other));
}

// ---- two devices, threads ----------------------------------------------------------------------------------------------

static void a_graph_over_two_devices(void **state) {
  (void)state;
  skip_below_devices(2);
  FyDevice second = fy_cuda_device(1);
  FyTensor *x = on_device(fy_shape(5)), *y = NULL, *z = NULL;
  FyStream *there = fy_stream_new(second, 0);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_to(x, second); // peer access is switched on by the first copy
  fy_cuda_graph_capture(graph) {
    FyStream *here = fy_current_stream(device);
    fy_stream_wait_stream(there, here);
    fy_stream_guard(there) {
      fy_cuda_set_device(0);
      y = fy_to(x, second);
      y = fy_add_scalar(y, 5);
      z = fy_to(y, device);
    }
    fy_stream_wait_stream(here, there);
  }
  for (int i = 0; i < 3; i++) {
    fy_fill_(x, i);
    fy_cuda_graph_replay(graph);
    assert_true(at(z, 4) == (float)(i + 5));
  }
}

static void the_other_device_is_captured_on_its_own(void **state) {
  (void)state;
  skip_below_devices(2);
  FyDevice second = fy_cuda_device(1);
  FyTensor *x = fy_zeros(fy_shape(3), .device = second), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_device_guard(1) {
    fy_cuda_graph_capture(graph) y = fy_add_scalar(x, 1);
  }
  assert_int_equal(fy_cuda_current_device(), 0);
  fy_cuda_graph_replay(graph);
  assert_int_equal(fy_cuda_current_device(), 0);
  assert_true(at(y, 2) == 1);
}

enum { THREADS = 4, REPLAYS = 20 };

static void *capture_and_replay(void *argument) {
  const int index = *(const int *)argument;
  FyStream *own = fy_stream_new(device, 0);
  bool good = true;
  for (int round = 0; round < 5; round++)
    fy_scope
      fy_stream_guard(own) {
        FyTensor *x = fy_full(index, fy_shape(100), .device = device), *y = NULL;
        FyCudaGraph *graph = fy_cuda_graph_new();
        fy_cuda_graph_capture(graph, .stream = own, .error_mode = FY_CAPTURE_ERRORS_THREAD_LOCAL) {
          y = fy_mul_scalar(fy_add_scalar(x, 1), 2);
          fy_copy_(x, y);
        }
        float want = (float)index;
        for (int i = 0; i < REPLAYS; i++) {
          fy_cuda_graph_replay(graph);
          want = (want + 1) * 2;
        }
        good = good && at(x, 99) == want;
      }
  return good ? argument : NULL;
}

static void threads_capture_beside_each_other(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  int index[THREADS];
  for (int i = 0; i < THREADS; i++) {
    index[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, capture_and_replay, &index[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *result;
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, &index[i]);
  }
}

static void *allocate_large(void *text) {
  FyError error;
  fy_trap(error)
    fy_empty(fy_shape(40 << 20), .device = device);
  strcpy(text, error.message);
  return NULL;
}

// cudaMalloc of another thread: an error in the global mode only.
static void another_thread_that_needs_memory(void **state) {
  (void)state;
  FyTensor *x = on_device(fy_shape(3));
  for (int mode = FY_CAPTURE_ERRORS_GLOBAL; mode <= FY_CAPTURE_ERRORS_RELAXED; mode++) {
    char text[1536];
    FyError error;
    FyCudaGraph *graph = fy_cuda_graph_new();
    fy_trap(error) {
      fy_cuda_graph_capture(graph, .error_mode = (FyCaptureErrors)mode) {
        pthread_t thread;
        fy_add_scalar(x, 1);
        pthread_create(&thread, NULL, allocate_large, text);
        pthread_join(thread, NULL);
      }
    }
    if (mode == FY_CAPTURE_ERRORS_GLOBAL) {
      assert_true(strstr(text, ALONE) != NULL);
      assert_true(strstr(error.message, "operation failed due to a previous error during capture") != NULL);
      check_usable(graph);
    } else {
      assert_string_equal(text, "");
      assert_int_equal(error.kind, FY_NO_ERROR);
    }
  }
}

static void an_empty_capture_warns_and_replays_nothing(void **state) {
  (void)state;
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
  }
  assert_int_equal(fy_cuda_graph_node_count(graph), 0);
  fy_cuda_graph_replay(graph);
}

static int set_up(void **state) {
  (void)state;
  device = fy_cuda_device(0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_capture_runs_nothing_and_a_replay_all_of_it, in_order),
      cmocka_unit_test_teardown(a_replay_is_one_launch, in_order),
      cmocka_unit_test_teardown(replays_on_the_default_stream_and_on_another, in_order),
      cmocka_unit_test_teardown(streams_that_join_and_are_joined, in_order),
      cmocka_unit_test_teardown(pinned_memory_is_read_and_written_when_the_replay_runs, in_order),
      cmocka_unit_test_teardown(random_numbers_are_those_that_the_block_would_draw, in_order),
      cmocka_unit_test_teardown(dropout_captured_forward_and_run_backward_later, in_order),
      cmocka_unit_test_teardown(waiting_is_refused, in_order),
      cmocka_unit_test_teardown(copies_of_ordinary_memory_are_refused, in_order),
      cmocka_unit_test_teardown(events_that_are_asked_are_refused, in_order),
      cmocka_unit_test_teardown(streams_that_are_not_joined_are_refused, in_order),
      cmocka_unit_test_teardown(the_default_stream_cannot_be_captured, in_order),
      cmocka_unit_test_teardown(the_generator_cannot_be_set, in_order),
      cmocka_unit_test_teardown(an_error_of_the_users_own_ends_the_capture, in_order),
      cmocka_unit_test_teardown(an_error_that_is_trapped_inside_still_spoils_the_capture, in_order),
      cmocka_unit_test_teardown(captures_and_replays_in_captures, in_order),
      cmocka_unit_test_teardown(a_graph_over_two_devices, in_order),
      cmocka_unit_test_teardown(the_other_device_is_captured_on_its_own, in_order),
      cmocka_unit_test_teardown(threads_capture_beside_each_other, in_order),
      cmocka_unit_test_teardown(another_thread_that_needs_memory, in_order),
      cmocka_unit_test_teardown(an_empty_capture_warns_and_replays_nothing, in_order),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
