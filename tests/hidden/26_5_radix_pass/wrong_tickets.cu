// mistake: sort not stable
#include <cuda_runtime.h>

enum { THREADS = 256, DIGITS = 16 };

__global__ void count(int *counts, const unsigned int *keys, int shift, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    atomicAdd(&counts[keys[i] >> shift & 15], 1);
}

__global__ void scan(int *counts) {
  for (int digit = 0, sum = 0; digit < DIGITS; digit++) {
    int own = counts[digit];
    counts[digit] = sum;
    sum += own;
  }
}

// Each pair takes the next index of its digit.
__global__ void move(unsigned int *out_keys, int *out_values, int *next, const unsigned int *keys, const int *values,
                     int shift, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n)
    return;
  int index = atomicAdd(&next[keys[i] >> shift & 15], 1);
  out_keys[index] = keys[i];
  out_values[index] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks == 0)
    return;
  cudaMemsetAsync(scratch, 0, DIGITS * sizeof(int));
  count<<<blocks, THREADS>>>(scratch, keys, shift, n);
  scan<<<1, 1>>>(scratch);
  move<<<blocks, THREADS>>>(out_keys, out_values, scratch, keys, values, shift, n);
}
