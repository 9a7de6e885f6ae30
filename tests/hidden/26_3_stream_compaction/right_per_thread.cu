// Each of 1024 threads has a chunk: count, scan the counts, write. The scan is one thread's loop.
#include <cuda_runtime.h>

enum { BLOCKS = 8, THREADS = 128 };

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x, each = (n + BLOCKS * THREADS - 1) / (BLOCKS * THREADS), kept = 0;
  for (int i = t * each; i < (t + 1) * each && i < n; i++)
    kept += x[i] > bound;
  counts[t] = kept;
}

__global__ void scan_counts(int *counts, int *count) {
  int sum = 0;
  for (int t = 0; t < BLOCKS * THREADS; t++) {
    int own = counts[t];
    counts[t] = sum;
    sum += own;
  }
  *count = sum;
}

__global__ void write_kept(float *out, const int *offsets, const float *x, float bound, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x, each = (n + BLOCKS * THREADS - 1) / (BLOCKS * THREADS);
  int to = offsets[t];
  for (int i = t * each; i < (t + 1) * each && i < n; i++)
    if (x[i] > bound)
      out[to++] = x[i];
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *scratch, float bound, int n) {
  count_kept<<<BLOCKS, THREADS>>>(scratch, x, bound, n);
  scan_counts<<<1, 1>>>(scratch, count);
  write_kept<<<BLOCKS, THREADS>>>(out, scratch, x, bound, n);
}
