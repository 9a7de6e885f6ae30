// finding: race-grid 53 52
// A tile waits for its left neighbor, but for the upper one only in the first column.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int S = 16;

struct Plan {
  int tilesX, tilesY, pitch;
  int *ticket;
  volatile int *done;
};

__device__ void waitFor(const Plan &p, int tx, int ty) {
  while (!p.done[ty * p.tilesX + tx])
    __nanosleep(20);
  __threadfence();
}

// cheapest way from the upper left to each cell, going right or down; tiles are drawn row by row
__global__ void cheapest(const int *cost, int *best, Plan p) {
  __shared__ int tile;
  int t = threadIdx.x;
  if (t == 0) {
    tile = atomicAdd(p.ticket, 1);
    int tx = tile % p.tilesX, ty = tile / p.tilesX;
    if (tx > 0)
      waitFor(p, tx - 1, ty);
    else if (ty > 0)
      waitFor(p, tx, ty - 1);
  }
  __syncthreads();
  int x0 = tile % p.tilesX * S, y = tile / p.tilesX * S + t;
  for (int d = 0; d < 2 * S - 1; d++) {
    int x = x0 + d - t;
    if (d >= t && d - t < S) {
      int in = x == 0 && y == 0 ? 0 : 1 << 28;
      if (x > 0)
        in = min(in, best[y * p.pitch + x - 1]);
      if (y > 0)
        in = min(in, best[(y - 1) * p.pitch + x]);
      best[y * p.pitch + x] = in + cost[y * p.pitch + x];
    }
    __syncthreads();
  }
  if (t == 0) {
    __threadfence();
    p.done[tile] = 1;
  }
}

int main() {
  const int tx = 6, ty = 4, w = tx * S, h = ty * S, n = w * h;
  std::vector<int> cost(n), want(n), got(n);
  for (int i = 0; i < n; i++)
    cost[i] = 1 + (i * 2971) % 97;
  for (int i = 0; i < n; i++) {
    int in = i ? 1 << 28 : 0;
    if (i % w)
      in = std::min(in, want[i - 1]);
    if (i >= w)
      in = std::min(in, want[i - w]);
    want[i] = in + cost[i];
  }
  int *dc, *db, *words;
  CK(cudaMalloc(&dc, n * sizeof(int)));
  CK(cudaMalloc(&db, n * sizeof(int)));
  CK(cudaMalloc(&words, (1 + tx * ty) * sizeof(int)));
  CK(cudaMemcpy(dc, cost.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(db, 0, n * sizeof(int)));
  CK(cudaMemset(words, 0, (1 + tx * ty) * sizeof(int)));
  cheapest<<<tx * ty, S>>>(dc, db, Plan{tx, ty, w, words, words + 1});
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), db, n * sizeof(int), cudaMemcpyDeviceToHost));
  int ok = got == want;
  CK(cudaFree(dc));
  CK(cudaFree(db));
  CK(cudaFree(words));
  printf("wavefront_upper: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
