// Broken on purpose (lesson 32): a barrier is missing between a write and a read.
#include <cuda_runtime.h>
#include <stdio.h>

enum { THREADS = 256 };

// [kernel]
__global__ void neighbors(int *out, const int *in) {
  __shared__ int chunk[THREADS];
  int t = threadIdx.x;
  chunk[t] = in[t];
  out[t] = chunk[t] + (t > 0 ? chunk[t - 1] : 0);
}
// [end]

int main(void) {
  int in[THREADS], got[THREADS], wrong = 0, *x, *y;
  for (int i = 0; i < THREADS; i++)
    in[i] = i;
  cudaMalloc((void **)&x, sizeof in);
  cudaMalloc((void **)&y, sizeof in);
  cudaMemcpy(x, in, sizeof in, cudaMemcpyHostToDevice);
  neighbors<<<1, THREADS>>>(y, x);
  cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < THREADS; i++)
    wrong += got[i] != in[i] + (i > 0 ? in[i - 1] : 0);
  printf("%d of %d are wrong\n", wrong, THREADS);
  cudaFree(x);
  cudaFree(y);
  return 0;
}
