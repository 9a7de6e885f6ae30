// Special registers by inline PTX.
#include <cstdio>

__device__ unsigned int lane_id(void) {
  unsigned int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__global__ void where(unsigned int *out, long long *times) {
  unsigned int warp;
  long long before, after;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(before));
  asm volatile("mov.u32 %0, %warpid;" : "=r"(warp));
  unsigned int less, more;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(more));
  out[threadIdx.x] = 100 * warp + lane_id() + (less != ~more || __popc(less) != lane_id() ? 1000 : 0);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
  times[threadIdx.x] = after - before;
}

int main() {
  unsigned int *out;
  long long *times;
  cudaMallocManaged(&out, 64 * sizeof *out);
  cudaMallocManaged(&times, 64 * sizeof *times);
  where<<<1, 64>>>(out, times);
  bool good = cudaDeviceSynchronize() == cudaSuccess;
  for (unsigned int i = 0; i < 64; i++)
    good = good && out[i] == 100 * (i / 32) + i % 32 && times[i] >= 0;
  puts(good ? "PASS" : "FAIL");
  return !good;
}
