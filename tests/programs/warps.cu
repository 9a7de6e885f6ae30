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
// More masks in a row than a warp keeps, each while lanes may still be on their way from the one before.
__global__ void masks(int *out) {
  const int lane = (int)threadIdx.x;
  int sum = 0;
  unsigned int s = 7;
  for (int round = 0; round < 200; round++) {
    s = s * 1664525u + 1013904223u;
    unsigned int group = __ballot_sync(0xffffffffu, s >> lane & 1u);
    if (!(s >> lane & 1u))
      group = ~group;
    sum += __popc(__ballot_sync(group, lane & 1)) + __shfl_sync(group, lane, __ffs((int)group) - 1);
  }
  out[lane] = sum;
}
static int expected_of_masks(int lane) {
  int sum = 0;
  unsigned int s = 7;
  for (int round = 0; round < 200; round++) {
    s = s * 1664525u + 1013904223u;
    const unsigned int group = s >> lane & 1u ? s : ~s;
    sum += __builtin_popcount(group & 0xaaaaaaaau) + __builtin_ctz(group);
  }
  return sum;
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
  masks<<<1, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  for (int lane = 0; lane < 32; lane++)
    failed |= h[lane] != expected_of_masks(lane);
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
