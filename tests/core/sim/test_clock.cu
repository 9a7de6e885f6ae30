// SPDX-License-Identifier: MIT
// The modeled clock: what a program's calls, copies and kernels would take on an A100, by its table and nothing else.
// sim only: it reads the simulator's own clock
// run: FERRY_SIM_GPU=a100 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_GPU=a100 FERRY_SIM_MODE=threads
// run check: FERRY_SIM_GPU=a100 FERRY_SIM_MODE=sync
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "check.h"
#include "sim/base/cudasim.h"

extern "C" {
#include "model/kernel.h"
}

enum { MEGABYTE = 1 << 20 };

static const struct model_gpu *gpu;
static double launch, record_, wait_, gap, graph_gap; // seconds

__global__ void fill(float *x, float value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static double now(void) {
  return cudasim_model_seconds();
}

static cudaEvent_t recorded(cudaStream_t stream) {
  cudaEvent_t event;
  check_cuda(cudaEventCreate(&event));
  check_cuda(cudaEventRecord(event, stream));
  return event;
}

// Seconds between the two, which are destroyed.
static double between(cudaEvent_t a, cudaEvent_t b) {
  float ms;
  check_cuda(cudaEventSynchronize(b));
  check_cuda(cudaEventElapsedTime(&ms, a, b));
  check_cuda(cudaEventDestroy(a));
  check_cuda(cudaEventDestroy(b));
  return ms * 1e-3;
}

static void expect_seconds(double seconds, double expected) {
  if (fabs(seconds - expected) > 1e-6 * expected + 1e-10)
    fail_msg("%.6f us, not %.6f us", seconds * 1e6, expected * 1e6);
}

static cudaStream_t new_stream(void) {
  cudaStream_t stream;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

static double fill_seconds(double bytes) {
  return model_streaming(gpu, 0, bytes, 0).seconds;
}

// ---- calls and waits -------------------------------------------------------------------------------------------------------

static void the_host_pays_for_calls_and_waits(void **state) {
  (void)state;
  char *memory;
  check_cuda(cudaMalloc(&memory, 64 * MEGABYTE));
  check_cuda(cudaDeviceSynchronize());
  const double start = now();
  check_cuda(cudaMemsetAsync(memory, 1, 64 * MEGABYTE, 0));
  expect_seconds(now() - start, launch);
  check_cuda(cudaDeviceSynchronize());
  expect_seconds(now() - start, launch + fill_seconds(64 * MEGABYTE) + wait_);
  check_cuda(cudaDeviceSynchronize()); // nothing to wait for
  expect_seconds(now() - start, launch + fill_seconds(64 * MEGABYTE) + wait_);
  check_cuda(cudaFree(memory));
}

// Kernels shorter than a launch keep up with the host; longer ones come one after another, a gap between.
static void launches_or_kernels_limit_a_stream(void **state) {
  (void)state;
  char *memory;
  cudaStream_t stream = new_stream();
  check_cuda(cudaMalloc(&memory, 64 * MEGABYTE));
  cudaEvent_t a = recorded(stream);
  for (int i = 0; i < 10; i++)
    check_cuda(cudaMemsetAsync(memory, i, 4, stream));
  const double last = launch > gpu->least.value * 1e-6 + gap ? 10 * launch + fill_seconds(4) : 0;
  assert_true(last > 0);
  expect_seconds(between(a, recorded(stream)), last);
  a = recorded(stream);
  for (int i = 0; i < 10; i++)
    check_cuda(cudaMemsetAsync(memory, i, 64 * MEGABYTE, stream));
  expect_seconds(between(a, recorded(stream)), launch + 10 * fill_seconds(64 * MEGABYTE) + 9 * gap);
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaFree(memory));
}

// ---- copies ----------------------------------------------------------------------------------------------------------------

static void pinned_copies_are_asynchronous_and_faster(void **state) {
  (void)state;
  char *memory, *pinned, *pageable = (char *)calloc(1, MEGABYTE);
  check_cuda(cudaMalloc(&memory, MEGABYTE));
  check_cuda(cudaMallocHost(&pinned, MEGABYTE));
  cudaStream_t stream = new_stream();
  const double start_up = gpu->copy_start.value * 1e-6, link = gpu->link.value * 1e9;
  const double slow = start_up + MEGABYTE / (gpu->pageable.value * 1e9), fast = start_up + MEGABYTE / link;

  double begin = now();
  cudaEvent_t a = recorded(stream);
  check_cuda(cudaMemcpyAsync(memory, pinned, MEGABYTE, cudaMemcpyHostToDevice, stream));
  expect_seconds(now() - begin, record_ + launch);
  expect_seconds(between(a, recorded(stream)), launch + fast);

  begin = now();
  a = recorded(stream);
  check_cuda(cudaMemcpyAsync(memory, pageable, MEGABYTE, cudaMemcpyHostToDevice, stream));
  expect_seconds(now() - begin, record_ + launch + slow); // the host waits
  expect_seconds(between(a, recorded(stream)), launch + slow + record_);

  begin = now();
  check_cuda(cudaMemcpy(pageable, memory, MEGABYTE, cudaMemcpyDeviceToHost));
  expect_seconds(now() - begin, launch + slow + wait_);
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaFree(memory));
  free(pageable);
}

