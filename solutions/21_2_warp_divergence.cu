// Exercise 21.2: one way for a warp                                                  (chapter 21, docs/21_the_machine.md)
//
// Write two_kinds_on_device and its kernel: the elements with even numbers get one kind of work, the others another.
//
//   out[i] = even_work(x[i])     for i = 0, 2, 4, ...
//   out[i] = odd_work(x[i])      for i = 1, 3, 5, ...
//
//   PyTorch:  out[0::2] = even_work(x[0::2]); out[1::2] = odd_work(x[1::2])
//
// Given: x and out in device memory, at multiples of 16 bytes, n elements each, 1 to 2^17; even_work and odd_work,
// which are in counted.cuh, and which any kernel may call.
// Counted: calls of the two (n in all), launches (two at most), lanes at work: `if (i % 2 == 0)` lets half of each warp
// wait for the other half. At least 90 % have to take part, on average over all that a kernel does, where n is above
// 4000; and blocks have whole warps there, a multiple of 32 threads: else lanes are idle that no count has.
// Neighbouring lanes should access memory that is close together: at most 2.5 times the fewest sectors.
#include "counted.cuh" // even_work, odd_work
#include <cuda_runtime.h>

// [answer]
// Warps 0 and 1 of a pair have 64 elements: one the even, one the odd ones of them.
__global__ void two_kinds(float *out, const float *x, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32, lane = thread % 32;
  int odd = warp % 2, i = warp / 2 * 64 + 2 * lane + odd;
  if (i >= n)
    return;
  if (odd)
    out[i] = odd_work(x[i]);
  else
    out[i] = even_work(x[i]);
}

// [stub]
// [end]
extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  // [answer]
  int threads = (n + 63) / 64 * 64; // whole pairs of warps
  two_kinds<<<(threads + 255) / 256, 256>>>(out, x, n);
  // [stub]
  //| (void)out;
  //| (void)x;
  //| (void)n;
  // [end]
}
