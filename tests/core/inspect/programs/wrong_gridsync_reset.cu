// finding: race-grid 36 40
// Block 0 resets the maximum for the next round while other blocks may still be reading it (one more grid.sync is needed).
#include <cstdio>
#include <vector>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__device__ int warpMax(int v) {
  for (int o = 16; o; o >>= 1)
    v = max(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

__global__ void normalize(int *x, int n, int rounds, int *peak) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  int mine = i < n ? x[i] : 0;
  if (i == 0)
    *peak = 0;
  grid.sync();
  for (int r = 0; r < rounds; r++) {
    int w = warpMax(mine);
    if (threadIdx.x % 32 == 0)
      atomicMax(peak, w);
    grid.sync();
    int top = *peak;
    mine = mine < top ? mine + 1 : mine / 2;
    if (r + 1 < rounds) {
      if (i == 0)
        *peak = 0;
      grid.sync();
    }
  }
  if (i < n)
    x[i] = mine;
}

int main() {
  int n = 500, rounds = 6;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = 1 + (i * 37) % 211;
  int *x, *peak;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMalloc(&peak, sizeof(int)));
  CK(cudaMemcpy(x, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  void *args[] = {&x, &n, &rounds, &peak};
  CK(cudaLaunchCooperativeKernel((const void *)normalize, dim3(8), dim3(64), args, 0, nullptr));
  CK(cudaMemcpy(got.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost));
  std::vector<int> all(512, 0);
  for (int i = 0; i < n; i++)
    all[i] = h[i];
  for (int r = 0; r < rounds; r++) {
    int top = 0;
    for (int v : all)
      top = v > top ? v : top;
    for (int &v : all)
      v = v < top ? v + 1 : v / 2;
  }
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += got[i] != all[i];
  CK(cudaFree(x));
  CK(cudaFree(peak));
  printf("gridsync_reset: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
