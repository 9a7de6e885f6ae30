// SPDX-License-Identifier: MIT
// The settings by which programs are judged: each shows what a simulator's fixed order hides, in every run.
// sim only: it asks the simulator for what a GPU leaves open
// run: FERRY_SIM_MODE=lazy FERRY_SIM_GUARD_PAGE=after FERRY_SIM_BLOCKS=descending FERRY_SIM_STORE_BUFFER=both FERRY_SIM_AHEAD=1 FERRY_SIM_POLLS=3
// run check: FERRY_SIM_MODE=lazy FERRY_SIM_GUARD_PAGE=after FERRY_SIM_BLOCKS=descending FERRY_SIM_STORE_BUFFER=both FERRY_SIM_AHEAD=1 FERRY_SIM_POLLS=3 FERRY_SIM_ORDER=random:5
#define CUDASIM_JUDGED
#include <cuda_runtime.h>

#include "check.h"
#include "sim/base/cudasim.h"

enum { BLOCKS = 8, THREADS = 64 };

static int *zeros(int count) {
  int *memory = (int *)device_copy(NULL, count * sizeof *memory);
  check_cuda(cudaMemset(memory, 0, count * sizeof *memory));
  return memory;
}

static void fetch_and_free(int *host, int *device, int count) {
  to_host(host, device, count * sizeof *host);
  check_cuda(cudaFree(device));
}

__global__ void note_turns(int *turn, int *order) {
  order[atomicAdd(turn, 1)] = blockIdx.x;
}

static void blocks_run_in_the_order_that_is_asked_for(void **state) {
  (void)state;
  int *turn = zeros(1), *order = zeros(BLOCKS), got[BLOCKS];
  note_turns<<<BLOCKS, 1>>>(turn, order);
  fetch_and_free(got, order, BLOCKS);
  for (int i = 0; i < BLOCKS; i++)
    assert_int_equal(got[i], BLOCKS - 1 - i);
  check_cuda(cudaFree(turn));
}

__global__ void add_plainly(int *sum) {
  *sum += 1;
}

__global__ void add_atomically(int *sum) {
  atomicAdd(sum, 1);
}

static void additions_of_blocks_are_lost_unless_they_are_atomic(void **state) {
  (void)state;
  int *sum = zeros(1), got;
  add_plainly<<<BLOCKS, 1>>>(sum);
  fetch_and_free(&got, sum, 1);
  assert_int_equal(got, 1);
  sum = zeros(1);
  add_atomically<<<BLOCKS, 1>>>(sum);
  fetch_and_free(&got, sum, 1);
  assert_int_equal(got, BLOCKS);
}

__global__ void last_block_adds(int *sum, int *partial, int *finished, int fence) {
  partial[blockIdx.x] = 1;
  if (fence)
    __threadfence();
  if (atomicAdd(finished, 1) != (int)gridDim.x - 1)
    return;
  for (unsigned b = 0; b < gridDim.x; b++)
    *sum += partial[b];
}

static void the_last_block_sees_what_was_fenced(void **state) {
  (void)state;
  for (int fence = 0; fence < 2; fence++) {
    int *sum = zeros(1), *partial = zeros(BLOCKS), *finished = zeros(1), got;
    last_block_adds<<<BLOCKS, 1>>>(sum, partial, finished, fence);
    fetch_and_free(&got, sum, 1);
    assert_int_equal(got, fence ? BLOCKS : 1);
    check_cuda(cudaFree(partial));
    check_cuda(cudaFree(finished));
  }
}

__global__ void turn_round(int *out, int barrier) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = threadIdx.x;
  if (barrier)
    __syncthreads();
  out[threadIdx.x] = shared[THREADS - 1 - threadIdx.x];
}

