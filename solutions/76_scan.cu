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

// [answer]
// The inclusive scan of a block's numbers; *all becomes the sum of all of them.
static __device__ int block_scan(int own, int *all) {
  __shared__ int sums[2][THREADS];
  int t = threadIdx.x, now = 0;
  sums[now][t] = own;
  __syncthreads();
  for (int before = 1; before < THREADS; before *= 2) {
    sums[!now][t] = sums[now][t] + (t >= before ? sums[now][t - before] : 0);
    now = !now;
    __syncthreads();
  }
  *all = sums[now][THREADS - 1];
  int sum = sums[now][t];
  __syncthreads(); // all have read what the next call writes
  return sum;
}

__global__ void scan_pieces(int *out, int *sums, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  int sum = block_scan(i < n ? x[i] : 0, &all);
  if (i < n)
    out[i] = sum;
  if (threadIdx.x == 0)
    sums[blockIdx.x] = all;
}

// What stands before each piece, in place of its sum.
__global__ void scan_sums(int *sums, int pieces) {
  int before = 0, all;
  for (int first = 0; first < pieces; first += THREADS) {
    int i = first + threadIdx.x, own = i < pieces ? sums[i] : 0, sum = block_scan(own, &all);
    if (i < pieces)
      sums[i] = before + sum - own;
    before += all;
  }
}

__global__ void add_before(int *out, const int *sums, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    out[i] += sums[blockIdx.x];
}
// [stub]
//| __global__ void scan_pieces(int *out, int *sums, const int *x, int n) {
//|   (void)out;
//|   (void)sums; // one for each block
//|   (void)x;
//|   (void)n;
//| }
// [end]

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  // [answer]
  int pieces = (n + THREADS - 1) / THREADS;
  if (pieces == 0)
    return;
  scan_pieces<<<pieces, THREADS>>>(out, room, x, n);
  scan_sums<<<1, THREADS>>>(room, pieces);
  add_before<<<pieces, THREADS>>>(out, room, n);
  // [stub]
  //| (void)out;
  //| (void)x;
  //| (void)room;
  //| (void)n;
  // [end]
}
