// SPDX-License-Identifier: MIT
// Streams, events, host functions and graphs: what is ordered with what, and when the host may look.
// run: FERRY_SIM_MODE=lazy
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run check: FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=8 FERRY_SIM_GUARD=1
// run: FERRY_SIM_MODE=sync
// tsan
#include <cuda_runtime.h>

#include <time.h>

#include "check.h"

enum { COUNT = 20000, BLOCKS = (COUNT + 255) / 256 };

__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= factor;
}

__global__ void add(const float *a, const float *b, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] = a[i] + b[i];
}

// Leaves x as it is, slowly.
__global__ void dawdle(float *x, int n) {
  for (int round = 0; round < 100; round++)
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      ((volatile float *)x)[i] = ((volatile float *)x)[i] * 1.0f;
}

static cudaStream_t new_stream(void) {
  cudaStream_t stream;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

static cudaEvent_t new_event(void) {
  cudaEvent_t event;
  check_cuda(cudaEventCreate(&event));
  return event;
}

static float *ones(void) {
  float *host = (float *)malloc(COUNT * sizeof *host);
  for (int i = 0; i < COUNT; i++)
    host[i] = 1.0f;
  float *device = (float *)device_copy(host, COUNT * sizeof *host);
  free(host);
  return device;
}

static void check_all(const float *device, float want) {
  float *host = (float *)malloc(COUNT * sizeof *host);
  to_host(host, device, COUNT * sizeof *host);
  for (int i = 0; i < COUNT; i++)
    if (host[i] != want)
      fail_msg("[%d] is %g, not %g", i, (double)host[i], (double)want);
  free(host);
}

static void events_order_streams(void **state) {
  (void)state;
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event = new_event();
  float *x = ones(), *pinned;
  check_cuda(cudaMallocHost(&pinned, COUNT * sizeof *pinned));
  memset(pinned, 0, COUNT * sizeof *pinned);
  check_cuda(cudaDeviceSynchronize());
  for (int round = 1; round <= 3; round++) {
    dawdle<<<1, 256, 0, first>>>(x, COUNT);
    scale<<<BLOCKS, 256, 0, first>>>(x, 2.0f, COUNT);
    check_cuda(cudaEventRecord(event, first));
    check_cuda(cudaStreamWaitEvent(second, event, 0));
    scale<<<BLOCKS, 256, 0, second>>>(x, 3.0f, COUNT);
    check_cuda(cudaEventRecord(event, second)); // the wait above keeps to the event as it was then
    check_cuda(cudaStreamWaitEvent(first, event, 0));
  }
  check_cuda(cudaMemcpyAsync(pinned, x, COUNT * sizeof *x, cudaMemcpyDeviceToHost, first));
  check_cuda(cudaStreamSynchronize(first));
  for (int i = 0; i < COUNT; i++)
    assert_true(pinned[i] == 216.0f);
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(event));
  check_cuda(cudaStreamDestroy(first));
  check_cuda(cudaStreamDestroy(second));
}

static void pageable_sources_are_staged(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  float *x = ones(), *host = random_floats(COUNT, 1), *kept = random_floats(COUNT, 1), *back = random_floats(COUNT, 2);
  check_cuda(cudaDeviceSynchronize());
  dawdle<<<1, 256, 0, stream>>>(x, COUNT);
  check_cuda(cudaMemcpyAsync(x, host, COUNT * sizeof *x, cudaMemcpyHostToDevice, stream));
  memset(host, 0, COUNT * sizeof *host); // the caller's again as soon as the call is back
  check_cuda(cudaMemcpyAsync(back, x, COUNT * sizeof *x, cudaMemcpyDeviceToHost, stream)); // waits: pageable
  assert_memory_equal(back, kept, COUNT * sizeof *back);
  check_cuda(cudaFree(x));
  check_cuda(cudaStreamDestroy(stream));
  free(host);
  free(kept);
  free(back);
}

static void the_legacy_stream_waits_for_blocking_streams(void **state) {
  (void)state;
  cudaStream_t blocking;
  check_cuda(cudaStreamCreate(&blocking));
  float *x = ones();
  dawdle<<<1, 64, 0, blocking>>>(x, COUNT);
  scale<<<BLOCKS, 256, 0, blocking>>>(x, 2.0f, COUNT);
  scale<<<BLOCKS, 256>>>(x, 5.0f, COUNT);
  add<<<BLOCKS, 256, 0, blocking>>>(x, x, x, COUNT);
  scale<<<BLOCKS, 256>>>(x, 1.0f, COUNT);
  scale<<<BLOCKS, 256, 0, cudaStreamPerThread>>>(x, 3.0f, COUNT);
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread));
  check_cuda(cudaStreamSynchronize(blocking));
  check_all(x, 60.0f);
  check_cuda(cudaFree(x));
  check_cuda(cudaStreamDestroy(blocking));
}

