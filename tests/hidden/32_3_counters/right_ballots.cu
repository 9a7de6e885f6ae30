// Lane b of a warp counts values b and b + 32 by votes, in registers: one bit of the value after another.
#include <cuda_runtime.h>

__global__ void count(int *counts, const unsigned char *x, int n) {
  const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int low = 0, high = 0;
  for (int first = 32 * warp; first < n; first += 32 * warps) {
    const bool inside = first + lane < n;
    const unsigned char own = inside ? x[first + lane] : 0;
    unsigned same = __ballot_sync(~0u, inside); // the lanes whose value is `lane` modulo 32
    for (int bit = 0; bit < 5; bit++) {
      const unsigned set = __ballot_sync(~0u, own >> bit & 1);
      same &= lane >> bit & 1 ? set : ~set;
    }
    const unsigned upper = __ballot_sync(~0u, own >= 32);
    low += __popc(same & ~upper);
    high += __popc(same & upper);
  }
  atomicAdd(&counts[lane], low);
  atomicAdd(&counts[lane + 32], high);
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  count<<<4, 128>>>(counts, x, n);
}
