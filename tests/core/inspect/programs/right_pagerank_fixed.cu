// PageRank in fixed point: clear, push with atomics, apply, sum the change; four kernels a round in one stream.
#include <cstdio>
#include <vector>
#include <utility>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

typedef unsigned long long u64;
const u64 ONE = 1ull << 32;

__global__ void clear(u64 *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = 0;
}

__global__ void push(const int *start, const int *to, const u64 *rank, u64 *gain, u64 *dangling, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n)
    return;
  int deg = start[v + 1] - start[v];
  if (!deg) {
    atomicAdd(dangling, rank[v]);
    return;
  }
  u64 share = rank[v] / deg;
  for (int e = start[v]; e < start[v + 1]; e++)
    atomicAdd(&gain[to[e]], share);
}

__global__ void apply(u64 *rank, const u64 *gain, const u64 *dangling, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n)
    rank[v] = ONE * 15 / 100 + (gain[v] + *dangling / n) / 100 * 85;
}

__global__ void change(const u64 *rank, u64 *old, u64 *delta, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) {
    u64 d = rank[v] > old[v] ? rank[v] - old[v] : old[v] - rank[v];
    old[v] = rank[v]; // its own element only
    atomicMax(delta, d);
  }
}

int main() {
  const int n = 320, rounds = 6, T = 64, G = (n + T - 1) / T;
  std::vector<int> start(1, 0), to;
  for (int v = 0; v < n; v++) {
    for (int k = 0; k < v % 5; k++)
      to.push_back((v * (k + 2) + 11 * k) % n);
    start.push_back(to.size());
  }
  std::vector<u64> rank(n, ONE), gain(n), got(n);
  int *ds, *dt;
  u64 *dr, *dold, *dg, *extra; // extra: dangling, delta; cleared like the gains
  CK(cudaMalloc(&ds, start.size() * sizeof(int)));
  CK(cudaMalloc(&dt, to.size() * sizeof(int)));
  CK(cudaMalloc(&dr, n * sizeof(u64)));
  CK(cudaMalloc(&dold, n * sizeof(u64)));
  CK(cudaMalloc(&dg, (n + 2) * sizeof(u64)));
  extra = dg + n;
  CK(cudaMemcpy(ds, start.data(), start.size() * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dt, to.data(), to.size() * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dr, rank.data(), n * sizeof(u64), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dold, dr, n * sizeof(u64), cudaMemcpyDeviceToDevice));
  u64 delta = 0, wantDelta = 0;
  for (int r = 0; r < rounds; r++) {
    clear<<<(n + 2 + T - 1) / T, T>>>(dg, n + 2);
    push<<<G, T>>>(ds, dt, dr, dg, extra, n);
    apply<<<G, T>>>(dr, dg, extra, n);
    change<<<G, T>>>(dr, dold, extra + 1, n);
  }
  CK(cudaGetLastError());
  CK(cudaMemcpy(&delta, extra + 1, sizeof delta, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(got.data(), dr, n * sizeof(u64), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rounds; r++) {
    u64 dang = 0;
    wantDelta = 0;
    for (auto &g : gain)
      g = 0;
    for (int v = 0; v < n; v++) {
      int deg = start[v + 1] - start[v];
      if (!deg)
        dang += rank[v];
      for (int e = start[v]; e < start[v + 1]; e++)
        gain[to[e]] += rank[v] / deg;
    }
    for (int v = 0; v < n; v++) {
      u64 x = ONE * 15 / 100 + (gain[v] + dang / n) / 100 * 85, d = x > rank[v] ? x - rank[v] : rank[v] - x;
      if (d > wantDelta)
        wantDelta = d;
      rank[v] = x;
    }
  }
  int ok = rank == got && delta == wantDelta;
  CK(cudaFree(ds));
  CK(cudaFree(dt));
  CK(cudaFree(dr));
  CK(cudaFree(dold));
  CK(cudaFree(dg));
  printf("pagerank_fixed: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
