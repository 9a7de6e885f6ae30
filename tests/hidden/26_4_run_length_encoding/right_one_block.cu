// missing star: single block
#include <cuda_runtime.h>

enum { THREADS = 512 };

// One block goes through all of it. A head ends the run before it and begins one of its own; room holds where runs begin.
__global__ void runs(int *values, int *lengths, int *count, const int *x, int *starts, int n) {
  __shared__ int sum[THREADS];
  int t = threadIdx.x, before = 0;
  for (int first = 0; first < n; first += THREADS) {
    int i = first + t, flag = i < n && (i == 0 || x[i - 1] != x[i]);
    sum[t] = flag;
    __syncthreads();
    for (int apart = 1; apart < THREADS; apart *= 2) {
      int other = t >= apart ? sum[t - apart] : 0;
      __syncthreads();
      sum[t] += other;
      __syncthreads();
    }
    if (flag)
      starts[before + sum[t] - 1] = i;
    before += sum[THREADS - 1];
    __syncthreads();
  }
  for (int r = t; r < before; r += THREADS) {
    values[r] = x[starts[r]];
    lengths[r] = (r + 1 < before ? starts[r + 1] : n) - starts[r];
  }
  if (t == 0)
    *count = before;
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  runs<<<1, THREADS>>>(values, lengths, count, x, room, n);
}
