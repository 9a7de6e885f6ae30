// Exercise 20.4: from host to host                                              (chapter 20, docs/20_the_first_kernel.md)
//
// Write scale_on_device, which multiplies an array of the host by a number, on the device:
//
//   y[i] = a * x[i]        for i = 0 .. n-1
//
//   PyTorch:  y = (x.cuda() * a).cpu()
//
// Given: x and y in host memory, n elements each; n may be 0, and is at most 2^23. error: the first error that a call
// or the launch returned goes there as a number, cudaSuccess (0) where there was none. Neither an error from before the
// call counts, nor one of cudaFree; the former may be cleared.
//
// All that the device needs is yours to do: memory there, the copy, the kernel, the launch, the copy back, and giving
// the memory back, in every case. After an error nothing else is done but that, and y may hold anything. For n = 0
// there is nothing to do, and no error.
//
// Counted: bytes copied each way (n floats), launches (at least one, and none for n = 0), memory of the device that is
// not given back. One of the tests calls the function when the device has no memory left, or enough for one array and
// not for two (what needs but one may succeed then); in another a copy, the launch or cudaFree returns an error.
#include <cuda_runtime.h>

// [answer]
__global__ void scale(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = a * x[i];
}

static cudaError_t scale_there(float *y, const float *x, float a, int n, float **d_x) {
  const size_t bytes = n * sizeof(float);
  cudaError_t error = cudaMalloc(d_x, bytes);
  if (error == cudaSuccess)
    error = cudaMemcpy(*d_x, x, bytes, cudaMemcpyHostToDevice);
  if (error == cudaSuccess) {
    cudaGetLastError(); // somebody's from before is none of this launch's
    scale<<<(n + 255) / 256, 256>>>(*d_x, a, n);
    error = cudaGetLastError();
  }
  return error == cudaSuccess ? cudaMemcpy(y, *d_x, bytes, cudaMemcpyDeviceToHost) : error;
}

// [stub]
// [end]
extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  // [answer]
  float *d_x = NULL;
  *error = cudaSuccess;
  if (n == 0)
    return;
  *error = scale_there(y, x, a, n, &d_x);
  if (*error != cudaSuccess)
    cudaGetLastError(); // it is reported: nobody else is to find it
  cudaFree(d_x);
  // [stub]
  //| (void)y;
  //| (void)x;
  //| (void)a;
  //| (void)n;
  //| *error = -1;
  // [end]
}
