// SPDX-License-Identifier: MIT
// The lazy mode makes ordering mistakes visible in every run, and counts what happens.
// sim only: it reads the simulator's own mode and counters
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=ascending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run check: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=random:3
#include <cuda_runtime.h>
#include <cudasim_graph.h>

#include "check.h"
#include "sim/base/cudasim.h"

enum { COUNT = 64 };

__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= factor;
}

static cudaStream_t new_stream(void) {
  cudaStream_t stream;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

static float *pinned_floats(float value) {
  float *pinned;
  check_cuda(cudaMallocHost(&pinned, COUNT * sizeof *pinned));
  for (int i = 0; i < COUNT; i++)
    pinned[i] = value;
  return pinned;
}

static void without_a_synchronization_the_host_reads_stale_data(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  float *pinned = pinned_floats(0.0f), *x = (float *)device_copy(NULL, COUNT * sizeof *x);
  check_cuda(cudaMemsetAsync(x, 0x3f, COUNT * sizeof *x, stream));
  check_cuda(cudaMemcpyAsync(pinned, x, COUNT * sizeof *x, cudaMemcpyDeviceToHost, stream));
  assert_true(pinned[7] == 0.0f);
  check_cuda(cudaStreamSynchronize(stream));
  assert_true(pinned[7] != 0.0f);
  check_cuda(cudaFree(x));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaStreamDestroy(stream));
}

static void a_pinned_buffer_reused_too_early_is_copied_as_it_is_later(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  float *pinned = pinned_floats(1.0f), *x = (float *)device_copy(NULL, COUNT * sizeof *x), got[COUNT];
  check_cuda(cudaMemcpyAsync(x, pinned, COUNT * sizeof *x, cudaMemcpyHostToDevice, stream));
  pinned[0] = 2.0f;
  check_cuda(cudaStreamSynchronize(stream));
  to_host(got, x, sizeof got);
  assert_true(got[0] == 2.0f && got[1] == 1.0f);
  check_cuda(cudaFree(x));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaStreamDestroy(stream));
}

static float scale_in_two_streams(bool with_event) {
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event;
  float host[COUNT], *x = (float *)device_copy(NULL, sizeof host);
  for (int i = 0; i < COUNT; i++)
    host[i] = 1.0f;
  check_cuda(cudaEventCreate(&event));
  check_cuda(cudaMemcpyAsync(x, host, sizeof host, cudaMemcpyHostToDevice, first));
  scale<<<1, COUNT, 0, first>>>(x, 2.0f, COUNT);
  check_cuda(cudaEventRecord(event, first));
  if (with_event)
    check_cuda(cudaStreamWaitEvent(second, event, 0));
  scale<<<1, COUNT, 0, second>>>(x, 3.0f, COUNT);
  check_cuda(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, second));
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(event));
  check_cuda(cudaStreamDestroy(first));
  check_cuda(cudaStreamDestroy(second));
  return host[5];
}

static void without_an_event_the_second_stream_sees_nan(void **state) {
  (void)state;
  assert_true(scale_in_two_streams(true) == 6.0f);
  assert_true(isnan(scale_in_two_streams(false)));
}

// Threads read what their neighbors wrote, without a barrier.
__global__ void shift_up(float *x) {
  __shared__ float shared[COUNT + 1];
  shared[threadIdx.x + 1] = x[threadIdx.x];
  if (threadIdx.x > 0)
    x[threadIdx.x] = shared[threadIdx.x];
}

__global__ void reverse(float *x) {
  __shared__ float shared[COUNT];
  shared[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = shared[COUNT - 1 - threadIdx.x];
}

static int wrong_elements(void (*kernel)(float *), int shift, bool backwards) {
  float host[COUNT], *x;
  for (int i = 0; i < COUNT; i++)
    host[i] = (float)(i + 1);
  x = (float *)device_copy(host, sizeof host);
  kernel<<<1, COUNT>>>(x);
  to_host(host, x, sizeof host);
  check_cuda(cudaFree(x));
  int wrong = 0;
  for (int i = shift; i < COUNT; i++)
    wrong += host[i] != (float)(backwards ? COUNT - i : i + 1 - shift);
  return wrong;
}

// One missing barrier shows in any order; the other needs an order that is not ascending.
static void missing_barriers_show_in_some_order(void **state) {
  (void)state;
  const char *order = getenv("FERRY_SIM_ORDER");
  bool ascending = order == NULL || strcmp(order, "ascending") == 0;
  assert_true(wrong_elements(reverse, 0, true) > 0);
  if (ascending)
    assert_int_equal(wrong_elements(shift_up, 1, false), 0);
  else
    assert_true(wrong_elements(shift_up, 1, false) > 0);
}

static void runs_repeat_exactly(void **state) {
  (void)state;
  int first = wrong_elements(shift_up, 1, false);
  for (int i = 0; i < 5; i++)
    assert_int_equal(wrong_elements(shift_up, 1, false), first);
}

static void the_statistics_count(void **state) {
  (void)state;
  struct cudasim_stats stats;
  float host[COUNT] = {0}, *pinned = pinned_floats(1.0f);
  cudaStream_t stream = new_stream();
  assert_string_equal(cudasim_mode(), "lazy");
  check_cuda(cudaDeviceSynchronize());
  cudasim_reset_stats();
  float *x = (float *)device_copy(host, sizeof host);
  scale<<<1, COUNT, 0, stream>>>(x, 2.0f, COUNT);
  scale<<<1, COUNT, 0, stream>>>(x, 2.0f, COUNT);
  check_cuda(cudaMemcpyAsync(pinned, x, 16, cudaMemcpyDeviceToHost, stream));
  check_cuda(cudaMemsetAsync(x, 0, 16, stream));
  cudasim_get_stats(&stats);
  assert_int_equal(stats.launches, 2);
  assert_int_equal(stats.fills, 1);
  assert_int_equal(stats.copies_host_to_device, 1);
  assert_int_equal(stats.bytes_host_to_device, sizeof host);
  assert_int_equal(stats.copies_device_to_host, 1);
  assert_int_equal(stats.bytes_device_to_host, 16);
  assert_int_equal(stats.synchronizations, 1); // the blocking copy
  assert_int_equal(stats.allocations, 1);
  assert_true(stats.live_nodes >= 4);
  check_cuda(cudaStreamSynchronize(stream));
  cudasim_get_stats(&stats);
  assert_int_equal(stats.synchronizations, 2);
  check_cuda(cudaFree(x));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaStreamDestroy(stream));
}

