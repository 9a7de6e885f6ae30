// Launches a kernel that another file defines (apart_kernel.cu).
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void doubled(float *x, int n);

int main(void) {
  float *x;
  cudaMalloc((void **)&x, 100 * sizeof(float));
  cudaMemset(x, 0, 100 * sizeof(float));
  doubled<<<1, 128>>>(x, 100);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(x);
  return 0;
}