// Both ways at once, and beside a kernel; two copies the same way, one after the other.
static void engines_work_side_by_side(void **state) {
  (void)state;
  char *memory, *pinned;
  check_cuda(cudaMalloc(&memory, 64 * MEGABYTE));
  check_cuda(cudaMallocHost(&pinned, 4 * MEGABYTE));
  cudaStream_t in = new_stream(), out = new_stream(), third = new_stream();
  const double copy = gpu->copy_start.value * 1e-6 + MEGABYTE / (gpu->link.value * 1e9);
  check_cuda(cudaDeviceSynchronize());
  cudaEvent_t a = recorded(in);
  check_cuda(cudaMemcpyAsync(memory, pinned, MEGABYTE, cudaMemcpyHostToDevice, in));
  check_cuda(cudaMemcpyAsync(pinned + MEGABYTE, memory + MEGABYTE, MEGABYTE, cudaMemcpyDeviceToHost, out));
  check_cuda(cudaMemcpyAsync(memory + 2 * MEGABYTE, pinned + 2 * MEGABYTE, MEGABYTE, cudaMemcpyHostToDevice, third));
  cudaEvent_t out_end = recorded(out), third_end = recorded(third);
  float ms;
  check_cuda(cudaEventSynchronize(a));
  check_cuda(cudaEventSynchronize(out_end));
  check_cuda(cudaEventElapsedTime(&ms, a, out_end));
  expect_seconds(ms * 1e-3, 2 * launch + copy);
  expect_seconds(between(a, third_end), launch + 2 * copy);
  check_cuda(cudaEventDestroy(out_end));
  cudaStream_t streams[] = {in, out, third};
  for (int i = 0; i < 3; i++)
    check_cuda(cudaStreamDestroy(streams[i]));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaFree(memory));
}

static void an_event_holds_another_stream_back(void **state) {
  (void)state;
  char *memory;
  check_cuda(cudaMalloc(&memory, 64 * MEGABYTE));
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t a = recorded(second);
  check_cuda(cudaMemsetAsync(memory, 1, 64 * MEGABYTE, first));
  cudaEvent_t filled = recorded(first);
  check_cuda(cudaStreamWaitEvent(second, filled, 0));
  check_cuda(cudaMemsetAsync(memory, 2, 4, second));
  expect_seconds(between(a, recorded(second)), launch + fill_seconds(64 * MEGABYTE) + gap + fill_seconds(4));
  check_cuda(cudaEventDestroy(filled));
  check_cuda(cudaStreamDestroy(first));
  check_cuda(cudaStreamDestroy(second));
  check_cuda(cudaFree(memory));
}

static void copies_between_devices(void **state) {
  (void)state;
  char *here, *there;
  check_cuda(cudaMalloc(&here, MEGABYTE));
  check_cuda(cudaSetDevice(1));
  check_cuda(cudaMalloc(&there, MEGABYTE));
  check_cuda(cudaSetDevice(0));
  cudaStream_t stream = new_stream();
  cudaEvent_t a = recorded(stream);
  check_cuda(cudaMemcpyPeerAsync(there, 1, here, 0, MEGABYTE, stream));
  expect_seconds(between(a, recorded(stream)),
                 launch + gpu->copy_start.value * 1e-6 + MEGABYTE / (gpu->peer.value * 1e9));
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaFree(here));
  check_cuda(cudaFree(there));
}

// ---- kernels ---------------------------------------------------------------------------------------------------------------

static void a_graph_is_one_call(void **state) {
  (void)state;
  enum { NODES = 20 };
  char *memory;
  check_cuda(cudaMalloc(&memory, 4));
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const double begin = now();
  for (int i = 0; i < NODES; i++)
    check_cuda(cudaMemsetAsync(memory, i, 4, stream));
  expect_seconds(now() - begin + 1, 1); // nothing is queued
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int round = 0; round < 2; round++) {
    cudaEvent_t a = recorded(stream);
    const double before = now();
    check_cuda(cudaGraphLaunch(exec, stream));
    expect_seconds(now() - before, launch);
    expect_seconds(between(a, recorded(stream)), launch + NODES * (graph_gap + fill_seconds(4)));
  }
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaFree(memory));
}

