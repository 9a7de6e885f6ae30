// SPDX-License-Identifier: MIT
// The kernels of ladders.cu. n is a multiple of BLOCK unless a kernel says otherwise.
#ifndef FERRY_TESTS_GPU_LADDERS_CUH
#define FERRY_TESTS_GPU_LADDERS_CUH

#include <cuda_runtime.h>

enum { BLOCK = 256, EDGE = 32, ROWS = 8, BINS = 256, TURNS = 64 };

// ---- global memory: strides, an offset, vectors ----------------------------------------------------------------------------------

// out[i] = in[i * STRIDE mod n], n a power of 2: one warp's loads lie STRIDE elements apart.
template <int STRIDE> __global__ void stride(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[(int)((unsigned)i * STRIDE & (unsigned)(n - 1))];
}

__global__ void offset_by_1(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i + 1 < n ? i + 1 : 0];
}

__global__ void copy_float4(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4)
    ((float4 *)out)[i] = ((const float4 *)in)[i];
}

// ---- shared memory: lanes STRIDE words apart ---------------------------------------------------------------------------------------

template <int STRIDE> __global__ void bank(int n, const float *in, float *out) {
  __shared__ float words[32 * STRIDE];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  if (threadIdx.x < 32)
    words[lane * STRIDE] = in[i < n ? i : 0];
  __syncthreads();
  float sum = 0;
  for (int turn = 0; turn < TURNS; turn++)
    sum += words[(lane + turn) % 32 * STRIDE];
  out[i] = sum;
}

// ---- transposes of an n x n matrix, tiles of 32 x 32, blocks of 32 x 8 ---------------------------------------------------------

__global__ void transpose_copy(int n, const float *in, float *out) {
  int column = blockIdx.x * EDGE + threadIdx.x, row = blockIdx.y * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    out[(row + k) * n + column] = in[(row + k) * n + column];
}

__global__ void transpose_naive(int n, const float *in, float *out) {
  int column = blockIdx.x * EDGE + threadIdx.x, row = blockIdx.y * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    out[column * n + row + k] = in[(row + k) * n + column];
}

// PITCH 32: the column that a warp reads is in one bank; 33: in all of them.
template <int PITCH> __global__ void transpose_tile(int n, const float *in, float *out) {
  __shared__ float tile[EDGE * PITCH];
  int column = blockIdx.x * EDGE + threadIdx.x, row = blockIdx.y * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    tile[(threadIdx.y + k) * PITCH + threadIdx.x] = in[(row + k) * n + column];
  __syncthreads();
  column = blockIdx.y * EDGE + threadIdx.x, row = blockIdx.x * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    out[(row + k) * n + column] = tile[threadIdx.x * PITCH + threadIdx.y + k];
}

// ---- sums: out[block] = the sum of the block's elements (Harris, Optimizing Parallel Reduction in CUDA) ----------------------------

__global__ void sum_interleaved(int n, const float *in, float *out) {
  __shared__ float part[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < BLOCK; step *= 2) {
    if (t % (2 * step) == 0)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

__global__ void sum_conflicts(int n, const float *in, float *out) {
  __shared__ float part[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < BLOCK; step *= 2) {
    int index = 2 * step * t;
    if (index < BLOCK)
      part[index] += part[index + step];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

__global__ void sum_sequential(int n, const float *in, float *out) {
  __shared__ float part[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = BLOCK / 2; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

__global__ void sum_shuffles(int n, const float *in, float *out) {
  __shared__ float part[BLOCK / 32];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  float sum = i < n ? in[i] : 0;
  for (int delta = 16; delta > 0; delta /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, delta);
  if (t % 32 == 0)
    part[t / 32] = sum;
  __syncthreads();
  if (t == 0) {
    for (int warp = 1; warp < BLOCK / 32; warp++)
      sum += part[warp];
    out[blockIdx.x] = sum;
  }
}

// ---- C = A B, all n x n, n a multiple of 64 ----------------------------------------------------------------------------------------

__global__ void product_naive(int n, const float *a, const float *b, float *c) {
  int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ void product_tiles(int n, const float *a, const float *b, float *c) {
  __shared__ float left[16 * 16], right[16 * 16];
  int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float sum = 0;
  for (int from = 0; from < n; from += 16) {
    left[ty * 16 + tx] = a[row * n + from + tx];
    right[ty * 16 + tx] = b[(from + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; k++)
      sum += left[ty * 16 + k] * right[k * 16 + tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// Tiles of 64 x 64 by blocks of 16 x 16: 4 x 4 results of each thread in registers.
__global__ void product_registers(int n, const float *a, const float *b, float *c) {
  __shared__ float left[64 * 17], right[16 * 64];
  int t = threadIdx.y * 16 + threadIdx.x, first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int from = 0; from < n; from += 16) {
    for (int i = t; i < 64 * 16; i += 256) {
      left[i / 16 * 17 + i % 16] = a[(first_row + i / 16) * n + from + i % 16];
      right[i] = b[(from + i / 64) * n + first_column + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 16; k++) {
#pragma unroll
      for (int y = 0; y < 4; y++)
#pragma unroll
        for (int x = 0; x < 4; x++)
          sum[y][x] += left[(threadIdx.y + 16 * y) * 17 + k] * right[k * 64 + threadIdx.x + 16 * x];
    }
    __syncthreads();
  }
#pragma unroll
  for (int y = 0; y < 4; y++)
#pragma unroll
    for (int x = 0; x < 4; x++)
      c[(first_row + threadIdx.y + 16 * y) * n + first_column + threadIdx.x + 16 * x] = sum[y][x];
}

// ---- histograms of values from 0 to 255 --------------------------------------------------------------------------------------------

__global__ void histogram_global(int n, const int *values, int *counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&counts[values[i]], 1);
}

__global__ void histogram_shared(int n, const int *values, int *counts) {
  __shared__ int mine[BINS];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[values[i]], 1);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// ---- arithmetic: TURNS operations of one class for each element ---------------------------------------------------------------------

__global__ void arithmetic_fma(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], y = x;
#pragma unroll
  for (int turn = 0; turn < TURNS; turn++)
    y = fmaf(y, 0.5f, x);
  out[i] = i < n ? y : 0;
}

__global__ void arithmetic_double(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i], y = x;
#pragma unroll
  for (int turn = 0; turn < TURNS; turn++)
    y = fma(y, 0.5, x);
  out[i] = i < n ? (float)y : 0;
}

__global__ void arithmetic_integer(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = in[i], y = x;
#pragma unroll
  for (int turn = 0; turn < TURNS; turn++)
    y = y * 5 + x;
  out[i] = i < n ? y : 0;
}

__global__ void arithmetic_special(int n, const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i] + 2, y = x;
#pragma unroll
  for (int turn = 0; turn < TURNS; turn++)
    y = rsqrtf(y) + x;
  out[i] = i < n ? y : 0;
}

#endif
