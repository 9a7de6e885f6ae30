// finding: race-block 20 19
// The barrier between reading the neighbor's element and adding to the own element is missing, so a thread may read
// an element already updated in the same step.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int SEG = 256, SEGMENTS = 10;

__global__ void scanSegments(int *v) {
  cg::thread_block block = cg::this_thread_block();
  int *seg = v + block.group_index().x * SEG;
  int t = block.thread_rank();
  for (int d = 1; d < SEG; d *= 2) {
    int left = 0;
    if (t >= d)
      left = seg[t - d];
    seg[t] += left;
    block.sync();
  }
}

int main() {
  const int n = SEG * SEGMENTS;
  int *v;
  if (cudaMallocManaged(&v, n * sizeof(int)) != cudaSuccess) {
    puts("allocation failed");
    return 2;
  }
  for (int i = 0; i < n; ++i)
    v[i] = 1 + i % 5;

  scanSegments<<<SEGMENTS, SEG>>>(v);
  if (cudaDeviceSynchronize() != cudaSuccess) {
    puts("kernel failed");
    cudaFree(v);
    return 2;
  }

  int bad = 0, sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % SEG == 0)
      sum = 0;
    sum += 1 + i % 5;
    bad += v[i] != sum;
  }
  printf("scan: %d wrong\n", bad);
  cudaFree(v);
  return bad != 0;
}
