// SPDX-License-Identifier: MIT
// The kernels by which ./ferry bench --inspector compares a plain run with one that is looked at: the same file is compiled for
// both. argv[1]: what to call this run; argv[2]: the file that its times are added to; argv[3]: only
// this kernel.
#include <cuda_runtime.h>

#define SHUFFLE_DOWN(value, delta) __shfl_down_sync(0xffffffffu, value, delta)
#define SIMULATOR_SMALL

#include "bench.h"
#include "kernels.cuh"

// C = A B with nothing but reads of global memory.
__global__ void matmul_naive(int n, const float *a, const float *b, float *c) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// Reads along rows, writes down columns.
__global__ void transpose_naive(int n, const float *in, float *out) {
  int c = blockIdx.x * EDGE + threadIdx.x, r = blockIdx.y * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    out[c * n + r + k] = in[(r + k) * n + c];
}

// out[i] = the sum of the block's elements up to and with i.
__global__ void scan(int n, const float *x, float *out) {
  __shared__ float part[2][BLOCK];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x, now = 0;
  part[0][t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < BLOCK; step *= 2) {
    part[1 - now][t] = part[now][t] + (t >= step ? part[now][t - step] : 0);
    now = 1 - now;
    __syncthreads();
  }
  if (i < n)
    out[i] = part[now][t];
}

// Counts of 256 values, all in global memory.
__global__ void histogram_global(int n, const unsigned int *values, unsigned int *counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&counts[values[i]], 1u);
}

static void check(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
  }
}

static void *device(size_t bytes, const void *from) {
  void *pointer = NULL;
  check(cudaMalloc(&pointer, bytes), "memory");
  check(from ? cudaMemcpy(pointer, from, bytes, cudaMemcpyHostToDevice) : cudaMemset(pointer, 0, bytes), "a copy");
  return pointer;
}

enum { TIMES = 2, MILLISECONDS = 100 };

/* The least time of one launch until it is done: of two, and of as many more as are done soon, since the first ones of a process find
   neither their memory nor their stacks ready. */
#define TIMED(name, ...)                                                                                               \
  do {                                                                                                                 \
    double best = 1e30, all = 0;                                                                                       \
    for (int run = 0; (run < TIMES || all < MILLISECONDS) && (argc < 4 || strcmp(argv[3], name) == 0); run++) {        \
      const double begin = now_ms();                                                                                   \
      __VA_ARGS__;                                                                                                     \
      check(cudaDeviceSynchronize(), name);                                                                            \
      const double took = now_ms() - begin;                                                                            \
      best = took < best ? took : best;                                                                                \
      all += took;                                                                                                     \
    }                                                                                                                  \
    if (best < 1e30)                                                                                                   \
      fprintf(times, "%s\t%s\t%.5f\n", program, name, best);                                                           \
  } while (0)

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  const char *program = argv[1];
  FILE *times = fopen(argv[2], "a");
  float *floats = (float *)malloc(COUNT * sizeof *floats);
  unsigned int *values = (unsigned int *)malloc(COUNT * sizeof *values);
  if (times == NULL || floats == NULL || values == NULL)
    return 1;
  fill_floats(floats, COUNT);
  fill_values(values, COUNT);
  float *x = (float *)device(COUNT * sizeof *x, floats), *y = (float *)device(COUNT * sizeof *y, NULL);
  unsigned int *v = (unsigned int *)device(COUNT * sizeof *v, values);
  unsigned int *counts = (unsigned int *)device(BINS * sizeof *counts, NULL);
  const dim3 square(SIDE / 32, SIDE / 8), threads(32, 8), tiles(MATRIX / TILE, MATRIX / TILE), tile(TILE, TILE);
  const dim3 edges(SIDE / EDGE, SIDE / EDGE), edge(EDGE, ROWS);
  TIMED("saxpy", saxpy<<<COUNT / BLOCK, BLOCK>>>(COUNT, 2.0f, x, y));
  TIMED("stencil", stencil<<<square, threads>>>(SIDE, x, y));
  TIMED("transpose, naive", transpose_naive<<<edges, edge>>>(SIDE, x, y));
  TIMED("transpose, tiled", transpose<<<edges, edge>>>(SIDE, x, y));
  TIMED("product, naive", matmul_naive<<<tiles, tile>>>(MATRIX, x, x + MATRIX * MATRIX, y));
  TIMED("product, tiled", matmul<<<tiles, tile>>>(MATRIX, x, x + MATRIX * MATRIX, y));
  TIMED("sum, barriers", reduce_barriers<<<COUNT / BLOCK, BLOCK>>>(COUNT, x, y));
  TIMED("sum, shuffles", reduce_shuffles<<<COUNT / BLOCK, BLOCK>>>(COUNT, x, y));
  TIMED("scan", scan<<<COUNT / BLOCK, BLOCK>>>(COUNT, x, y));
  TIMED("histogram, shared", histogram<<<HISTOGRAM_BLOCKS, BLOCK>>>(COUNT, v, counts));
  TIMED("histogram, global", histogram_global<<<COUNT / BLOCK, BLOCK>>>(COUNT, v, counts));
  free(floats);
  free(values);
  check(cudaFree(x), "memory");
  check(cudaFree(y), "memory");
  check(cudaFree(v), "memory");
  check(cudaFree(counts), "memory");
  return fclose(times) == 0 ? 0 : 1;
}
