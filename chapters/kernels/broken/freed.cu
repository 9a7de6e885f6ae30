// Broken on purpose (lesson 32): a kernel gets a pointer to freed memory.
#include <cuda_runtime.h>

enum { N = 256 };

// [kernel]
__global__ void add(float *out, const float *x) {
  out[threadIdx.x] = out[threadIdx.x] + x[threadIdx.x];
}

static float *filled(int value) {
  float *x;
  cudaMalloc((void **)&x, N * sizeof(float));
  cudaMemset(x, value, N * sizeof(float));
  cudaFree(x); // "tidied up" where it was made
  return x;
}
// [end]

int main(void) {
  float *out, *x;
  cudaMalloc((void **)&out, N * sizeof(float));
  cudaMemset(out, 0, N * sizeof(float));
  x = filled(0);
  add<<<1, N>>>(out, x);
  cudaDeviceSynchronize();
  cudaFree(out);
  return 0;
}
