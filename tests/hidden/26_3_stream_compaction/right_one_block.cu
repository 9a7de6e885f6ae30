// missing star: single block
#include <cuda_runtime.h>

enum { THREADS = 1024 };

// One block goes through all of it, and carries how many it has kept.
__global__ void keep(float *out, int *count, const float *x, float bound, int n) {
  __shared__ int sum[THREADS];
  int t = threadIdx.x, before = 0;
  for (int first = 0; first < n; first += THREADS) {
    int i = first + t, flag = i < n && x[i] > bound;
    sum[t] = flag;
    __syncthreads();
    for (int apart = 1; apart < THREADS; apart *= 2) {
      int other = t >= apart ? sum[t - apart] : 0;
      __syncthreads();
      sum[t] += other;
      __syncthreads();
    }
    if (flag)
      out[before + sum[t] - 1] = x[i];
    before += sum[THREADS - 1];
    __syncthreads();
  }
  if (t == 0)
    *count = before;
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  keep<<<1, THREADS>>>(out, count, x, bound, n);
}
