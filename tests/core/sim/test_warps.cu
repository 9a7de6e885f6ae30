// SPDX-License-Identifier: MIT
// Warps and atomics: votes, shuffles, reductions, locks.
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=ascending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=random:7
// run: FERRY_SIM_MODE=threads FERRY_SIM_ORDER=random
// run check: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
// tsan
#include <cuda_runtime.h>

#include "check.h"

// ---- warps ----

struct Votes {
  unsigned int ballot, half_ballot;
  int any, all, exchanged, up, down, broadcast, counted, either, both;
};

__global__ void vote(struct Votes *out) {
  int lane = threadIdx.x & 31;
  struct Votes v;
  v.ballot = __ballot_sync(0xffffffffu, lane % 3 == 0);
  v.any = __any_sync(0xffffffffu, lane == 7);
  v.all = __all_sync(0xffffffffu, lane < 31);
  v.exchanged = __shfl_xor_sync(0xffffffffu, lane, 5);
  v.up = __shfl_up_sync(0xffffffffu, lane, 2);
  v.down = __shfl_down_sync(0xffffffffu, lane, 3, 8);
  v.broadcast = __shfl_sync(0xffffffffu, lane * 10, 3, 8);
  v.counted = __syncthreads_count(threadIdx.x % 2);
  v.either = __syncthreads_or(threadIdx.x == 40);
  v.both = __syncthreads_and(threadIdx.x < 63);
  if (lane < 16)
    v.half_ballot = __ballot_sync(0x0000ffffu, lane & 1);
  else
    v.half_ballot = __ballot_sync(0xffff0000u, lane & 1);
  __syncwarp();
  out[threadIdx.x] = v;
}

static void votes_and_shuffles(void **state) {
  (void)state;
  struct Votes got[64];
  struct Votes *out = (struct Votes *)device_copy(NULL, sizeof got);
  vote<<<1, 64>>>(out);
  check_cuda(cudaGetLastError());
  to_host(got, out, sizeof got);
  for (int t = 0; t < 64; t++) {
    int lane = t % 32;
    assert_int_equal(got[t].ballot, 0x49249249u);
    assert_true(got[t].any && !got[t].all);
    assert_int_equal(got[t].exchanged, lane ^ 5);
    assert_int_equal(got[t].up, lane < 2 ? lane : lane - 2);
    assert_int_equal(got[t].down, lane % 8 + 3 >= 8 ? lane : lane + 3);
    assert_int_equal(got[t].broadcast, (lane / 8 * 8 + 3) * 10);
    assert_int_equal(got[t].counted, 32);
    assert_true(got[t].either && !got[t].both);
    assert_int_equal(got[t].half_ballot, lane < 16 ? 0x0000aaaau : 0xaaaa0000u);
  }
  check_cuda(cudaFree(out));
}

__global__ void shuffle_types(double *doubles, long long *longs, float *floats) {
  doubles[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x * 0.1, 1);
  longs[threadIdx.x] = __shfl_sync(0xffffffffu, (long long)threadIdx.x << 40, 31 - threadIdx.x);
  floats[threadIdx.x] = __shfl_down_sync(0xffffffffu, (float)threadIdx.x, 16);
}

static void shuffles_of_each_size(void **state) {
  (void)state;
  double doubles[32];
  long long longs[32];
  float floats[32];
  double *dd = (double *)device_copy(NULL, sizeof doubles);
  long long *dl = (long long *)device_copy(NULL, sizeof longs);
  float *df = (float *)device_copy(NULL, sizeof floats);
  shuffle_types<<<1, 32>>>(dd, dl, df);
  to_host(doubles, dd, sizeof doubles);
  to_host(longs, dl, sizeof longs);
  to_host(floats, df, sizeof floats);
  for (int t = 0; t < 32; t++) {
    assert_true(doubles[t] == (t ^ 1) * 0.1);
    assert_true(longs[t] == (long long)(31 - t) << 40);
    assert_true(floats[t] == (float)(t < 16 ? t + 16 : t));
  }
  check_cuda(cudaFree(dd));
  check_cuda(cudaFree(dl));
  check_cuda(cudaFree(df));
}

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

