// mistake: warp offsets missing
#include <cuda_runtime.h>

__global__ void scan_warps(int *out, const int *x, int n) {
  int i = blockIdx.x * 256 + threadIdx.x, sum = i < n ? x[i] : 0;
  for (int before = 1; before < 32; before *= 2) {
    int other = __shfl_up_sync(0xffffffffu, sum, before);
    sum += (int)(threadIdx.x % 32) >= before ? other : 0;
  }
  if (i < n)
    out[i] = sum;
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)room;
  if (n > 0)
    scan_warps<<<(n + 255) / 256, 256>>>(out, x, n);
}
