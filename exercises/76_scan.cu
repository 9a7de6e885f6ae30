// Exercise 76: sums up to each element                                              (chapter 25, docs/25_scan.md)
//
// Write scan_on_device and its kernels:
//
//   out[i] = x[0] + x[1] + ... + x[i]        for i = 0 .. n-1
//
//   PyTorch:  torch.cumsum(x, 0)
//
// Given, in device memory: x and out (two arrays, int, n of each, from multiples of 16 bytes on; n may be 0, and is at
// most 400000; the sum of any stretch of x fits into an int) and room (space for 2048 ints, to be used or not). Each
// block scans a piece of its own, in shared memory or by shuffles, and tells what the piece sums to. Those sums are
// scanned, too, which is one block's work; there may be more of them than a block has threads. Then every element gets
// what stands before its piece. In a step of a scan, an element is read by one thread and written by another one: all
// have to have read before anyone writes, so either two arrays that take turns, or two barriers a step.
// Counted: launches (at most 4), copies to the host and waits of the host (none), and by the inspector sectors per
// request (at most 1.5 times the fewest), races and accesses out of bounds.
//
// In the library there is no scan yet. CUB's DeviceScan is NVIDIA's.
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void scan_pieces(int *out, int *sums, const int *x, int n) {
  (void)out;
  (void)sums; // one for each block
  (void)x;
  (void)n;
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)out;
  (void)x;
  (void)room;
  (void)n;
}
