// Programs that are right, although something in them looks like a fault: nothing may be found.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 128 };

// The block that is last sums up: a fence, an atomic, and a barrier between the thread that saw it and the others.
__global__ void last_block(float *sum, float *part, unsigned *count, const float *in) {
  __shared__ float sums[THREADS];
  __shared__ bool last;
  sums[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    sum[threadIdx.x + 1] = threadIdx.x < gridDim.x ? part[threadIdx.x] : 0;
    if (threadIdx.x == 0)
      *count = 0; // for the next launch
  }
}

// Each thread writes and says so before the barrier; one counts for all.
__global__ void all_fence(float *sum, float *part, unsigned *count) {
  __shared__ bool last;
  part[blockIdx.x * THREADS + threadIdx.x] = (float)threadIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  __syncthreads();
  if (last)
    for (unsigned i = threadIdx.x; i < gridDim.x * THREADS; i += THREADS)
      sum[threadIdx.x] += part[i];
}

// A lock that one thread of each block takes.
__global__ void locked(int *lock, float *sum) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *sum += (float)blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
  }
}

// Each block waits for the one before it, and adds to what that one left.
__global__ void chained(int *ready, float *running) {
  __shared__ float before;
  if (threadIdx.x == 0) {
    while (blockIdx.x > 0 && atomicAdd(&ready[blockIdx.x - 1], 0) == 0) {
    }
    __threadfence();
    before = blockIdx.x > 0 ? running[blockIdx.x - 1] : 0;
    running[blockIdx.x] = before + 1;
    __threadfence();
    atomicExch(&ready[blockIdx.x], 1);
  }
}

__global__ void warp_with_meetings(float *out, const float *in) {
  __shared__ volatile float sums[THREADS + 32];
  int t = threadIdx.x;
  sums[t] = in[t];
  if (t < 32)
    sums[THREADS + t] = 0;
  __syncthreads();
  if (t < 32) {
    for (int step = 64; step > 0; step /= 2) {
      float other = sums[t + step];
      __syncwarp();
      sums[t] = sums[t] + other;
      __syncwarp();
    }
  }
  if (t == 0)
    out[0] = sums[0];
}

// Lanes that meet with a mask of their own.
__global__ void half_warps(float *out) {
  __shared__ float tile[32];
  int t = threadIdx.x;
  unsigned mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
  tile[t] = (float)t;
  __syncwarp(mask);
  out[t] = tile[t / 16 * 16 + 15 - t % 16];
}

__global__ void shuffles(float *out, const float *in) {
  float sum = in[threadIdx.x];
  for (int lane = 16; lane > 0; lane /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0)
    out[threadIdx.x / 32] = sum;
}

// While one tile is used the next one is loaded.
__global__ void double_buffer(float *out, const float *in, int tiles) {
  __shared__ float room[2][THREADS];
  float *now = room[0], *next = room[1], sum = 0;
  now[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int i = 1; i <= tiles; i++) {
    if (i < tiles)
      next[threadIdx.x] = in[i * THREADS + threadIdx.x];
    sum += now[THREADS - 1 - threadIdx.x];
    __syncthreads();
    float *swap = now;
    now = next;
    next = swap;
  }
  out[threadIdx.x] = sum;
}

__global__ void bytes_and_halves(unsigned char *bytes, __half *halves) {
  bytes[threadIdx.x] = (unsigned char)threadIdx.x;
  halves[threadIdx.x] = __float2half(1.0f);
}

struct Padded {
  char tag;
  int value;
};

// The gap between the members is never written, and nobody minds.
__global__ void padded(Padded *to, Padded *from) {
  from[threadIdx.x].tag = 1;
  from[threadIdx.x].value = 2;
  Padded own = from[threadIdx.x];
  to[threadIdx.x] = own;
}

__global__ void three_of_four(float4 *v, float *out) {
  v[threadIdx.x].x = 1;
  v[threadIdx.x].y = 2;
  v[threadIdx.x].z = 3;
  float4 own = v[threadIdx.x];
  out[threadIdx.x] = own.x + own.y + own.z;
}

