// The kernels on HIP-CPU, whose headers the script is given.
#include <hip/hip_runtime.h>

#define SHUFFLE_DOWN(value, delta) __shfl_down(value, delta)
#define LAUNCH(kernel, grid, block, ...) hipLaunchKernelGGL(kernel, dim3(grid), dim3(block), 0, 0, __VA_ARGS__)
#define cudaError_t hipError_t
#define cudaSuccess hipSuccess
#define cudaGetErrorString hipGetErrorString
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaMalloc hipMalloc
#define cudaMemcpy hipMemcpy
#define cudaMemset hipMemset
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost

#include "simulator.cuh"

int main(int argc, char **argv) {
  return run_all(argc > 1 ? argv[1] : "hip-cpu");
}
