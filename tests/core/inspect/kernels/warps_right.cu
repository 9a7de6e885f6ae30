// Lanes of a warp that meetings order, directly or by way of another lane: nothing may be found.
#include <cuda_runtime.h>

// Lane 2 has never met lane 0, but lane 1, which had.
__global__ void passed_on(int *out) {
  __shared__ int data;
  if (threadIdx.x == 0)
    data = 1;
  if (threadIdx.x < 2)
    __syncwarp(0x3);
  if (threadIdx.x == 1 || threadIdx.x == 2)
    __syncwarp(0x6);
  if (threadIdx.x == 2)
    out[0] = data;
}

// Two halves, then all, then two other halves.
__global__ void halves(int *out) {
  __shared__ int data[32];
  const unsigned half = threadIdx.x < 16 ? 0xffffu : 0xffff0000u, parity = threadIdx.x % 2 ? 0xaaaaaaaau : 0x55555555u;
  data[threadIdx.x] = threadIdx.x;
  __syncwarp(half);
  int sum = data[threadIdx.x ^ 1];
  __syncwarp();
  data[threadIdx.x ^ 16] = sum;
  __syncwarp(parity);
  out[threadIdx.x] = data[threadIdx.x ^ 2] + data[threadIdx.x ^ 16];
}

// The warp of a block with 48 threads that has only 16 of them, and one whose other lanes have returned.
__global__ void few_lanes(int *out) {
  __shared__ int data[48];
  if (threadIdx.x >= 20 && threadIdx.x < 32)
    return;
  data[threadIdx.x] = threadIdx.x;
  __syncwarp(threadIdx.x < 32 ? 0xfffffu : 0xffffu);
  out[threadIdx.x] = data[threadIdx.x ^ 1];
}

// More meetings than 16 bits count, with reads and writes before, between and after them.
__global__ void many_meetings(int *out) {
  __shared__ int data[64];
  int sum = 0;
  data[threadIdx.x] = threadIdx.x;
  for (int i = 0; i < 66000; i++) {
    sum += __shfl_xor_sync(~0u, sum + i, 1);
    if (i % 8192 == 8191) {
      sum += data[threadIdx.x ^ 8];
      __syncwarp();
      data[threadIdx.x] = sum;
    }
  }
  out[threadIdx.x] = data[threadIdx.x ^ 3] + sum;
}

// The same between blocks: what is published is older than the last meetings.
__global__ void publish_after_many(int *out, int *data, int *flag) {
  int sum = 0;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 60000; i++)
      sum += __shfl_xor_sync(~0u, sum + i, 1);
    data[threadIdx.x] = sum;
    for (int i = 0; i < 6000; i++)
      sum += __shfl_xor_sync(~0u, sum + i, 1);
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(flag, sum ? 1 : 2);
    }
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncwarp();
    out[threadIdx.x] = data[threadIdx.x];
  }
}

// A lane that publishes what lanes of its part of the warp have written; one that acquires for its own part.
__global__ void publish_for_some(int *out, int *data, int *flag) {
  if (threadIdx.x >= 8)
    return;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    __syncwarp(0xff);
    if (threadIdx.x == 3) {
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (threadIdx.x == 5)
      while (atomicAdd(flag, 0) == 0) {
      }
    __syncwarp(0xff);
    out[threadIdx.x] = data[threadIdx.x];
  }
}

int main() {
  int *out, *data, *flags;
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMalloc(&data, 64 * sizeof(int));
  cudaMalloc(&flags, 2 * sizeof(int));
  cudaMemset(flags, 0, 2 * sizeof(int));
  passed_on<<<1, 32>>>(out);
  halves<<<1, 32>>>(out);
  few_lanes<<<1, 48>>>(out);
  many_meetings<<<1, 32>>>(out);
  publish_after_many<<<2, 32>>>(out, data, flags);
  publish_for_some<<<2, 32>>>(out, data + 32, flags + 1);
  cudaFree(out);
  cudaFree(data);
  cudaFree(flags);
}
