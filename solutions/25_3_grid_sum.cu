// Exercise 25.3: Grid-wide sum: subtract the mean  lesson 25 · medium · 45 min
//
// Task      Subtract the mean from each element, in a single launch. The mean
//           needs the sums of all blocks, so the blocks wait for each other.
//               out[i] = x[i] - (x[0] + x[1] + ... + x[n - 1]) / n
// Example   x = 3 1 7 0 4   ->   mean = 3, out = 0 -2 4 -3 1
// Write     subtract_mean_on_device and the kernel that it launches.
// Inputs    x, out    device arrays of n floats; do not change x
//           scratch   device array of 1024 floats, yours to use
//           n         0 to 1,000,000; all sums of elements of x are exact
// Required  - correct for every n, without data races or out-of-bounds accesses
//           - at most 1 kernel launch, no copy to the host
// Stars     ** coalesced: at most 1.2 x the ideal sectors
//           *** with 20,000 elements, all loads together access at most 2.2 x
//               the sectors of x
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
enum { THREADS = 256, MOST_BLOCKS = 1024 };

// [answer]
enum { WARP = 32, WARPS = THREADS / WARP, ELEMENTS = 4 }; // of a thread, if there are enough

// The sum over the block, in every thread. Threads must not call it again before a barrier.
static __device__ float block_sum(float x) {
  __shared__ float warp_sums[WARPS];
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    x += __shfl_down_sync(0xffffffffu, x, distance);
  if (threadIdx.x % WARP == 0)
    warp_sums[threadIdx.x / WARP] = x;
  __syncthreads();
  x = 0;
  for (int warp = 0; warp < WARPS; warp++)
    x += warp_sums[warp];
  return x;
}

__global__ void subtract_mean(float *out, const float *x, float *scratch, int n) {
  cg::grid_group grid = cg::this_grid();
  int first = blockIdx.x * THREADS + threadIdx.x, step = gridDim.x * THREADS;
  float own = 0;
  for (int i = first; i < n; i += step)
    own += x[i];
  own = block_sum(own);
  if (threadIdx.x == 0)
    scratch[blockIdx.x] = own;
  grid.sync(); // every block has stored its sum
  own = 0;
  for (int block = threadIdx.x; block < (int)gridDim.x; block += THREADS)
    own += scratch[block];
  float mean = block_sum(own) / n;
  for (int i = first; i < n; i += step)
    out[i] = x[i] - mean;
}
// [stub]
//| __global__ void subtract_mean(float *out, const float *x, float *scratch, int n) {
//|   // 1. the sum of each block   2. grid.sync()   3. the mean, and out
//| }
// [end]

extern "C" void subtract_mean_on_device(float *out, const float *x, float *scratch, int n) {
  // [answer]
  int device, sms, blocks_per_sm;
  if (n == 0)
    return;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, (const void *)subtract_mean, THREADS, 0);
  int blocks = sms * blocks_per_sm, wanted = (n + ELEMENTS * THREADS - 1) / (ELEMENTS * THREADS);
  if (blocks > MOST_BLOCKS)
    blocks = MOST_BLOCKS;
  if (blocks > wanted)
    blocks = wanted;
  void *arguments[] = {&out, &x, &scratch, &n};
  cudaLaunchCooperativeKernel(subtract_mean, blocks, THREADS, arguments, 0, NULL);
  // [stub]
  // [end]
}
