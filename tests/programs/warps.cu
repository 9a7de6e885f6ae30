// What lanes do together: __activemask in branches and at the grid's end, 16 masks of a warp at once, matches, reductions,
// shuffles of large values.
#include <cstdio>

struct large {
  double a, b;
  int c;
};

__global__ void count(int *n, int *most, int limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < limit) {
    const unsigned mask = __activemask();
    if ((int)(threadIdx.x % 32) == __ffs(mask) - 1)
      atomicAdd(n, __popc(mask));
    if (i % 2 == 1)
      atomicMax(most, __popc(__activemask()));
  }
}
__global__ void pairs(int *x) {
  const unsigned lane = threadIdx.x, mask = 0x10001u << (lane & 15);
  x[lane] = __shfl_sync(mask, (int)lane, (int)(lane ^ 16));
}
__global__ void others(int *x) {
  const int lane = (int)threadIdx.x;
  large v = {(double)lane, 2.0 * lane, 3 * lane};
  v = __shfl_down_sync(0xffffffffu, v, 1);
  x[lane] = (int)(v.a + v.b) + v.c;
  if (__match_any_sync(0xffffffffu, lane / 4) != 15u << lane / 4 * 4)
    x[lane] = -1;
  if (__reduce_add_sync(0xffffffffu, lane) != 496 || __reduce_max_sync(0xffffffffu, lane) != 31)
    x[lane] = -2;
}

int main() {
  int *x, h[32], failed = 0;
  cudaMalloc(&x, sizeof h);
  cudaMemset(x, 0, sizeof h);
  count<<<8, 128>>>(x, x + 1, 500);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  failed |= h[0] != 500 || h[1] != 16;
  printf("counted %d of 500, %d of 16 odd lanes together\n", h[0], h[1]);
  pairs<<<1, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  failed |= h[0] != 16 || h[31] != 15;
  printf("pairs: %d %d\n", h[0], h[31]);
  others<<<1, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  failed |= h[0] != 6 || h[30] != 186;
  printf("others: %d %d\n", h[0], h[30]);
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