// Work of a stream that is done when the host says so (or after a while, for a runtime that waits for it).
struct gate {
  int open, passed, timed_out;
};

static int flag(int *value) {
  return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static void set_flag(int *value, int to) {
  __atomic_store_n(value, to, __ATOMIC_RELEASE);
}

static void CUDART_CB wait_at_gate(void *data) {
  struct gate *gate = (struct gate *)data;
  struct timespec pause = {0, 1000000};
  for (int i = 0; i < 5000 && !flag(&gate->open); i++)
    nanosleep(&pause, NULL);
  set_flag(&gate->timed_out, !flag(&gate->open));
  set_flag(&gate->passed, 1);
}

static bool runs_at_once(void) {
  const char *mode = getenv("FERRY_SIM_MODE");
  return mode && strcmp(mode, "sync") == 0;
}

// Nothing that is done in the legacy stream, or waits for it, has to do with a non-blocking stream.
static void the_legacy_stream_leaves_non_blocking_streams_alone(void **state) {
  (void)state;
  if (runs_at_once()) {
    print_message("needs a mode in which the host goes on: the gate would keep it from opening it\n");
    skip();
  }
  struct gate gate = {0, 0, 0};
  cudaStream_t stream = new_stream();
  cudaEvent_t event = new_event();
  float *x = ones(), one;
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaLaunchHostFunc(stream, wait_at_gate, &gate));
  scale<<<BLOCKS, 256>>>(x, 2.0f, COUNT);
  check_cuda(cudaStreamSynchronize(0));
  check_cuda(cudaStreamQuery(0));
  scale<<<BLOCKS, 256, 0, cudaStreamPerThread>>>(x, 2.0f, COUNT);
  check_cuda(cudaEventRecord(event, 0));
  check_cuda(cudaEventSynchronize(event));
  check_cuda(cudaEventQuery(event));
  check_cuda(cudaMemset(x, 0, sizeof *x));
  check_cuda(cudaMemcpy(&one, x + 1, sizeof one, cudaMemcpyDeviceToHost));
  check_cuda(cudaMemcpyAsync(&one, x + 1, sizeof one, cudaMemcpyDeviceToHost, 0));
  check_cuda(cudaStreamSynchronize(cudaStreamLegacy));
  assert_true(one == 4.0f);
  assert_false(flag(&gate.passed));
  set_flag(&gate.open, 1);
  check_cuda(cudaDeviceSynchronize()); // waits for all streams
  assert_true(flag(&gate.passed) && !flag(&gate.timed_out));
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(event));
  check_cuda(cudaStreamDestroy(stream));
}

// Blocking streams, on the other hand, are waited for, and so are the events that they wait for.
static void waiting_for_the_legacy_stream_waits_for_blocking_streams(void **state) {
  (void)state;
  cudaStream_t blocking, stream = new_stream();
  cudaEvent_t event = new_event();
  float *x = ones(), *pinned;
  check_cuda(cudaStreamCreate(&blocking));
  check_cuda(cudaMallocHost(&pinned, COUNT * sizeof *pinned));
  memset(pinned, 0, COUNT * sizeof *pinned);
  check_cuda(cudaDeviceSynchronize());
  dawdle<<<1, 64, 0, stream>>>(x, COUNT);
  scale<<<BLOCKS, 256, 0, stream>>>(x, 3.0f, COUNT);
  check_cuda(cudaMemcpyAsync(pinned, x, COUNT * sizeof *x, cudaMemcpyDeviceToHost, stream));
  check_cuda(cudaEventRecord(event, stream));
  check_cuda(cudaStreamWaitEvent(blocking, event, 0)); // and nothing behind it
  check_cuda(cudaStreamSynchronize(0));
  assert_true(pinned[COUNT - 1] == 3.0f);
  scale<<<BLOCKS, 256, 0, stream>>>(x, 5.0f, COUNT);
  check_cuda(cudaEventRecord(event, stream));
  check_cuda(cudaStreamWaitEvent(blocking, event, 0));
  scale<<<BLOCKS, 256>>>(x, 7.0f, COUNT);
  check_all(x, 105.0f);
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(event));
  check_cuda(cudaStreamDestroy(blocking));
  check_cuda(cudaStreamDestroy(stream));
}

static void CUDART_CB append_digit(void *data) {
  int *number = (int *)data;
  *number = *number * 10 + *number % 10 + 1;
}

static void host_functions_run_in_order(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  float *x = ones();
  int number = 0;
  check_cuda(cudaDeviceSynchronize());
  for (int i = 0; i < 4; i++) {
    scale<<<BLOCKS, 256, 0, stream>>>(x, 2.0f, COUNT);
    check_cuda(cudaLaunchHostFunc(stream, append_digit, &number));
  }
  check_cuda(cudaStreamSynchronize(stream));
  assert_int_equal(number, 1234);
  check_all(x, 16.0f);
  check_cuda(cudaFree(x));
  check_cuda(cudaStreamDestroy(stream));
}

