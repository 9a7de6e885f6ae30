// mistake: data not copied with cudaMemcpy
// Managed memory: correct, but without the explicit copies that the exercise is about.
#include <cuda_runtime.h>

__global__ void scale(float *y, const float *x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  float *both = NULL;
  cudaError_t status = cudaSuccess;
  if (n > 0)
    status = cudaMallocManaged((void **)&both, 2 * n * sizeof(float));
  if (n > 0 && status == cudaSuccess) {
    for (int i = 0; i < n; i++)
      both[i] = x[i];
    scale<<<(n + 255) / 256, 256>>>(both + n, both, a, n);
    status = cudaGetLastError();
    if (status == cudaSuccess)
      status = cudaDeviceSynchronize();
    for (int i = 0; status == cudaSuccess && i < n; i++)
      y[i] = both[n + i];
  }
  cudaFree(both);
  *error = status;
}
