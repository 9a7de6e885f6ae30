// Every thread counts the earlier pairs of its block with the same digit in a loop. Each digit's counts are scanned by one block,
// and the digits' totals by every thread.
#include <cuda_runtime.h>

enum { THREADS = 64 };

__global__ void count(int *counts, int *ranks, const unsigned int *keys, int shift, int n) {
  __shared__ unsigned char digits[THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, before = 0, all = 0;
  digits[t] = i < n ? keys[i] >> shift & 15 : 255;
  __syncthreads();
  for (int other = 0; other < t; other++)
    before += digits[other] == digits[t];
  if (i < n)
    ranks[i] = before;
  for (int other = 0; other < THREADS && t < 16; other++)
    all += digits[other] == t;
  if (t < 16)
    counts[t * gridDim.x + blockIdx.x] = all;
}

// counts[digit * blocks + block] becomes the number of pairs with the digit in earlier blocks.
__global__ void scan(int *counts, int *totals, int blocks) {
  __shared__ int sums[THREADS];
  int t = threadIdx.x, carry = 0;
  int *row = counts + blockIdx.x * blocks;
  for (int first = 0; first < blocks; first += THREADS) {
    int own = first + t < blocks ? row[first + t] : 0, before = 0;
    sums[t] = own;
    __syncthreads();
    for (int other = 0; other < t; other++)
      before += sums[other];
    if (first + t < blocks)
      row[first + t] = carry + before;
    for (int other = 0; other < THREADS; other++)
      carry += sums[other];
    __syncthreads();
  }
  if (t == 0)
    totals[blockIdx.x] = carry;
}

__global__ void move(unsigned int *out_keys, int *out_values, const int *counts, const int *totals, const int *ranks,
                     const unsigned int *keys, const int *values, int shift, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n)
    return;
  int digit = keys[i] >> shift & 15, to = counts[digit * gridDim.x + blockIdx.x] + ranks[i];
  for (int d = 0; d < digit; d++)
    to += totals[d];
  out_keys[to] = keys[i];
  out_values[to] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS, *totals = scratch, *ranks = scratch + 16, *counts = ranks + n;
  if (n <= 0)
    return;
  count<<<blocks, THREADS>>>(counts, ranks, keys, shift, n);
  scan<<<16, THREADS>>>(counts, totals, blocks);
  move<<<blocks, THREADS>>>(out_keys, out_values, counts, totals, ranks, keys, values, shift, n);
}
