// Exercise 25.4: runs of equal elements                                             (chapter 25, docs/25_scan.md)
//
// Write runs_on_device and its kernels:
//
//   x = 7 7 7 2 5 5 7   ->   values = 7 2 5 7,  lengths = 3 1 2 1,  *count = 4
//
//   PyTorch:  values, lengths = torch.unique_consecutive(x, return_counts=True)
//
// Given, in device memory: x (int, n of them; n may be 0, and is at most 100000), values and lengths (int, n of them
// each), count (one int) and room (space for n + 2048 ints, to be used or not). *count is to be written, whatever n is;
// what lies in values and lengths from *count on stays as it is.
// A run's first element, its head, differs from the one before it, or has none before it. Where the heads are is a
// compaction: flags, a scan, and the heads' places written close together. A run ends where the next one begins, and
// the last one at n. How many runs there are is known on the device alone: a kernel with a thread for each element
// reads *count, and the rest of its threads have nothing to do; so nobody waits for a copy to the host.
// Counted: launches of kernels (at most 5; a fill by cudaMemsetAsync is none), copies to the host and waits of the host
// (none), and by the inspector atomic operations on global memory (none), races and accesses out of bounds.
//
// In the library there are no runs yet. CUB's DeviceRunLengthEncode is NVIDIA's.
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

__global__ void count_heads(int *counts, const int *x, int n) {
  (void)counts; // one for each block
  (void)x;
  (void)n;
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  (void)values;
  (void)lengths;
  (void)count;
  (void)x;
  (void)room;
  (void)n;
}
