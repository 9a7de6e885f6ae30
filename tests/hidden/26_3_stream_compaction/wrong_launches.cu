// mistake: too many launches
#include <cuda_runtime.h>

// A block's worth at a launch, behind what the launches before have kept.
__global__ void keep(float *out, int *count, const float *x, float bound, int first, int n) {
  __shared__ int before;
  int i = first + threadIdx.x, lane = threadIdx.x;
  bool flag = i < n && x[i] > bound;
  unsigned int kept = __ballot_sync(0xffffffffu, flag);
  if (lane == 0)
    before = *count;
  __syncwarp();
  if (flag)
    out[before + __popc(kept & ((1u << lane) - 1))] = x[i];
  if (lane == 0)
    *count = before + __popc(kept);
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  cudaMemsetAsync(count, 0, sizeof(int), 0);
  for (int first = 0; first < n; first += 32)
    keep<<<1, 32>>>(out, count, x, bound, first, n);
}
