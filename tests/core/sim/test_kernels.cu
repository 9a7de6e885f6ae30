// Kernels that use what CUDA offers within a grid: indices, shared memory, barriers, warps, votes, atomics.
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=ascending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=random:7
// run: FERRY_SIM_MODE=threads FERRY_SIM_ORDER=random
// run: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
// run: FERRY_SIM_MODE=sync
// tsan
#include <cuda_runtime.h>

#include "check.h"

static int blocks_for(int n, int threads) {
  return (n + threads - 1) / threads;
}

// ---- indices ----

__global__ void record_indices(unsigned int *out) {
  unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
  atomicAdd(&out[block * threads + thread], 1 + threadIdx.x * 7 + threadIdx.y * 5 + threadIdx.z * 3 + block);
}

static void every_thread_of_a_3d_grid_runs_once(void **state) {
  (void)state;
  const dim3 grid(3, 2, 2), block(5, 4, 3);
  enum { COUNT = 12 * 60 };
  unsigned int got[COUNT];
  unsigned int *out = (unsigned int *)device_copy(NULL, sizeof got);
  check_cuda(cudaMemset(out, 0, sizeof got));
  record_indices<<<grid, block>>>(out);
  check_cuda(cudaGetLastError());
  to_host(got, out, sizeof got);
  for (unsigned int i = 0; i < COUNT; i++) {
    unsigned int thread = i % 60;
    assert_int_equal(got[i], 1 + thread % 5 * 7 + thread / 5 % 4 * 5 + thread / 20 * 3 + i / 60);
  }
  check_cuda(cudaFree(out));
}

__global__ void add_strided(const float *a, const float *b, float *sum, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum[i] = a[i] + b[i];
}

static void elementwise_sum_of_many_blocks(void **state) {
  (void)state;
  const int n = 100003;
  float *a = random_floats(n, 1), *b = random_floats(n, 2), *got = random_floats(n, 3);
  float *da = (float *)device_copy(a, n * sizeof *a), *db = (float *)device_copy(b, n * sizeof *b);
  float *dc = (float *)device_copy(NULL, n * sizeof *a);
  const int blocks[] = {1, 7, blocks_for(n, 256)};
  for (size_t k = 0; k < 3; k++) {
    check_cuda(cudaMemset(dc, 0, n * sizeof *a));
    add_strided<<<blocks[k], 256>>>(da, db, dc, n);
    to_host(got, dc, n * sizeof *a);
    for (int i = 0; i < n; i++)
      assert_true(got[i] == a[i] + b[i]);
  }
  check_cuda(cudaFree(da));
  check_cuda(cudaFree(db));
  check_cuda(cudaFree(dc));
  free(a);
  free(b);
  free(got);
}

// ---- shared memory and barriers ----

