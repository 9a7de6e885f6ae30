// mistake: device memory leak
#include <cuda_runtime.h>

__global__ void times(float *y, const float *x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i];
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  const size_t bytes = n * sizeof(float);
  float *d_x = NULL, *d_y = NULL;
  *error = cudaSuccess;
  if (n < 1)
    return;
  if ((*error = cudaMalloc(&d_x, bytes)) != cudaSuccess || (*error = cudaMalloc(&d_y, bytes)) != cudaSuccess)
    goto end;
  if ((*error = cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice)) != cudaSuccess)
    goto end;
  times<<<(n + 127) / 128, 128>>>(d_y, d_x, a, n);
  if ((*error = cudaGetLastError()) != cudaSuccess)
    goto end;
  *error = cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost);
end:
  cudaFree(d_x);
}
