// missing star: one scan per bit or digit
// Four stable splits by one bit, each with three launches. The pairs alternate between scratch and out.
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void count_zeros(int *counts, const unsigned int *keys, int bit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int zeros = __syncthreads_count(i < n && !(keys[i] >> bit & 1));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = zeros;
}

__global__ void scan_counts(int *counts, int blocks) {
  if (threadIdx.x > 0)
    return;
  int sum = 0;
  for (int b = 0; b < blocks; b++) {
    int own = counts[b];
    counts[b] = sum;
    sum += own;
  }
  counts[blocks] = sum;
}

__global__ void split(unsigned int *out_keys, int *out_values, const int *counts, const unsigned int *keys,
                      const int *values, int bit, int n) {
  __shared__ int zeros[2][THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, from = 0;
  int flag = i < n && !(keys[i] >> bit & 1);
  zeros[0][t] = flag;
  __syncthreads();
  for (int distance = 1; distance < THREADS; distance *= 2) {
    zeros[!from][t] = zeros[from][t] + (t >= distance ? zeros[from][t - distance] : 0);
    from = !from;
    __syncthreads();
  }
  if (i >= n)
    return;
  int before = counts[blockIdx.x] + zeros[from][t] - flag;
  int to = flag ? before : counts[gridDim.x] + i - before;
  out_keys[to] = keys[i];
  out_values[to] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (n == 0)
    return;
  unsigned int *other_keys = (unsigned int *)scratch;
  int *other_values = scratch + n, *counts = scratch + 2 * n;
  for (int bit = 0; bit < 4; bit++) {
    const unsigned int *from_keys = bit == 0 ? keys : bit % 2 ? other_keys : out_keys;
    const int *from_values = bit == 0 ? values : bit % 2 ? other_values : out_values;
    count_zeros<<<blocks, THREADS>>>(counts, from_keys, shift + bit, n);
    scan_counts<<<1, 32>>>(counts, blocks);
    split<<<blocks, THREADS>>>(bit % 2 ? out_keys : other_keys, bit % 2 ? out_values : other_values, counts, from_keys,
                               from_values, shift + bit, n);
  }
}
