// The flags' inclusive scan is in scratch; each run finds its beginning by a binary search in it.
#include <cuda_runtime.h>

enum { THREADS = 128, CHUNKS = 512 };

static __device__ bool is_head(const int *x, int i) {
  return i == 0 || x[i] != x[i - 1];
}

__global__ void count_heads(int *counts, const int *x, int n, int each) {
  int chunk = blockIdx.x * THREADS + threadIdx.x, heads = 0;
  for (int i = chunk * each; i < (chunk + 1) * each && i < n; i++)
    heads += is_head(x, i);
  counts[chunk] = heads;
}

__global__ void scan_counts(int *counts, int *count) {
  __shared__ int sums[CHUNKS];
  int t = threadIdx.x;
  sums[t] = counts[t];
  for (int distance = 1; distance < CHUNKS; distance *= 2) {
    __syncthreads();
    int other = t >= distance ? sums[t - distance] : 0;
    __syncthreads();
    sums[t] += other;
  }
  counts[t] = sums[t];
  if (t == CHUNKS - 1)
    *count = sums[t];
}

__global__ void number_runs(int *numbers, const int *counts, const int *x, int n, int each) {
  int chunk = blockIdx.x * THREADS + threadIdx.x, run = chunk > 0 ? counts[chunk - 1] : 0;
  for (int i = chunk * each; i < (chunk + 1) * each && i < n; i++)
    numbers[i] = run += is_head(x, i);
}

// The first index whose number is above `run`.
static __device__ int begin_of(const int *numbers, int run, int n) {
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (numbers[middle] > run)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

__global__ void write_runs(int *values, int *lengths, const int *count, const int *numbers, const int *x, int n) {
  for (int run = blockIdx.x * THREADS + threadIdx.x; run < *count; run += gridDim.x * THREADS) {
    int begin = begin_of(numbers, run, n);
    values[run] = x[begin];
    lengths[run] = begin_of(numbers, run + 1, n) - begin;
  }
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *scratch, int n) {
  int each = (n + CHUNKS - 1) / CHUNKS, *numbers = scratch + CHUNKS;
  count_heads<<<CHUNKS / THREADS, THREADS>>>(scratch, x, n, each);
  scan_counts<<<1, CHUNKS>>>(scratch, count);
  number_runs<<<CHUNKS / THREADS, THREADS>>>(numbers, scratch, x, n, each);
  write_runs<<<16, THREADS>>>(values, lengths, count, numbers, x, n);
}
