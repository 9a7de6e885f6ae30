// A stream of its own and cudaMemcpyAsync.
#include <cuda_runtime.h>

__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  const size_t bytes = (size_t)n * sizeof(float);
  float *d = NULL;
  cudaStream_t stream = NULL;
  cudaError_t e = cudaSuccess;
  if (n > 0) {
    e = cudaStreamCreate(&stream);
    if (e == cudaSuccess)
      e = cudaMalloc((void **)&d, bytes);
    if (e == cudaSuccess)
      e = cudaMemcpyAsync(d, x, bytes, cudaMemcpyHostToDevice, stream);
    if (e == cudaSuccess) {
      scale<<<(n + 511) / 512, 512, 0, stream>>>(d, a, n);
      e = cudaGetLastError();
    }
    if (e == cudaSuccess)
      e = cudaMemcpyAsync(y, d, bytes, cudaMemcpyDeviceToHost, stream);
    if (stream) {
      cudaError_t waited = cudaStreamSynchronize(stream);
      e = e == cudaSuccess ? waited : e;
      cudaStreamDestroy(stream);
    }
    cudaFree(d);
  }
  *error = e;
}