template <int TILE> __global__ void multiply_tiled(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0.0f;
  for (int first = 0; first < k; first += TILE) {
    a_tile[ty][tx] = row < m && first + tx < k ? a[row * k + first + tx] : 0.0f;
    b_tile[ty][tx] = first + ty < k && column < n ? b[(first + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += a_tile[ty][i] * b_tile[i][tx];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

template <int TILE> static void check_tiled_product(void) {
  const int m = 70, n = 90, k = 50;
  float *a = random_floats(m * k, 4), *b = random_floats(k * n, 5), *want = random_floats(m * n, 6);
  float *got = random_floats(m * n, 7);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int p = 0; p < k; p++)
        sum += (double)a[i * k + p] * b[p * n + j];
      want[i * n + j] = (float)sum;
    }
  float *da = (float *)device_copy(a, m * k * sizeof *a), *db = (float *)device_copy(b, k * n * sizeof *b);
  float *dc = (float *)device_copy(NULL, m * n * sizeof *a);
  const dim3 grid(blocks_for(n, TILE), blocks_for(m, TILE)), block(TILE, TILE);
  multiply_tiled<TILE><<<grid, block>>>(da, db, dc, m, n, k);
  check_cuda(cudaGetLastError());
  to_host(got, dc, m * n * sizeof *a);
  check_near(got, want, m * n, 1e-5f);
  check_cuda(cudaFree(da));
  check_cuda(cudaFree(db));
  check_cuda(cudaFree(dc));
  free(a);
  free(b);
  free(want);
  free(got);
}

static void tiled_products(void **state) {
  (void)state;
  check_tiled_product<8>();
  check_tiled_product<16>();
  check_tiled_product<32>();
}

// Each thread reads what its neighbour wrote: wrong in some order of threads without the barrier.
__global__ void rotate(const int *in, int *out, int n) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared[(threadIdx.x + n) % blockDim.x];
}

static void dynamic_shared_memory(void **state) {
  (void)state;
  enum { BLOCKS = 3, THREADS = 96 };
  int in[BLOCKS * THREADS], got[BLOCKS * THREADS];
  for (int i = 0; i < BLOCKS * THREADS; i++)
    in[i] = i * i;
  int *din = (int *)device_copy(in, sizeof in), *dout = (int *)device_copy(NULL, sizeof in);
  rotate<<<BLOCKS, THREADS, THREADS * sizeof(int)>>>(din, dout, 5);
  to_host(got, dout, sizeof got);
  for (int i = 0; i < BLOCKS * THREADS; i++)
    assert_int_equal(got[i], in[i / THREADS * THREADS + (i % THREADS + 5) % THREADS]);
  check_cuda(cudaFree(din));
  check_cuda(cudaFree(dout));
}

// More than 48 KB must be asked for, as on a GPU.
static void large_dynamic_shared_memory_is_opted_into(void **state) {
  (void)state;
  enum { THREADS = 64, BYTES = 60000 };
  int in[THREADS] = {0};
  int *din = (int *)device_copy(in, sizeof in), *dout = (int *)device_copy(in, sizeof in);
  rotate<<<1, THREADS, BYTES>>>(din, dout, 1);
  check_error(cudaGetLastError(), cudaErrorInvalidValue);
  check_cuda(cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
  rotate<<<1, THREADS, BYTES>>>(din, dout, 1);
  check_cuda(cudaGetLastError());
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaFree(din));
  check_cuda(cudaFree(dout));
}

__global__ void count_barriers(int *out, int rounds) {
  __shared__ int turn;
  if (threadIdx.x == 0)
    turn = 0;
  __syncthreads();
  for (int r = 0; r < rounds; r++) {
    if ((int)threadIdx.x == r % (int)blockDim.x)
      turn += r;
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = turn;
}

static void barriers_in_a_loop(void **state) {
  (void)state;
  const int shapes[] = {1, 2, 31, 32, 33, 256, 1023, 1024};
  int *got = (int *)malloc(2 * 1024 * sizeof *got), *out = (int *)device_copy(NULL, 2 * 1024 * sizeof *got);
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    count_barriers<<<2, shapes[s]>>>(out, 50);
    check_cuda(cudaGetLastError());
    to_host(got, out, 2 * shapes[s] * sizeof *got);
    for (int i = 0; i < 2 * shapes[s]; i++)
      assert_int_equal(got[i], 49 * 50 / 2);
  }
  check_cuda(cudaFree(out));
  free(got);
}

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

// ---- ways to launch ----

__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= factor;
}

static void launches_without_brackets(void **state) {
  (void)state;
  float values[3] = {1, 2, 3}, factor = 2.0f, *x = (float *)device_copy(values, sizeof values);
  int n = 3;
  void *arguments[] = {&x, &factor, &n};
  check_cuda(cudaLaunchKernel(scale, dim3(1), dim3(32), arguments, 0, 0));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(4);
  check_cuda(cudaLaunchKernelEx(&config, scale, x, 3.0f, 2));
  void (*table[])(float *, float, int) = {scale};
  table[0]<<<1, 3>>>(x, 5.0f, 3);
  to_host(values, x, sizeof values);
  assert_true(values[0] == 30.0f && values[1] == 60.0f && values[2] == 30.0f);
  check_cuda(cudaFree(x));
}

