// Particles in cells as linked lists: atomicExch on the head, the link is the thread's own; walked in the next launch.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int CELLS = 12, SIDE = 100; // CELLS x CELLS cells of SIDE x SIDE

__device__ int heads[CELLS][CELLS];

__device__ inline int2 cellOf(int2 p) {
  return make_int2(p.x / SIDE, p.y / SIDE);
}

__global__ void resetHeads() {
  if (threadIdx.x < CELLS)
    heads[blockIdx.x][threadIdx.x] = -1;
}

__global__ void build(const int2 *p, int *link, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int2 c = cellOf(p[i]);
  link[i] = atomicExch(&heads[c.y][c.x], i);
}

__global__ void neighbors(const int2 *p, const int *link, int *count, int n, int radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int2 me = p[i], c = cellOf(me);
  int found = 0;
  for (int y = max(0, c.y - 1); y <= min(CELLS - 1, c.y + 1); y++)
    for (int x = max(0, c.x - 1); x <= min(CELLS - 1, c.x + 1); x++)
      for (int j = heads[y][x]; j >= 0; j = link[j]) {
        int dx = p[j].x - me.x, dy = p[j].y - me.y;
        found += j != i && dx * dx + dy * dy <= radius * radius;
      }
  count[i] = found;
}

__global__ void step(int2 *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  p[i].x = (p[i].x * 3 + 17 + i) % (CELLS * SIDE);
  p[i].y = (p[i].y * 5 + 29) % (CELLS * SIDE);
}

int main() {
  const int n = 400, radius = SIDE, T = 64, G = (n + T - 1) / T;
  std::vector<int2> h(n);
  std::vector<int> got(n);
  for (int i = 0; i < n; i++)
    h[i] = make_int2((i * 331) % (CELLS * SIDE), (i * i * 7) % (CELLS * SIDE));
  int2 *p;
  int *link, *count;
  CK(cudaMalloc(&p, n * sizeof(int2)));
  CK(cudaMalloc(&link, n * sizeof(int)));
  CK(cudaMalloc(&count, n * sizeof(int)));
  CK(cudaMemcpy(p, h.data(), n * sizeof(int2), cudaMemcpyHostToDevice));
  int bad = 0;
  for (int r = 0; r < 3; r++) {
    resetHeads<<<CELLS, 32>>>();
    build<<<G, T>>>(p, link, n);
    neighbors<<<G, T>>>(p, link, count, n, radius);
    step<<<G, T>>>(p, n);
    CK(cudaGetLastError());
    CK(cudaMemcpy(got.data(), count, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
      int w = 0;
      for (int j = 0; j < n; j++) {
        int dx = h[j].x - h[i].x, dy = h[j].y - h[i].y;
        w += j != i && dx * dx + dy * dy <= radius * radius;
      }
      bad += w != got[i];
    }
    for (int i = 0; i < n; i++) {
      h[i].x = (h[i].x * 3 + 17 + i) % (CELLS * SIDE);
      h[i].y = (h[i].y * 5 + 29) % (CELLS * SIDE);
    }
  }
  CK(cudaFree(p));
  CK(cudaFree(link));
  CK(cudaFree(count));
  printf("cell_lists: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