__global__ void histogram(int *bins, const int *in) {
  __shared__ int own[16];
  if (threadIdx.x < 16)
    own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[in[blockIdx.x * THREADS + threadIdx.x] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16)
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__device__ int total;
__constant__ int factor;
template <class T> __global__ void with_variables(T *out) {
  extern __shared__ char room[];
  T *tile = reinterpret_cast<T *>(room);
  tile[threadIdx.x] = (T)threadIdx.x * factor;
  __syncthreads();
  out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
  if (threadIdx.x == 0)
    atomicAdd(&total, 1);
}

// Two arrays by pointers, each to its end.
static __device__ void fill(float *part, int count, float value) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    part[i] = value;
}
__global__ void through_parameters(float *out) {
  __shared__ float first[THREADS], second[THREADS];
  fill(first, THREADS, 1);
  fill(second, THREADS, 2);
  __syncthreads();
  out[threadIdx.x] = first[THREADS - 1 - threadIdx.x] + second[threadIdx.x];
}

// The vote carries its answer over the barrier: it orders something although memory does not show it.
__global__ void votes(int *out, const int *in) {
  int any = __syncthreads_or(in[threadIdx.x] > 100);
  out[threadIdx.x] = any;
}

__global__ void copies(float *out, const float *in) {
  float own[8];
  memcpy(own, in + 8 * threadIdx.x, sizeof own);
  memcpy(out + 8 * threadIdx.x, own, sizeof own);
}

// Each block has a counter of its own, in either memory; what all blocks share is updated for the whole device.
__global__ void within_its_block(int *counts, int *all) {
  __shared__ int own;
  if (threadIdx.x == 0)
    own = 0;
  __syncthreads();
  atomicAdd_block(&own, 1);
  atomicAdd_block(&counts[blockIdx.x], 1);
  atomicAdd(&counts[blockIdx.x], 1);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd_system(all, own);
}

int main(void) {
  enum { BYTES = 16384 };
  float *in, *out, *part;
  int *counts, three = 3;
  cudaMalloc(&in, BYTES);
  cudaMalloc(&out, BYTES);
  cudaMalloc(&part, BYTES);
  cudaMalloc(&counts, BYTES);
  cudaMemset(in, 0, BYTES);
  cudaMemset(out, 0, BYTES);
  cudaMemset(counts, 0, BYTES);
  cudaMemcpyToSymbol(factor, &three, sizeof three);
  last_block<<<8, THREADS>>>(out, part, (unsigned *)counts, in);
  last_block<<<8, THREADS>>>(out, part, (unsigned *)counts, in);
  all_fence<<<8, THREADS>>>(out, part, (unsigned *)counts);
  locked<<<8, THREADS>>>(counts + 8, out);
  chained<<<8, THREADS>>>(counts + 16, part);
  warp_with_meetings<<<1, THREADS>>>(out, in);
  half_warps<<<1, 32>>>(out);
  shuffles<<<1, THREADS>>>(out, in);
  double_buffer<<<1, THREADS>>>(out, in, 5);
  float *fresh;
  cudaMalloc(&fresh, BYTES);
  bytes_and_halves<<<1, THREADS>>>((unsigned char *)fresh, (__half *)(fresh + 512));
  padded<<<1, THREADS>>>((Padded *)fresh, (Padded *)(fresh + 1024));
  three_of_four<<<1, THREADS>>>((float4 *)(fresh + 2048), out);
  histogram<<<8, THREADS>>>(counts + 64, (int *)in);
  within_its_block<<<8, THREADS>>>(counts + 96, counts + 112);
  within_its_block<<<4, THREADS>>>(counts + 100, counts + 112); // what was another block's in the launch before
  with_variables<float><<<1, THREADS, THREADS * sizeof(float)>>>(out);
  with_variables<int><<<1, THREADS, THREADS * sizeof(int)>>>((int *)out);
  through_parameters<<<1, THREADS>>>(out);
  votes<<<1, THREADS>>>((int *)out, (int *)in);
  copies<<<1, THREADS>>>(out, in);
  cudaError_t error = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(error));
  cudaFree(in);
  cudaFree(out);
  cudaFree(part);
  cudaFree(counts);
  cudaFree(fresh);
  return error != cudaSuccess;
}
