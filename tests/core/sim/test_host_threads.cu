// SPDX-License-Identifier: MIT
// Several host threads use the devices at once, each its own or all the same.
// run: FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=1
// run: FERRY_SIM_MODE=sync
// tsan
#include <pthread.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "check.h"

enum { THREADS = 4, COUNT = 3000, ROUNDS = 25 };

__global__ void add_to(float *x, const float *y, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? y[i] : 0.0f;
  __syncthreads();
  if (i < n)
    x[i] += tile[threadIdx.x];
}

struct worker {
  pthread_t thread;
  int number, device;
  cudaError_t error;
  float result;
};

#define try_cuda(call)                                                                                                 \
  do {                                                                                                                 \
    worker->error = (call);                                                                                            \
    if (worker->error != cudaSuccess)                                                                                  \
      return NULL;                                                                                                     \
  } while (0)

static void *work(void *data) {
  struct worker *worker = (struct worker *)data;
  float *x, *y, *product, *pinned, one = 1.0f, zero = 0.0f;
  cudaStream_t stream;
  cudaEvent_t event;
  cublasHandle_t handle;
  try_cuda(cudaSetDevice(worker->device));
  try_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  try_cuda(cudaEventCreate(&event));
  try_cuda(cudaMallocHost(&pinned, COUNT * sizeof *x));
  try_cuda(cudaMalloc(&x, COUNT * sizeof *x));
  try_cuda(cudaMalloc(&y, COUNT * sizeof *x));
  try_cuda(cudaMalloc(&product, sizeof *x));
  cublasCreate(&handle);
  cublasSetStream(handle, stream);
  for (int i = 0; i < COUNT; i++)
    pinned[i] = (float)(worker->number + 1);
  try_cuda(cudaMemcpyAsync(y, pinned, COUNT * sizeof *x, cudaMemcpyHostToDevice, stream));
  try_cuda(cudaMemsetAsync(x, 0, COUNT * sizeof *x, stream));
  for (int round = 0; round < ROUNDS; round++) {
    add_to<<<(COUNT + 127) / 128, 128, 0, stream>>>(x, y, COUNT);
    try_cuda(cudaEventRecord(event, stream));
    if (round % 8 == 7)
      try_cuda(cudaEventSynchronize(event));
    if (round % 10 == 9) {
      float *scratch;
      try_cuda(cudaMalloc(&scratch, 1000));
      try_cuda(cudaFree(scratch));
    }
  }
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, y, 1, &zero, product, 1);
  try_cuda(cudaMemcpyAsync(x, product, sizeof *x, cudaMemcpyDeviceToDevice, stream));
  try_cuda(cudaMemcpyAsync(pinned, x, COUNT * sizeof *x, cudaMemcpyDeviceToHost, stream));
  try_cuda(cudaStreamSynchronize(stream));
  worker->result = pinned[0] + pinned[COUNT - 1];
  cublasDestroy(handle);
  try_cuda(cudaFree(x));
  try_cuda(cudaFree(product));
  try_cuda(cudaFree(y));
  try_cuda(cudaFreeHost(pinned));
  try_cuda(cudaEventDestroy(event));
  try_cuda(cudaStreamDestroy(stream));
  return NULL;
}

static void run_workers(int devices) {
  struct worker workers[THREADS];
  memset(workers, 0, sizeof workers);
  for (int i = 0; i < THREADS; i++) {
    workers[i].number = i;
    workers[i].device = i % devices;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    check_cuda(workers[i].error);
    float sum = (float)(ROUNDS * (i + 1));
    assert_true(workers[i].result == sum * (float)(i + 1) + sum);
  }
}

static void threads_share_a_device(void **state) {
  (void)state;
  run_workers(1);
}

static void threads_have_devices_of_their_own(void **state) {
  (void)state;
  int devices;
  check_cuda(cudaGetDeviceCount(&devices));
  run_workers(devices);
}