static void events_tell_time_and_progress(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  cudaEvent_t begin = new_event(), end = new_event(), untimed;
  float *x = ones(), ms = -1.0f;
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaEventQuery(begin)); // never recorded: nothing to wait for
  check_error(cudaEventElapsedTime(&ms, begin, end), cudaErrorInvalidResourceHandle);
  check_cuda(cudaEventRecord(begin, stream));
  dawdle<<<1, 256, 0, stream>>>(x, COUNT);
  check_cuda(cudaEventRecord(end, stream));
  cudaError_t status;
  while ((status = cudaEventQuery(end)) == cudaErrorNotReady)
    continue;
  check_cuda(status);
  check_cuda(cudaEventElapsedTime(&ms, begin, end));
  assert_true(ms > 0.0f && ms < 10000.0f);
  check_cuda(cudaStreamQuery(stream));
  check_cuda(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  check_cuda(cudaEventRecord(untimed, stream));
  check_cuda(cudaEventSynchronize(untimed));
  check_error(cudaEventElapsedTime(&ms, begin, untimed), cudaErrorInvalidResourceHandle);
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(begin));
  check_cuda(cudaEventDestroy(end));
  check_cuda(cudaEventDestroy(untimed));
  check_cuda(cudaStreamDestroy(stream));
}

static void streams_have_priorities_and_flags(void **state) {
  (void)state;
  int least, greatest, priority;
  unsigned int flags;
  cudaStream_t stream;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  assert_true(greatest < least);
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  check_cuda(cudaStreamGetPriority(stream, &priority));
  check_cuda(cudaStreamGetFlags(stream, &flags));
  assert_int_equal(priority, greatest);
  assert_int_equal(flags, cudaStreamNonBlocking);
  check_cuda(cudaStreamDestroy(stream));
}

static void memory_in_stream_order(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  float *x, host[4] = {1, 2, 3, 4}, back[4];
  for (int round = 0; round < 20; round++) {
    check_cuda(cudaMallocAsync(&x, sizeof host, stream));
    check_cuda(cudaMemcpyAsync(x, host, sizeof host, cudaMemcpyHostToDevice, stream));
    scale<<<1, 4, 0, stream>>>(x, 2.0f, 4);
    check_cuda(cudaMemcpyAsync(back, x, sizeof host, cudaMemcpyDeviceToHost, stream));
    check_cuda(cudaFreeAsync(x, stream));
    check_cuda(cudaStreamSynchronize(stream));
    for (int i = 0; i < 4; i++)
      assert_true(back[i] == host[i] * 2);
  }
  check_cuda(cudaStreamDestroy(stream));
}

// ---- graphs ----

static void graphs_repeat_a_capture(void **state) {
  (void)state;
  cudaStream_t origin = new_stream(), side = new_stream();
  cudaEvent_t fork = new_event(), join = new_event();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  enum cudaStreamCaptureStatus status;
  float *x = ones(), *y = ones();
  size_t nodes = 0;
  check_cuda(cudaDeviceSynchronize());

  check_cuda(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  check_cuda(cudaStreamIsCapturing(origin, &status));
  assert_int_equal(status, cudaStreamCaptureStatusActive);
  scale<<<BLOCKS, 256, 0, origin>>>(x, 2.0f, COUNT);
  check_cuda(cudaEventRecord(fork, origin));
  check_cuda(cudaStreamWaitEvent(side, fork, 0));
  scale<<<BLOCKS, 256, 0, side>>>(y, 3.0f, COUNT);
  check_cuda(cudaEventRecord(join, side));
  check_cuda(cudaStreamWaitEvent(origin, join, 0));
  add<<<BLOCKS, 256, 0, origin>>>(x, y, x, COUNT);
  check_cuda(cudaStreamEndCapture(origin, &graph));
  check_cuda(cudaStreamIsCapturing(origin, &status));
  assert_int_equal(status, cudaStreamCaptureStatusNone);

  check_cuda(cudaGraphGetNodes(graph, NULL, &nodes));
  assert_int_equal(nodes, 3);
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  check_cuda(cudaGraphDestroy(graph));
  check_all(x, 1.0f); // nothing has run
  float want_x = 1.0f, want_y = 1.0f;
  for (int launch = 0; launch < 4; launch++) {
    check_cuda(cudaGraphLaunch(exec, origin));
    want_y *= 3.0f;
    want_x = want_x * 2.0f + want_y;
  }
  check_cuda(cudaStreamSynchronize(origin));
  check_all(x, want_x);
  check_all(y, want_y);
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaFree(x));
  check_cuda(cudaFree(y));
  check_cuda(cudaEventDestroy(fork));
  check_cuda(cudaEventDestroy(join));
  check_cuda(cudaStreamDestroy(origin));
  check_cuda(cudaStreamDestroy(side));
}

