// mistake: no launch after an earlier error
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  *launch = *kernel = cudaSuccess;
  *before = cudaGetLastError();
  if (*before != cudaSuccess)
    return; // nothing that follows could be trusted
  mark<<<blocks, threads>>>(d_out, value);
  *launch = cudaGetLastError();
  if (*launch == cudaSuccess)
    *kernel = cudaDeviceSynchronize();
  cudaGetLastError();
}
