// Checks cudaFree as well.
#include <cuda_runtime.h>

__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = a * x[i];
}

static cudaError_t scale_there(float *y, const float *x, float a, int n, float **d_x) {
  const size_t bytes = n * sizeof(float);
  cudaError_t error = cudaMalloc(d_x, bytes);
  if (error == cudaSuccess)
    error = cudaMemcpy(*d_x, x, bytes, cudaMemcpyHostToDevice);
  if (error == cudaSuccess) {
    cudaGetLastError();
    scale<<<(n + 255) / 256, 256>>>(*d_x, a, n);
    error = cudaGetLastError();
  }
  return error == cudaSuccess ? cudaMemcpy(y, *d_x, bytes, cudaMemcpyDeviceToHost) : error;
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  float *d_x = NULL;
  *error = cudaSuccess;
  if (n == 0)
    return;
  *error = scale_there(y, x, a, n, &d_x);
  if (*error != cudaSuccess)
    cudaGetLastError();
  const cudaError_t freed = cudaFree(d_x);
  if (freed != cudaSuccess)
    *error = freed;
}