static void products_take_what_the_model_says(void **state) {
  (void)state;
  enum { N = 192 };
  float *x;
  const float one = 1, zero = 0;
  cublasHandle_t blas;
  check_cuda(cudaMalloc(&x, 3 * N * N * sizeof(float)));
  check_cuda(cudaMemset(x, 0, 3 * N * N * sizeof(float)));
  cublasCreate(&blas);
  cudaStream_t stream = new_stream();
  cublasSetStream(blas, stream);
  check_cuda(cudaDeviceSynchronize());
  cudaEvent_t a = recorded(stream);
  cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, x, N, x + N * N, N, &zero, x + 2 * N * N, N);
  expect_seconds(between(a, recorded(stream)), launch + model_product(gpu, N, N, N, 1, MODEL_PRODUCT_FP32).seconds);

  // An op's first kernel has all of its time.
  const struct cudasim_op op = {4e6, 4e6, 1e6, 0, 0, 0, 0, 0, 0, 4};
  cudasim_op_begin(&op);
  a = recorded(stream);
  for (int i = 0; i < 3; i++)
    cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, x, N, x + N * N, N, &zero, x + 2 * N * N, N);
  cudasim_op_end();
  expect_seconds(between(a, recorded(stream)), launch + model_streaming(gpu, 4e6, 4e6, 1e6).seconds);
  cublasDestroy(blas);
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaFree(x));
}

static model_counts some_counts(void) {
  model_counts c = {};
  c.blocks = 4096;
  c.threads = 256;
  c.loads = c.load_lines = c.stores = 1e6;
  c.load_sectors = c.l1_misses = 4e6;
  c.store_sectors = c.store_lines = 32e6;
  c.dram_reads = c.dram_writes = 128e6;
  return c;
}

static const model_counts counted = some_counts();

static bool count_all(const struct cudasim_launch_request *) {
  return true;
}

// What an inspector would do, from within the kernel: it is looked at while it runs.
__global__ void fill_and_count(float *x) {
  x[threadIdx.x] = 1;
  if (threadIdx.x == 0)
    cudasim_counts(&counted, NULL);
}

static void counts_decide_the_time_of_a_kernel(void **state) {
  (void)state;
  float *x;
  check_cuda(cudaMalloc(&x, 4 * MEGABYTE));
  cudaStream_t stream = new_stream(), other = new_stream();
  check_cuda(cudaDeviceSynchronize());
  cudaEvent_t a = recorded(stream);
  fill<<<1024, 256, 0, stream>>>(x, 1); // nobody looks: four bytes in, four bytes out
  const double guess = between(a, recorded(stream));
  assert_true(guess > launch + 8 * 1024 * 256 / (gpu->l2_rate.value * 1e9) && guess < 1e-4);
  cudasim_counts_come(count_all);
  a = recorded(stream);
  fill_and_count<<<1, 32, 0, stream>>>(x);
  const double seconds = model_kernel(gpu, &counted).seconds;
  expect_seconds(between(a, recorded(stream)), launch + seconds);
  a = recorded(stream);
  fill<<<1024, 256, 0, stream>>>(x, 1); // announced, and nobody came
  expect_seconds(between(a, recorded(stream)), guess);
  cudasim_counts_come(NULL);
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaStreamDestroy(other));
  check_cuda(cudaFree(x));
}

// ---- labels ----------------------------------------------------------------------------------------------------------------

static void the_label_says_what_the_times_are(void **state) {
  (void)state;
  assert_string_equal(cudasim_model_label(),
                      "modeled, not measured: computed from counts and the data sheet of NVIDIA A100");
}

int main(void) {
  gpu = model_gpu_named("a100");
  launch = gpu->launch.value * 1e-6;
  record_ = gpu->record.value * 1e-6;
  wait_ = gpu->wait.value * 1e-6;
  gap = gpu->gap.value * 1e-6;
  graph_gap = gpu->graph_gap.value * 1e-6;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_host_pays_for_calls_and_waits),
      cmocka_unit_test(launches_or_kernels_limit_a_stream),
      cmocka_unit_test(pinned_copies_are_asynchronous_and_faster),
      cmocka_unit_test(engines_work_side_by_side),
      cmocka_unit_test(an_event_holds_another_stream_back),
      cmocka_unit_test(copies_between_devices),
      cmocka_unit_test(a_graph_is_one_call),
      cmocka_unit_test(products_take_what_the_model_says),
      cmocka_unit_test(counts_decide_the_time_of_a_kernel),
      cmocka_unit_test(the_label_says_what_the_times_are),
  };
  return cmocka_run_group_tests_name("the modeled clock", tests, NULL, NULL);
}
