// mistake: error code not written
#include <cuda_runtime.h>

__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}

static cudaError_t scaled(float *y, const float *x, float a, int n, float *there) {
  const size_t bytes = (size_t)n * sizeof(float);
  cudaError_t e = cudaMemcpy(there, x, bytes, cudaMemcpyHostToDevice);
  if (e != cudaSuccess)
    return e;
  scale<<<n / 256 + (n % 256 != 0), 256>>>(there, a, n);
  e = cudaGetLastError();
  if (e != cudaSuccess)
    return e;
  return cudaMemcpy(y, there, bytes, cudaMemcpyDeviceToHost);
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  if (n == 0)
    return;
  cudaGetLastError();
  float *there = NULL;
  cudaError_t e = cudaMalloc((void **)&there, (size_t)n * sizeof(float));
  if (e == cudaSuccess) {
    e = scaled(y, x, a, n, there);
    cudaFree(there);
  }
  *error = e;
}