static void *use_own_stream(void *data) {
  struct worker *worker = (struct worker *)data;
  float host = 0.0f, *x, *y;
  try_cuda(cudaMalloc(&x, sizeof host));
  try_cuda(cudaMalloc(&y, sizeof host));
  try_cuda(cudaMemcpyAsync(x, &host, sizeof host, cudaMemcpyHostToDevice, cudaStreamPerThread));
  host = 2.0f;
  try_cuda(cudaMemcpyAsync(y, &host, sizeof host, cudaMemcpyHostToDevice, cudaStreamPerThread));
  add_to<<<1, 32, 0, cudaStreamPerThread>>>(x, y, 1);
  try_cuda(cudaStreamSynchronize(cudaStreamPerThread));
  try_cuda(cudaMemcpy(&worker->result, x, sizeof host, cudaMemcpyDeviceToHost));
  try_cuda(cudaFree(x));
  try_cuda(cudaFree(y));
  return NULL;
}

static void each_thread_has_a_stream(void **state) {
  (void)state;
  struct worker workers[THREADS];
  memset(workers, 0, sizeof workers);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&workers[i].thread, NULL, use_own_stream, &workers[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    check_cuda(workers[i].error);
    assert_true(workers[i].result == 2.0f);
  }
}

static void the_last_error_belongs_to_the_thread(void **state) {
  (void)state;
  struct worker worker;
  memset(&worker, 0, sizeof worker);
  assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
  assert_int_equal(pthread_create(&worker.thread, NULL, use_own_stream, &worker), 0);
  pthread_join(worker.thread, NULL);
  check_cuda(worker.error);
  assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

struct recorder {
  cudaEvent_t event;
  cudaStream_t stream;
  volatile bool stop;
};

static void *record_again(void *data) {
  struct recorder *recorder = (struct recorder *)data;
  while (!__atomic_load_n(&recorder->stop, __ATOMIC_ACQUIRE))
    if (cudaEventRecord(recorder->event, recorder->stream) != cudaSuccess ||
        cudaEventSynchronize(recorder->event) != cudaSuccess)
      return data;
  return NULL;
}

// One thread asks for times while another records: it gets a time of some recording, or that there is none yet.
static void events_are_recorded_while_they_are_asked(void **state) {
  (void)state;
  struct recorder recorder = {};
  cudaEvent_t begin;
  pthread_t thread;
  float ms = 0;
  void *failed;
  check_cuda(cudaStreamCreate(&recorder.stream));
  check_cuda(cudaEventCreate(&begin));
  check_cuda(cudaEventCreate(&recorder.event));
  check_cuda(cudaEventRecord(begin, recorder.stream));
  check_cuda(cudaEventRecord(recorder.event, recorder.stream));
  check_cuda(cudaStreamSynchronize(recorder.stream));
  assert_int_equal(pthread_create(&thread, NULL, record_again, &recorder), 0);
  for (int i = 0; i < 100000; i++) {
    const cudaError_t error = cudaEventElapsedTime(&ms, begin, recorder.event);
    assert_true(error == cudaSuccess || error == cudaErrorNotReady);
    assert_true(ms >= 0);
    const cudaError_t asked = cudaEventQuery(recorder.event);
    assert_true(asked == cudaSuccess || asked == cudaErrorNotReady);
  }
  (void)cudaGetLastError();
  __atomic_store_n(&recorder.stop, true, __ATOMIC_RELEASE);
  pthread_join(thread, &failed);
  assert_null(failed);
  check_cuda(cudaEventDestroy(begin));
  check_cuda(cudaEventDestroy(recorder.event));
  check_cuda(cudaStreamDestroy(recorder.stream));
}

static void *ask_event(void *event) {
  return cudaEventQuery((cudaEvent_t)event) == cudaSuccess ? NULL : event;
}

// In the lazy mode a query counts, and runs what it asks for.
static void threads_ask_one_event(void **state) {
  (void)state;
  cudaEvent_t event;
  check_cuda(cudaEventCreate(&event));
  for (int round = 0; round < 20; round++) {
    pthread_t threads[2];
    check_cuda(cudaEventRecord(event, NULL));
    for (int i = 0; i < 2; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, ask_event, event), 0);
    for (int i = 0; i < 2; i++)
      pthread_join(threads[i], NULL);
    check_cuda(cudaEventSynchronize(event));
  }
  check_cuda(cudaEventDestroy(event));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_share_a_device),
      cmocka_unit_test(threads_have_devices_of_their_own),
      cmocka_unit_test(each_thread_has_a_stream),
      cmocka_unit_test(the_last_error_belongs_to_the_thread),
      cmocka_unit_test(events_are_recorded_while_they_are_asked),
      cmocka_unit_test(threads_ask_one_event),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
