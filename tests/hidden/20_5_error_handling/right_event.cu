// Waits for an event after the kernel.
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static cudaError_t wait_for_kernel() {
  cudaEvent_t done;
  cudaError_t error = cudaEventCreate(&done);
  if (error == cudaSuccess)
    error = cudaEventRecord(done);
  if (error == cudaSuccess)
    error = cudaEventSynchronize(done);
  cudaEventDestroy(done);
  return error;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  *before = cudaGetLastError();
  mark<<<blocks, threads>>>(d_out, value);
  *launch = cudaGetLastError();
  *kernel = *launch != cudaSuccess ? cudaSuccess : wait_for_kernel();
}
