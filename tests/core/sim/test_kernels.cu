// SPDX-License-Identifier: MIT
// Kernels that use what CUDA offers within a grid: indices, shared memory, barriers, device variables, maths.
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=ascending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=random:7
// run: FERRY_SIM_MODE=threads FERRY_SIM_ORDER=random
// run: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
// run check: FERRY_SIM_MODE=sync
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

// Each thread reads what its neighbor wrote: wrong in some order of threads without the barrier.
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

__constant__ float first_weights[9];
__device__ int after_them = 7;
__device__ float table[] = {1, 2, 3};
#ifdef FERRY_SIM                     // nvcc takes it with separate compilation (-rdc=true) only
extern __device__ float elsewhere[]; // a size that only its definition tells
#endif
__device__ float elsewhere[4];

static void copies_stay_within_a_variable(void **state) {
  (void)state;
  float values[19] = {0};
  check_cuda(cudaMemcpyToSymbol(first_weights, values, sizeof first_weights));
  check_cuda(cudaMemcpyToSymbol(first_weights, values, 4, sizeof first_weights - 4));
  check_cuda(cudaMemcpyToSymbol(table, values, 2 * sizeof(float), sizeof(float)));
  check_cuda(cudaMemcpyToSymbol(elsewhere, values, sizeof(float), 3 * sizeof(float)));
  check_error(cudaMemcpyToSymbol(first_weights, values, sizeof values), cudaErrorInvalidValue);
  check_error(cudaMemcpyToSymbol(first_weights, values, 4, sizeof first_weights), cudaErrorInvalidValue);
  check_error(cudaMemcpyToSymbol(first_weights, values, 8, (size_t)-4), cudaErrorInvalidValue);
  check_error(cudaMemcpyFromSymbol(values, first_weights, sizeof first_weights, 1), cudaErrorInvalidValue);
  check_error(cudaMemcpyFromSymbol(values, after_them, 8), cudaErrorInvalidValue);
  check_error(cudaMemcpyToSymbolAsync(first_weights, values, sizeof values), cudaErrorInvalidValue);
  check_error(cudaMemcpyFromSymbolAsync(values, table, sizeof table, sizeof(float)), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpyFromSymbol(values, after_them, 8), cudaErrorInvalidValue);
  assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
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

// A float's function returns a float: the double's would be computed, and counted, as float64.
#define RETURNS(expression, T) static_assert(sizeof(expression) == sizeof(T), #expression)
#define BOTH(name)                                                                                                     \
  RETURNS(name(0.5f), float);                                                                                          \
  RETURNS(name(0.5), double)
BOTH(rsqrt);
BOTH(rcbrt);
BOTH(exp10);
BOTH(sinpi);
BOTH(cospi);
BOTH(erfinv);
BOTH(erfcinv);
BOTH(normcdf);
BOTH(normcdfinv);
BOTH(erfcx);

__global__ void call_overloads(float *got, float *want) {
  const float x = 0.3f;
  const float of_float[] = {rsqrt(x),  rcbrt(x),   exp10(x),   sinpi(x),      cospi(x),
                            erfinv(x), erfcinv(x), normcdf(x), normcdfinv(x), erfcx(x)};
  const float named[] = {rsqrtf(x),  rcbrtf(x),   exp10f(x),   sinpif(x),      cospif(x),
                         erfinvf(x), erfcinvf(x), normcdff(x), normcdfinvf(x), erfcxf(x)};
  for (int i = 0; i < 10; i++) {
    got[i] = of_float[i];
    want[i] = named[i];
  }
  sincospi(x, &got[10], &got[11]);
  sincospif(x, &want[10], &want[11]);
}

static void maths_overloaded_for_float(void **state) {
  (void)state;
  enum { COUNT = 12 };
  float got[COUNT], want[COUNT];
  float *out = (float *)device_copy(NULL, 2 * sizeof got);
  call_overloads<<<1, 1>>>(out, out + COUNT);
  check_cuda(cudaGetLastError());
  to_host(got, out, sizeof got);
  to_host(want, out + COUNT, sizeof want);
  assert_memory_equal(got, want, sizeof got);
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
      cmocka_unit_test(launches_without_brackets),
      cmocka_unit_test(constant_and_device_variables),
      cmocka_unit_test(copies_stay_within_a_variable),
      cmocka_unit_test(device_maths),
      cmocka_unit_test(maths_overloaded_for_float),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
