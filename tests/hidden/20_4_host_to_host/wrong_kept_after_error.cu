// mistake: device memory leak
#include <cuda_runtime.h>

__global__ void times(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  float *d_x = NULL;
  *error = 0;
  if (n == 0)
    return;
  if ((*error = cudaMalloc(&d_x, n * sizeof(float))) != 0)
    return;
  if ((*error = cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice)) != 0)
    return; // d_x stays taken
  times<<<(n + 255) / 256, 256>>>(d_x, a, n);
  if ((*error = cudaGetLastError()) == 0)
    *error = cudaMemcpy(y, d_x, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(d_x);
}
