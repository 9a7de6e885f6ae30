// Exercise 20.4: Allocate, copy, launch, copy back  lesson 20 · medium · 30 min
//
// Task      Write the host code around a kernel: allocate device memory, copy
//           the input, launch the kernel, copy the result back, and free the
//           memory. Each step may fail.
//               y[i] = a * x[i]               PyTorch: y = (x.cuda() * a).cpu()
// Example   a = 2, x = 1 2 3   ->   y = 2 4 6, *error = 0 (cudaSuccess)
// Write     scale_on_device and its kernel, with cudaMalloc and cudaMemcpy.
// Inputs    y, x    host arrays of n floats
//           n       0 to 2^25; for 0, y is unchanged and *error is cudaSuccess
//           error   receives the first error of cudaMalloc, of a copy or of the
//                   launch, or cudaSuccess
// Required  - y is correct, and computed on the device
//           - after an error, nothing more is copied or launched
//           - all device memory is freed, even after an error
// Stars     ** n floats are copied in each direction, and no more
#include <cuda_runtime.h>

// [answer]
__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = a * x[i];
}

// Returns the first error. The caller frees *d_x.
static cudaError_t try_scale(float *y, const float *x, float a, int n, float **d_x) {
  size_t bytes = n * sizeof(float);
  cudaError_t error = cudaMalloc(d_x, bytes);
  if (error != cudaSuccess)
    return error;
  error = cudaMemcpy(*d_x, x, bytes, cudaMemcpyHostToDevice);
  if (error != cudaSuccess)
    return error;
  scale<<<(n + 255) / 256, 256>>>(*d_x, a, n);
  error = cudaGetLastError();
  if (error != cudaSuccess)
    return error;
  return cudaMemcpy(y, *d_x, bytes, cudaMemcpyDeviceToHost);
}

// [stub]
// [end]
extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  // [answer]
  float *d_x = NULL;
  *error = cudaSuccess;
  if (n > 0)
    *error = try_scale(y, x, a, n, &d_x);
  cudaFree(d_x);
  // [stub]
  //| *error = -1;
  // [end]
}
