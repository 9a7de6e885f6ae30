// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <string.h>

__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  const size_t bytes = sizeof(float) * (size_t)n;
  float *d = NULL;
  *error = cudaSuccess;
  if (n == 0)
    return;
  if (a == 1) { // nothing to multiply
    memmove(y, x, bytes);
    return;
  }
  cudaGetLastError(); // of before
  cudaError_t result = cudaMalloc(&d, bytes);
  if (result == cudaSuccess)
    result = cudaMemcpy(d, x, bytes, cudaMemcpyHostToDevice);
  if (result == cudaSuccess) {
    scale<<<(n + 255) / 256, 256>>>(d, a, n);
    result = cudaGetLastError();
  }
  if (result == cudaSuccess)
    result = cudaMemcpy(y, d, bytes, cudaMemcpyDeviceToHost);
  if (d)
    cudaFree(d);
  *error = result;
}
