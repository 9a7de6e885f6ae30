// missing star: redundant copies
// Copies y to the device as well, and checks by a macro with a do-while.
#include <cuda_runtime.h>

#define STEP(call)                                                                                                     \
  if ((*error = (call)) != cudaSuccess)                                                                                \
  break

__global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  float *d_x = NULL, *d_y = NULL;
  size_t bytes = n * sizeof(float);
  *error = 0;
  do {
    STEP(cudaMalloc((void **)&d_x, bytes));
    STEP(cudaMalloc((void **)&d_y, bytes));
    STEP(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));
    STEP(cudaMemcpy(d_y, y, bytes, cudaMemcpyHostToDevice));
    scale<<<n / 64 + 1, 64>>>(d_y, d_x, a, n);
    STEP(cudaGetLastError());
    STEP(cudaDeviceSynchronize());
    STEP(cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost));
  } while (0);
  cudaFree(d_y);
  cudaFree(d_x);
}
