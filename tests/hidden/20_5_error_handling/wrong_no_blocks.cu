// mistake: errors guessed from the arguments
// That there are blocks is asked of the arguments, the rest of the runtime.
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  *before = cudaGetLastError();
  *launch = cudaErrorInvalidConfiguration;
  *kernel = cudaSuccess;
  if (blocks < 1)
    return;
  mark<<<blocks, threads>>>(d_out, value);
  *launch = cudaGetLastError();
  if (*launch == cudaSuccess)
    *kernel = cudaDeviceSynchronize();
}