static void graphs_copy_what_is_there_when_they_run(void **state) {
  (void)state;
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  float *x = ones(), *pinned;
  check_cuda(cudaMallocHost(&pinned, 2 * sizeof *pinned));
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  check_cuda(cudaMemcpyAsync(x, &pinned[0], sizeof *x, cudaMemcpyHostToDevice, stream));
  scale<<<1, 32, 0, stream>>>(x, 10.0f, 1);
  check_cuda(cudaMemcpyAsync(&pinned[1], x, sizeof *x, cudaMemcpyDeviceToHost, stream));
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 1; i <= 3; i++) {
    pinned[0] = (float)i;
    check_cuda(cudaGraphLaunch(exec, stream));
    check_cuda(cudaStreamSynchronize(stream));
    assert_true(pinned[1] == 10.0f * (float)i);
  }
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaFree(x));
  check_cuda(cudaStreamDestroy(stream));
}

static void captures_that_cannot_become_graphs(void **state) {
  (void)state;
  cudaStream_t origin = new_stream(), side = new_stream();
  cudaEvent_t fork = new_event();
  cudaGraph_t graph;
  void *memory;
  float *x = ones();
  check_cuda(cudaDeviceSynchronize());

  check_error(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);

  check_cuda(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
  scale<<<1, 32, 0, origin>>>(x, 1.0f, 1);
  check_error(cudaStreamSynchronize(origin), cudaErrorStreamCaptureUnsupported);
  check_error(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureInvalidated);

  check_cuda(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
  check_error(cudaMalloc(&memory, 16), cudaErrorStreamCaptureUnsupported);
  check_error(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureInvalidated);

  check_cuda(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed)); // allocating is allowed
  check_cuda(cudaMalloc(&memory, 16));
  check_cuda(cudaStreamEndCapture(origin, &graph));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaFree(memory));

  check_cuda(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  check_cuda(cudaEventRecord(fork, origin));
  check_cuda(cudaStreamWaitEvent(side, fork, 0));
  scale<<<1, 32, 0, side>>>(x, 1.0f, 1);
  check_error(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
  check_error(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureUnjoined);

  scale<<<1, 32, 0, origin>>>(x, 4.0f, 1); // the streams are usable afterwards
  scale<<<1, 32, 0, side>>>(x + 1, 4.0f, 1);
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(fork));
  check_cuda(cudaStreamDestroy(origin));
  check_cuda(cudaStreamDestroy(side));
}

// ---- load ----

static void many_small_operations(void **state) {
  (void)state;
  enum { STREAMS = 5, ROUNDS = 300 };
  cudaStream_t streams[STREAMS];
  cudaEvent_t event = new_event();
  float *x = ones();
  check_cuda(cudaMemset(x, 0, COUNT * sizeof *x));
  check_cuda(cudaDeviceSynchronize());
  for (int s = 0; s < STREAMS; s++)
    streams[s] = new_stream();
  float one = 1.0f, *ones_on_device = (float *)device_copy(&one, sizeof one);
  for (int r = 0; r < ROUNDS; r++) { // a chain through all streams: only its order makes the sum right
    cudaStream_t stream = streams[r * 7 % STREAMS];
    check_cuda(cudaStreamWaitEvent(stream, event, 0));
    add<<<1, 32, 0, stream>>>(x, ones_on_device, x, 1);
    check_cuda(cudaEventRecord(event, stream));
  }
  check_cuda(cudaEventSynchronize(event));
  float got;
  to_host(&got, x, sizeof got);
  assert_true(got == ROUNDS);
  for (int s = 0; s < STREAMS; s++)
    check_cuda(cudaStreamDestroy(streams[s]));
  check_cuda(cudaEventDestroy(event));
  check_cuda(cudaFree(ones_on_device));
  check_cuda(cudaFree(x));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_order_streams),
      cmocka_unit_test(pageable_sources_are_staged),
      cmocka_unit_test(the_legacy_stream_waits_for_blocking_streams),
      cmocka_unit_test(the_legacy_stream_leaves_non_blocking_streams_alone),
      cmocka_unit_test(waiting_for_the_legacy_stream_waits_for_blocking_streams),
      cmocka_unit_test(host_functions_run_in_order),
      cmocka_unit_test(events_tell_time_and_progress),
      cmocka_unit_test(streams_have_priorities_and_flags),
      cmocka_unit_test(memory_in_stream_order),
      cmocka_unit_test(graphs_repeat_a_capture),
      cmocka_unit_test(graphs_copy_what_is_there_when_they_run),
      cmocka_unit_test(captures_that_cannot_become_graphs),
      cmocka_unit_test(many_small_operations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
