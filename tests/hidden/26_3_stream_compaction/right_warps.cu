#include <cuda_runtime.h>

enum { THREADS = 128, WARPS = THREADS / 32 };

// Votes in place of a scan: a lane's place in its warp is the number of lanes below it that keep theirs.
__global__ void keep(float *out, int *counts, const float *x, float bound, int n, int write) {
  __shared__ int of_warp[WARPS];
  int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0, all = 0;
  bool flag = i < n && x[i] > bound;
  unsigned int kept = __ballot_sync(0xffffffffu, flag);
  if (lane == 0)
    of_warp[warp] = __popc(kept);
  __syncthreads();
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? of_warp[w] : 0;
    all += of_warp[w];
  }
  if (!write && threadIdx.x == 0)
    counts[blockIdx.x] = all;
  if (write && flag)
    out[counts[blockIdx.x] + before + __popc(kept & ((1u << lane) - 1))] = x[i];
}

// A warp scans the counts, 32 at a time.
__global__ void scan_counts(int *counts, int *count, int blocks) {
  int before = 0, lane = threadIdx.x;
  for (int first = 0; first < blocks; first += 32) {
    int own = first + lane < blocks ? counts[first + lane] : 0, sum = own;
    for (int apart = 1; apart < 32; apart *= 2) {
      int other = __shfl_up_sync(0xffffffffu, sum, apart);
      sum += lane >= apart ? other : 0;
    }
    if (first + lane < blocks)
      counts[first + lane] = before + sum - own;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  if (lane == 0)
    *count = before;
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 0)
    keep<<<blocks, THREADS>>>(out, room, x, bound, n, 0);
  scan_counts<<<1, 32>>>(room, count, blocks);
  if (blocks > 0)
    keep<<<blocks, THREADS>>>(out, room, x, bound, n, 1);
}
