// cudaLaunchKernel returns the launch's error.
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  void *arguments[] = {&d_out, &value};
  *before = (int)cudaGetLastError();
  *kernel = 0;
  *launch = (int)cudaLaunchKernel((const void *)mark, dim3(blocks), dim3(threads), arguments, 0, NULL);
  if (*launch == 0)
    *kernel = (int)cudaDeviceSynchronize();
  else
    cudaGetLastError();
}