static void shared_memory_is_seen_after_the_barrier(void **state) {
  (void)state;
  for (int barrier = 0; barrier < 2; barrier++) {
    int *out = zeros(THREADS), got[THREADS];
    turn_round<<<1, THREADS, THREADS * sizeof(int)>>>(out, barrier);
    fetch_and_free(got, out, THREADS);
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(got[i], barrier ? THREADS - 1 - i : 0x7f7f7f7f);
  }
}

__global__ void write_behind_shared(int *out) {
  extern __shared__ int shared[];
  shared[THREADS + threadIdx.x / THREADS] = 1;
  *out = shared[0];
}

static void guards_of_shared_memory_are_looked_at(void **state) {
  (void)state;
  int *out = zeros(1);
  write_behind_shared<<<1, THREADS, THREADS * sizeof(int)>>>(out);
  check_error(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  check_cuda(cudaDeviceReset());
  assert_non_null(strstr(cudasim_fault(), "[64] was written, outside of the shared array"));
}

static void a_stream_that_does_not_wait_comes_too_early(void **state) {
  (void)state;
  cudaStream_t first, second;
  check_cuda(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  check_cuda(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  int *x = zeros(1), *pinned;
  check_cuda(cudaMallocHost(&pinned, sizeof *pinned));
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaMemcpyAsync(pinned, x, sizeof *x, cudaMemcpyDeviceToHost, first));
  check_cuda(cudaMemsetAsync(x, 1, sizeof *x, second)); // should wait for the copy
  check_cuda(cudaStreamSynchronize(first));
  assert_int_equal(*pinned, 0x01010101);
  check_cuda(cudaFree(x));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaStreamDestroy(first));
  check_cuda(cudaStreamDestroy(second));
}

// The ways from the last node to the first double with each turn: looking for what can run takes each node once, or it never ends.
static void streams_that_wait_for_each_other_often_end(void **state) {
  (void)state;
  enum { TURNS = 60 };
  cudaStream_t first, second;
  cudaEvent_t of_first, of_second;
  int *x = zeros(2);
  check_cuda(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  check_cuda(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  check_cuda(cudaEventCreate(&of_first));
  check_cuda(cudaEventCreate(&of_second));
  check_cuda(cudaDeviceSynchronize());
  for (int i = 0; i < TURNS; i++) {
    check_cuda(cudaEventRecord(of_first, first));
    check_cuda(cudaEventRecord(of_second, second));
    check_cuda(cudaStreamWaitEvent(first, of_second, 0));
    check_cuda(cudaStreamWaitEvent(second, of_first, 0));
    check_cuda(cudaMemsetAsync(x, i, sizeof *x, first));
    check_cuda(cudaMemsetAsync(x + 1, i, sizeof *x, second));
  }
  check_cuda(cudaStreamSynchronize(second));
  check_cuda(cudaFree(x));
  check_cuda(cudaEventDestroy(of_first));
  check_cuda(cudaEventDestroy(of_second));
  check_cuda(cudaStreamDestroy(first));
  check_cuda(cudaStreamDestroy(second));
}

static void a_query_is_no_wait(void **state) {
  (void)state;
  cudaStream_t stream;
  int *x = zeros(1);
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaMemsetAsync(x, 1, sizeof *x, stream));
  for (int i = 0; i < 3; i++)
    check_error(cudaStreamQuery(stream), cudaErrorNotReady);
  check_cuda(cudaStreamQuery(stream));
  check_cuda(cudaFree(x));
  check_cuda(cudaStreamDestroy(stream));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_run_in_the_order_that_is_asked_for),
      cmocka_unit_test(additions_of_blocks_are_lost_unless_they_are_atomic),
      cmocka_unit_test(the_last_block_sees_what_was_fenced),
      cmocka_unit_test(shared_memory_is_seen_after_the_barrier),
      cmocka_unit_test(guards_of_shared_memory_are_looked_at),
      cmocka_unit_test(a_stream_that_does_not_wait_comes_too_early),
      cmocka_unit_test(streams_that_wait_for_each_other_often_end),
      cmocka_unit_test(a_query_is_no_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