static void long_chains_are_run_without_recursion(void **state) {
  (void)state;
  float one = 1.0f, *x = (float *)device_copy(&one, sizeof one);
  for (int i = 0; i < 50000; i++)
    scale<<<1, 1>>>(x, i % 2 ? 2.0f : 0.5f, 1);
  to_host(&one, x, sizeof one);
  assert_true(one == 1.0f);
  check_cuda(cudaFree(x));
}

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Processor time of a launch of a graph of `kernels` kernels, one after another.
static double time_of_graph(float *x, int kernels) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  check_cuda(cudaStreamCreate(&stream));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kernels; i++)
    scale<<<1, 1, 0, stream>>>(x, i % 2 ? 2.0f : 0.5f, 1);
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  const double begin = processor_seconds();
  check_cuda(cudaGraphLaunch(exec, stream));
  check_cuda(cudaStreamSynchronize(stream));
  const double seconds = processor_seconds() - begin;
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
  return seconds;
}

// The sixteenfold in far less than 256 times the time, which it would be if each node looked at all others.
static void long_graphs_take_time_by_their_length(void **state) {
  (void)state;
  enum { FEW = 5000, TIMES = 16 };
  float one = 1.0f, *x = (float *)device_copy(&one, sizeof one);
  const double few = time_of_graph(x, FEW), many = time_of_graph(x, TIMES * FEW);
  if (many > 80 * few)
    fail_msg("%d kernels: %.3f s; %d kernels: %.3f s", FEW, few, TIMES * FEW, many);
  to_host(&one, x, sizeof one);
  assert_true(one == 1.0f);
  check_cuda(cudaFree(x));
}

// A handle that no cudaGraphInstantiate has filled in is refused, whatever lies there: a program that did not look at an error launches
// what its stack held.
static void graphs_that_are_none_are_refused(void **state) {
  (void)state;
  long long garbage[8] = {0x7f00dead, 1, 2, 3, 4, 5, 6, 7};
  cudaGraphExec_t none = (cudaGraphExec_t)garbage, exec;
  cudaGraph_t graph;
  cudaStream_t stream;
  check_cuda(cudaStreamCreate(&stream));
  assert_int_equal(cudaGraphLaunch(none, stream), cudaErrorInvalidValue);
  assert_int_equal(cudaGraphLaunch((cudaGraphExec_t)0x11, stream), cudaErrorInvalidValue);
  assert_int_equal(cudaGraphExecDestroy(none), cudaErrorInvalidValue);
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  check_cuda(cudaGraphLaunch(exec, stream));
  check_cuda(cudaStreamSynchronize(stream));
  check_cuda(cudaGraphExecDestroy(exec));
  assert_int_equal(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
  assert_int_equal(cudaGraphExecDestroy(exec), cudaErrorInvalidValue);
  (void)cudaGetLastError();
  check_cuda(cudaGraphDestroy(graph));
  check_error(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  check_error(cudaGraphDestroy((cudaGraph_t)garbage), cudaErrorInvalidValue);
  check_error(cudaGraphDestroy(NULL), cudaErrorInvalidValue);
  check_error(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
  check_cuda(cudaGraphCreate(&graph, 0));
  check_cuda(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  check_error(cudaGraphDestroy(graph), cudaErrorInvalidValue); // the capture goes on
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_synchronization_the_host_reads_stale_data),
      cmocka_unit_test(a_pinned_buffer_reused_too_early_is_copied_as_it_is_later),
      cmocka_unit_test(without_an_event_the_second_stream_sees_nan),
      cmocka_unit_test(missing_barriers_show_in_some_order),
      cmocka_unit_test(runs_repeat_exactly),
      cmocka_unit_test(the_statistics_count),
      cmocka_unit_test(long_chains_are_run_without_recursion),
      cmocka_unit_test(long_graphs_take_time_by_their_length),
      cmocka_unit_test(graphs_that_are_none_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
