// Exercise 25.3: what is above a bound, close together                              (chapter 25, docs/25_scan.md)
//
// Write keep_on_device and its kernels:
//
//   out[0 .. *count-1] = those x[i] that are > bound, in the order in which they stand in x
//
//   PyTorch:  out = x[x > bound]
//
// Given, in device memory: x (float32, n of them; n may be 0, and is at most 100000), out (float32, n of them), count
// (one int) and room (space for 2048 ints, to be used or not). *count is to be written, whatever n is. The bound is no
// NaN, and a NaN is above no bound. What lies in out from *count on stays as it is.
// An element's place is the number of elements kept before it, which is a scan: of 1 for what is kept and 0 for the
// rest. Each block counts its own; the counts are scanned; then each block scans its flags and writes. Drawing places
// by atomicAdd is shorter, and gives another order at every run.
// Counted: launches of kernels (at most 4), copies to the host (none), and by the inspector atomic operations on global
// memory (none), races and accesses out of bounds.
//
// In the library there is no compaction yet. CUB's DeviceSelect is NVIDIA's.
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  (void)counts; // one for each block
  (void)x;
  (void)bound;
  (void)n;
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  (void)out;
  (void)count;
  (void)x;
  (void)room;
  (void)bound;
  (void)n;
}
