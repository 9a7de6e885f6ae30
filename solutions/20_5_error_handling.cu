// Exercise 20.5: Which call failed?                 lesson 20 · medium · 25 min
//
// Task      Launch the kernel mark, wait for it, and report which step failed.
//           Debugging starts with this question, and CUDA's error codes answer
//           it only if you check for errors at the right moments. PyTorch
//           checks after each launch: C10_CUDA_KERNEL_LAUNCH_CHECK().
// Example   threads = 2048   ->   *before = 0, *launch = 9, *kernel = 0
//           (0 is cudaSuccess, 9 is cudaErrorInvalidConfiguration)
// Write     mark_on_device; the kernel is given.
// Inputs    d_out    device array of blocks * threads ints; NULL makes
//                    the kernel fail
//           blocks, threads    any ints, including invalid values
//           before   receives the error that was pending before the call
//           launch   receives the error of this launch
//           kernel   receives the error that occurred while the kernel ran
// Required  - *before, *launch and *kernel are correct, cudaSuccess if no error
//           - the kernel is launched even if an earlier call failed
//           - cudaGetLastError() after the call returns cudaSuccess, unless the
//             kernel failed
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  // [answer]
  *before = cudaGetLastError();
  mark<<<blocks, threads>>>(d_out, value);
  *launch = cudaGetLastError();
  *kernel = *launch == cudaSuccess ? cudaDeviceSynchronize() : cudaSuccess;
  // [stub]
  //| *before = *launch = *kernel = -1;
  // [end]
}
