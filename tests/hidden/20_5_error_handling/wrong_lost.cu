// mistake: earlier error lost
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  *before = 0;
  cudaGetLastError();
  mark<<<blocks, threads>>>(d_out, value);
  *launch = cudaGetLastError();
  *kernel = *launch ? 0 : cudaDeviceSynchronize();
}
