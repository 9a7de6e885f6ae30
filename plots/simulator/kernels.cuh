// SPDX-License-Identifier: MIT
// The seven kernels that ./ferry bench --simulator times, as a book on CUDA writes them. The same text is compiled for Ferry's
// simulator and for HIP-CPU; simulator.cl says the same in OpenCL.
#ifndef SIMULATOR_KERNELS_CUH
#define SIMULATOR_KERNELS_CUH

enum { TILE = 16, BLOCK = 256, BINS = 256, EDGE = 32, ROWS = 8 };

// One thread for each element.
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

// out[r][c] = the mean of a point and its four neighbors; points on the edge stay 0.
__global__ void stencil(int n, const float *in, float *out) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c > 0 && r > 0 && c < n - 1 && r < n - 1)
    out[r * n + c] =
        0.2f * (in[r * n + c] + in[r * n + c - 1] + in[r * n + c + 1] + in[(r - 1) * n + c] + in[(r + 1) * n + c]);
}

// C = A B, all n x n, with tiles of 16 x 16 in shared memory.
__global__ void matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    left[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// out[c][r] = in[r][c]: tiles of 32 x 32, each by a block of 32 x 8 threads.
__global__ void transpose(int n, const float *in, float *out) {
  __shared__ float tile[EDGE][EDGE + 1];
  int c = blockIdx.x * EDGE + threadIdx.x, r = blockIdx.y * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    tile[threadIdx.y + k][threadIdx.x] = in[(r + k) * n + c];
  __syncthreads();
  c = blockIdx.y * EDGE + threadIdx.x;
  r = blockIdx.x * EDGE + threadIdx.y;
  for (int k = 0; k < EDGE; k += ROWS)
    out[(r + k) * n + c] = tile[threadIdx.x][threadIdx.y + k];
}

// sums[block] = the sum of the block's elements, halving the number of threads that add at each step.
__global__ void reduce_barriers(int n, const float *x, float *sums) {
  __shared__ float part[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}

// The same by shuffles within warps, and one barrier.
__global__ void reduce_shuffles(int n, const float *x, float *sums) {
  __shared__ float part[32];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = i < n ? x[i] : 0;
  for (int delta = 16; delta > 0; delta /= 2)
    sum += SHUFFLE_DOWN(sum, delta);
  if (t % 32 == 0)
    part[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = t < BLOCK / 32 ? part[t] : 0;
    for (int delta = 16; delta > 0; delta /= 2)
      sum += SHUFFLE_DOWN(sum, delta);
    if (t == 0)
      sums[blockIdx.x] = sum;
  }
}

// Counts of 256 values: each block counts its part in shared memory, then adds that to the whole.
__global__ void histogram(int n, const unsigned int *values, unsigned int *counts) {
  __shared__ unsigned int mine[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[values[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    atomicAdd(&counts[b], mine[b]);
}

// One thread that does nothing: what a launch costs.
__global__ void nothing(int n) {
  (void)n;
}

#endif
