// mistake: floats truncated to int
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
enum { THREADS = 256, MOST_BLOCKS = 1024 };

enum { WARP = 32, WARPS = THREADS / WARP, ELEMENTS = 4 }; // of a thread, if there are enough

// The sum over the block, in every thread. Threads must not call it again before a barrier.
static __device__ float block_sum(float x) {
  __shared__ int warp_sums[WARPS];
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

extern "C" void subtract_mean_on_device(float *out, const float *x, float *scratch, int n) {
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
}
