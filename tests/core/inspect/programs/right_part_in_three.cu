// A partition in three: a function that adds up for its warp's lanes is called in three branches, each for its own lanes.
#include <cstdio>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int next(int *counter) {
  cg::coalesced_group g = cg::coalesced_threads();
  int base = 0;
  if (g.thread_rank() == 0)
    base = atomicAdd(counter, (int)g.size());
  return g.shfl(base, 0) + (int)g.thread_rank();
}
__global__ void partition(const int *x, int n, int *low, int *mid, int *high, int *counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = x[i];
  if (v < 10)
    low[next(&counts[0])] = v;
  else if (v < 20)
    mid[next(&counts[1])] = v;
  else
    high[next(&counts[2])] = v;
}
int main() {
  enum { N = 3000 };
  static int h[N], c[3];
  int *x, *a, *b, *d, *k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&k, sizeof c);
  for (int i = 0; i < N; i++)
    h[i] = (i * 7919) % 30;
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(k, 0, sizeof c);
  partition<<<(N + 255) / 256, 256>>>(x, N, a, b, d, k);
  cudaMemcpy(c, k, sizeof c, cudaMemcpyDeviceToHost);
  printf("%d %d %d %s\n", c[0], c[1], c[2], cudaGetErrorString(cudaGetLastError()));
  cudaFree(x);
  cudaFree(a);
  cudaFree(b);
  cudaFree(d);
  cudaFree(k);
  return !(c[0] == 1000 && c[1] == 1000 && c[2] == 1000);
}