__global__ void sum_all(const float *x, float *sum, int n) {
  __shared__ float partial[32];
  float value = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0)
      atomicAdd(sum, value);
  }
}

static void reductions(void **state) {
  (void)state;
  const int n = 50001;
  float *x = random_floats(n, 8), got;
  double want = 0;
  for (int i = 0; i < n; i++)
    want += x[i];
  float *dx = (float *)device_copy(x, n * sizeof *x), *dsum = (float *)device_copy(NULL, sizeof got);
  const int threads[] = {32, 256, 1024};
  for (size_t k = 0; k < 3; k++) {
    check_cuda(cudaMemset(dsum, 0, sizeof got));
    sum_all<<<5, threads[k]>>>(dx, dsum, n);
    to_host(&got, dsum, sizeof got);
    assert_true(fabs(got - want) < 1e-2);
  }
  check_cuda(cudaFree(dx));
  check_cuda(cudaFree(dsum));
  free(x);
}

// Lanes that have returned are not waited for.
__global__ void shuffle_in_a_part_of_a_warp(int *out, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  unsigned int mask = __activemask() & ((1u << n) - 1);
  out[i] = __shfl_sync(mask, i, n - 1) + (__popc(__ballot_sync((1u << n) - 1, 1)) << 8);
}

static void warps_with_returned_lanes(void **state) {
  (void)state;
  int got[20], *out = (int *)device_copy(NULL, sizeof got);
  shuffle_in_a_part_of_a_warp<<<1, 32>>>(out, 20);
  check_cuda(cudaGetLastError());
  to_host(got, out, sizeof got);
  for (int i = 0; i < 20; i++)
    assert_int_equal(got[i], (20 << 8) + 19);
  check_cuda(cudaFree(out));
}

// The lanes that call it together take their places by one addition. Lanes of different branches count at different counters.
__device__ int place_among(int *counter) {
  const unsigned int lanes = __activemask();
  const int lane = threadIdx.x % 32, leader = __ffs(lanes) - 1;
  int first = 0;
  if (lane == leader)
    first = atomicAdd(counter, __popc(lanes));
  return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
}

__global__ void part_in_three(const int *x, int *out, int *counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (x[i] < 10)
    out[place_among(&counts[0])] = x[i];
  else if (x[i] < 20)
    out[n + place_among(&counts[1])] = x[i];
  else
    out[2 * n + place_among(&counts[2])] = x[i];
}

static void active_lanes_of_a_function_called_in_branches(void **state) {
  (void)state;
  enum { N = 3000 };
  static int x[N], got[3][N];
  int counts[3];
  for (int i = 0; i < N; i++)
    x[i] = i * 7919 % 30;
  int *dx = (int *)device_copy(x, sizeof x), *dout = (int *)device_copy(NULL, sizeof got);
  int *dcounts = (int *)device_copy(NULL, sizeof counts);
  check_cuda(cudaMemset(dcounts, 0, sizeof counts));
  part_in_three<<<12, 256>>>(dx, dout, dcounts, N);
  to_host(counts, dcounts, sizeof counts);
  to_host(got, dout, sizeof got);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(counts[k], N / 3);
    for (int i = 0; i < N / 3; i++)
      assert_int_equal(got[k][i] / 10, k);
  }
  check_cuda(cudaFree(dx));
  check_cuda(cudaFree(dout));
  check_cuda(cudaFree(dcounts));
}

// ---- atomics ----

__global__ void histogram(const unsigned char *x, unsigned int *bins, int n) {
  __shared__ unsigned int local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}

static void histograms(void **state) {
  (void)state;
  enum { COUNT = 30000 };
  static unsigned char x[COUNT];
  unsigned int want[256] = {0}, got[256];
  for (int i = 0; i < COUNT; i++)
    want[x[i] = (unsigned char)(i * 37 % 251)]++;
  unsigned char *dx = (unsigned char *)device_copy(x, sizeof x);
  unsigned int *bins = (unsigned int *)device_copy(NULL, sizeof got);
  check_cuda(cudaMemset(bins, 0, sizeof got));
  histogram<<<16, 128>>>(dx, bins, COUNT);
  to_host(got, bins, sizeof got);
  assert_memory_equal(got, want, sizeof got);
  check_cuda(cudaFree(dx));
  check_cuda(cudaFree(bins));
}

