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

// [answer]
// The inclusive scan of a block's numbers; *all becomes the sum of all of them.
static __device__ int block_scan(int x, int *all) {
  __shared__ int of_warp[THREADS / WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, before = 0;
  for (int apart = 1; apart < WARP; apart *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, apart);
    x += lane >= apart ? other : 0;
  }
  if (lane == WARP - 1)
    of_warp[warp] = x;
  __syncthreads();
  *all = 0;
  for (int w = 0; w < THREADS / WARP; w++) {
    before += w < warp ? of_warp[w] : 0;
    *all += of_warp[w];
  }
  __syncthreads(); // all have read what the next call writes
  return x + before;
}

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int kept = __syncthreads_count(i < n && x[i] > bound);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

// What stands before each block, in place of its count; *count becomes the sum of all.
__global__ void scan_counts(int *counts, int *count, int blocks) {
  int before = 0, all;
  for (int first = 0; first < blocks; first += THREADS) {
    int b = first + threadIdx.x, own = b < blocks ? counts[b] : 0, sum = block_scan(own, &all);
    if (b < blocks)
      counts[b] = before + sum - own;
    before += all;
  }
  if (threadIdx.x == 0)
    *count = before;
}

__global__ void write_kept(float *out, const int *before, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, flag = i < n && x[i] > bound, all;
  int place = before[blockIdx.x] + block_scan(flag, &all) - flag;
  if (flag)
    out[place] = x[i];
}
// [stub]
//| __global__ void count_kept(int *counts, const float *x, float bound, int n) {
//|   (void)counts; // one for each block
//|   (void)x;
//|   (void)bound;
//|   (void)n;
//| }
// [end]

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  // [answer]
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 0)
    count_kept<<<blocks, THREADS>>>(room, x, bound, n);
  scan_counts<<<1, THREADS>>>(room, count, blocks);
  if (blocks > 0)
    write_kept<<<blocks, THREADS>>>(out, room, x, bound, n);
  // [stub]
  //| (void)out;
  //| (void)count;
  //| (void)x;
  //| (void)room;
  //| (void)bound;
  //| (void)n;
  // [end]
}
