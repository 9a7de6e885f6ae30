// Broken on purpose (lesson 32): some threads return before a barrier.
#include <cuda_runtime.h>

enum { N = 200, THREADS = 256 };

// [kernel]
__global__ void reversed(float *out, const float *in, int n) {
  __shared__ float chunk[THREADS];
  int t = threadIdx.x;
  if (t >= n)
    return;
  chunk[t] = in[t];
  __syncthreads();
  out[t] = chunk[n - 1 - t];
}
// [end]

int main(void) {
  float *x, *y;
  cudaMalloc((void **)&x, N * sizeof(float));
  cudaMalloc((void **)&y, N * sizeof(float));
  cudaMemset(x, 0, N * sizeof(float));
  reversed<<<1, THREADS>>>(y, x, N);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
  return 0;
}