struct Atomics {
  int added, least, greatest, anded, ored, xored, wrapped_down;
  unsigned int wrapped;
  unsigned long long wide;
  float sum;
  double precise;
};

__global__ void atomics(struct Atomics *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&a->added, i);
  atomicSub(&a->added, 1);
  atomicMin(&a->least, -i);
  atomicMax(&a->greatest, i);
  atomicAnd(&a->anded, ~(1 << i % 8));
  atomicOr(&a->ored, 1 << i % 8);
  atomicXor(&a->xored, i);
  atomicInc(&a->wrapped, 99u);
  atomicAdd(&a->wide, 1ull << 33);
  atomicAdd(&a->sum, 0.5f);
  atomicAdd(&a->precise, 0.25);
}

static void atomic_functions(void **state) {
  (void)state;
  struct Atomics a;
  memset(&a, 0, sizeof a);
  a.anded = -1;
  struct Atomics *device = (struct Atomics *)device_copy(&a, sizeof a);
  atomics<<<8, 128>>>(device);
  to_host(&a, device, sizeof a);
  int xored = 0;
  for (int i = 0; i < 1024; i++)
    xored ^= i;
  assert_int_equal(a.added, 1023 * 1024 / 2 - 1024);
  assert_int_equal(a.least, -1023);
  assert_int_equal(a.greatest, 1023);
  assert_int_equal(a.anded, ~0xff);
  assert_int_equal(a.ored, 0xff);
  assert_int_equal(a.xored, xored);
  assert_int_equal(a.wrapped, 1024 % 100);
  assert_true(a.wide == 1024ull << 33);
  assert_true(a.sum == 512.0f && a.precise == 256.0);
  check_cuda(cudaFree(device));
}

// Threads of one warp contend for a lock: only a scheduler that lets the holder go on gets through.
__global__ void count_under_a_lock(int *lock, int *count) {
  bool done = false;
  while (!done)
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int *)count += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
}

static void spin_locks(void **state) {
  (void)state;
  int got[2] = {0}, *memory = (int *)device_copy(got, sizeof got);
  count_under_a_lock<<<5, 100>>>(memory, memory + 1);
  to_host(got, memory, sizeof got);
  assert_int_equal(got[1], 500);
  check_cuda(cudaFree(memory));
}

// The last block to finish adds up what all blocks left in memory.
__global__ void sum_by_last_block(const float *x, float *partial, float *sum, unsigned int *finished, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float value = 0.0f;
    for (int i = blockIdx.x; i < n; i += gridDim.x)
      value += x[i];
    partial[blockIdx.x] = value;
    __threadfence();
    last = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float value = 0.0f;
    for (unsigned int i = 0; i < gridDim.x; i++)
      value += ((volatile float *)partial)[i];
    *sum = value;
  }
}

static void last_block_reduction(void **state) {
  (void)state;
  const int n = 10000;
  float *x = random_floats(n, 9), got;
  double want = 0;
  for (int i = 0; i < n; i++)
    want += x[i];
  float *dx = (float *)device_copy(x, n * sizeof *x), *partial = (float *)device_copy(NULL, 40 * sizeof(float));
  unsigned int zero = 0, *finished = (unsigned int *)device_copy(&zero, sizeof zero);
  float *sum = (float *)device_copy(NULL, sizeof got);
  sum_by_last_block<<<37, 64>>>(dx, partial, sum, finished, n);
  to_host(&got, sum, sizeof got);
  assert_true(fabs(got - want) < 1e-2);
  check_cuda(cudaFree(dx));
  check_cuda(cudaFree(partial));
  check_cuda(cudaFree(finished));
  check_cuda(cudaFree(sum));
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(votes_and_shuffles),
      cmocka_unit_test(shuffles_of_each_size),
      cmocka_unit_test(reductions),
      cmocka_unit_test(warps_with_returned_lanes),
      cmocka_unit_test(active_lanes_of_a_function_called_in_branches),
      cmocka_unit_test(histograms),
      cmocka_unit_test(atomic_functions),
      cmocka_unit_test(spin_locks),
      cmocka_unit_test(last_block_reduction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
