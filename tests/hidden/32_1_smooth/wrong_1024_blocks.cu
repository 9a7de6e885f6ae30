// mistake: grid too small
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int left = max(i - 1, 0), right = min(i + 1, n - 1);
    out[i] = (x[left] + x[i] + x[right]) / 3;
  }
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  const int grid = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
  smooth<<<grid, THREADS>>>(out, x, n);
}
