// Relaxation until nothing changes, all rounds in one cooperative launch, one grid barrier a round, three rotating flags.
#include <cstdio>
#include <vector>
#include <utility>
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

__global__ void relax(int *a, int *b, int n, int *flag, int *rounds) {
  cg::grid_group grid = cg::this_grid();
  int *src = a, *dst = b;
  int r = 0;
  for (;; r++) {
    if (grid.thread_rank() == 0)
      flag[(r + 1) % 3] = 0; // last looked at before the previous barrier
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
      int v = src[i];
      int w = v;
      if (i > 0 && src[i - 1] + 1 < w)
        w = src[i - 1] + 1;
      if (i < n - 1 && src[i + 1] + 1 < w)
        w = src[i + 1] + 1;
      dst[i] = w;
      if (w != v)
        flag[r % 3] = 1; // everybody writes the same
    }
    grid.sync();
    int go = flag[r % 3];
    int *t = src;
    src = dst;
    dst = t;
    if (!go)
      break; // uniform over the grid
  }
  if (grid.thread_rank() == 0)
    *rounds = r;
}

int main() {
  int n = 700;
  std::vector<int> h(n, 1000), want(n);
  h[13] = 0;
  h[250] = 3;
  h[699] = 5;
  for (int i = 0; i < n; i++) {
    want[i] = 1000;
    for (int s : {13, 250, 699}) {
      int d = h[s] + (i > s ? i - s : s - i);
      if (d < want[i])
        want[i] = d;
    }
  }
  int *a, *b, *flag, *rounds;
  CK(cudaMalloc(&a, n * sizeof(int)));
  CK(cudaMalloc(&b, n * sizeof(int)));
  CK(cudaMalloc(&flag, 3 * sizeof(int)));
  CK(cudaMalloc(&rounds, sizeof(int)));
  CK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(flag, 0, sizeof(int))); // only the first; the kernel clears the others before use
  void *args[] = {&a, &b, &n, &flag, &rounds};
  CK(cudaLaunchCooperativeKernel((void *)relax, dim3(6), dim3(64), args, 0, 0));
  CK(cudaDeviceSynchronize());
  int r = 0, bad = 0;
  CK(cudaMemcpy(&r, rounds, sizeof r, cudaMemcpyDeviceToHost));
  // after round r both buffers hold the fixed point
  std::vector<int> x(n), y(n);
  CK(cudaMemcpy(x.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(y.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    bad += x[i] != want[i] || y[i] != want[i];
  CK(cudaFree(a));
  CK(cudaFree(b));
  CK(cudaFree(flag));
  CK(cudaFree(rounds));
  printf("gridsync_relax: %s (%d rounds)\n", bad ? "WRONG" : "ok", r);
  return bad != 0;
}
