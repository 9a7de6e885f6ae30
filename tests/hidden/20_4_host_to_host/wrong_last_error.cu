// mistake: first error not reported
#include <cuda_runtime.h>

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  float *d_x = NULL, *d_y = NULL;
  size_t bytes = (size_t)n * sizeof(float);
  cudaError_t e = cudaSuccess;
  *error = cudaSuccess;
  if (n == 0)
    return;
  e = cudaMalloc((void **)&d_x, bytes);
  if (e == cudaSuccess)
    e = cudaMalloc((void **)&d_y, bytes);
  if (e == cudaSuccess)
    e = cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice);
  if (e == cudaSuccess) {
    scale<<<(n + 255) / 256, 256>>>(d_y, d_x, a, n);
    e = cudaGetLastError();
  }
  if (e == cudaSuccess)
    e = cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost);
  cudaFree(d_x);
  e = cudaFree(d_y);
  *error = (int)e;
}