__constant__ float coefficients[4];
__device__ int device_counter;

__global__ void evaluate(float *x) {
  float v = x[threadIdx.x];
  x[threadIdx.x] = coefficients[0] + v * (coefficients[1] + v * (coefficients[2] + v * coefficients[3]));
  atomicAdd(&device_counter, 1);
}

static void constant_and_device_variables(void **state) {
  (void)state;
  const float c[4] = {1, 2, 3, 4};
  float values[2] = {2, -1}, *x = (float *)device_copy(values, sizeof values);
  int counter = 5;
  check_cuda(cudaMemcpyToSymbol(coefficients, c, sizeof c));
  check_cuda(cudaMemcpyToSymbol(device_counter, &counter, sizeof counter));
  evaluate<<<1, 2>>>(x);
  check_cuda(cudaMemcpyFromSymbol(&counter, device_counter, sizeof counter));
  to_host(values, x, sizeof values);
  assert_true(values[0] == 49.0f && values[1] == -2.0f);
  assert_int_equal(counter, 7);
  check_cuda(cudaFree(x));
}

__global__ void maths(float *out) {
  int n = 0;
  out[n++] = rsqrtf(4.0f) + sqrtf(9.0f) + fmaxf(1.0f, 2.0f) + fminf(1.0f, 2.0f);
  out[n++] = fmaf(2.0f, 3.0f, 4.0f) + powf(2.0f, 3.0f) + fabsf(-1.0f);
  out[n++] = __int_as_float(__float_as_int(1.5f)) + max(2, 3) + min(2.0f, 3.0f) + max(1u, 2u);
  out[n++] = (float)(__popc(0xffu) + __ffs(8) + __clz(1) + (int)__umulhi(1u << 31, 4u) + __popcll(~0ull));
  out[n++] = __fdividef(1.0f, 4.0f) + __ldg(out) + (float)__float2int_rn(2.5f) + (float)__brev(1u << 31);
  out[n++] = erff(0.0f) + tanhf(0.0f) + expf(0.0f) + logf(1.0f);
  float4 v = make_float4(1, 2, 3, 4);
  out[n++] = v.x + v.y + v.z + v.w + (float)make_int2(5, 6).y;
}

static void device_maths(void **state) {
  (void)state;
  const float want[7] = {6.5f, 19.0f, 8.5f, 8 + 4 + 31 + 2 + 64, 0.25f + 6.5f + 2 + 1, 1.0f, 16.0f};
  float got[7], *out = (float *)device_copy(NULL, sizeof got);
  maths<<<1, 1>>>(out);
  check_cuda(cudaGetLastError());
  to_host(got, out, sizeof got);
  check_near(got, want, 7, 1e-6f);
  check_cuda(cudaFree(out));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_thread_of_a_3d_grid_runs_once),
      cmocka_unit_test(elementwise_sum_of_many_blocks),
      cmocka_unit_test(tiled_products),
      cmocka_unit_test(dynamic_shared_memory),
      cmocka_unit_test(large_dynamic_shared_memory_is_opted_into),
      cmocka_unit_test(barriers_in_a_loop),
      cmocka_unit_test(votes_and_shuffles),
      cmocka_unit_test(shuffles_of_each_size),
      cmocka_unit_test(reductions),
      cmocka_unit_test(warps_with_returned_lanes),
      cmocka_unit_test(histograms),
      cmocka_unit_test(atomic_functions),
      cmocka_unit_test(spin_locks),
      cmocka_unit_test(last_block_reduction),
      cmocka_unit_test(launches_without_brackets),
      cmocka_unit_test(constant_and_device_variables),
      cmocka_unit_test(device_maths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
