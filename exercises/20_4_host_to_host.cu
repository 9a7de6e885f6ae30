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

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  (void)y;
  (void)x;
  (void)a;
  (void)n;
  *error = -1;
}
