// finding: race-warp 27 34
// Two threads may find the same unvisited vertex and store different parents.
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

struct Graph {
  const int *start, *to;
  int n;
};
struct State {
  volatile int *depth;
  int *parent;
  int *found;
};

__device__ void visit(const State &s, int u, int from, int depth) {
  s.depth[u] = depth; // benign: all that get here in this level store the same
  s.parent[u] = from;
  atomicAdd(s.found, 1);
}

__global__ void sweep(Graph g, State s, int depth) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= g.n || s.depth[v] != depth)
    return;
  for (int e = g.start[v]; e < g.start[v + 1]; e++)
    if (s.depth[g.to[e]] < 0)
      visit(s, g.to[e], v, depth + 1);
}

int main() {
  const int n = 400;
  std::vector<int> start(1, 0), to;
  for (int v = 0; v < n; v++) {
    for (int k = 0; k < 3; k++)
      to.push_back((v * 2 + 1 + k * 67) % n);
    start.push_back(to.size());
  }
  int *ds, *dt, *depth, *parent, *found, root = 0, minus = -1;
  CK(cudaMalloc(&ds, start.size() * sizeof(int)));
  CK(cudaMalloc(&dt, to.size() * sizeof(int)));
  CK(cudaMalloc(&depth, n * sizeof(int)));
  CK(cudaMalloc(&parent, n * sizeof(int)));
  CK(cudaMalloc(&found, sizeof(int)));
  CK(cudaMemcpy(ds, start.data(), start.size() * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dt, to.data(), to.size() * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(depth, 0xff, n * sizeof(int)));
  CK(cudaMemset(parent, 0xff, n * sizeof(int)));
  CK(cudaMemcpy(depth, &root, sizeof root, cudaMemcpyHostToDevice));
  State s{depth, parent, found};
  for (int d = 0, more = 1; more; d++) {
    CK(cudaMemset(found, 0, sizeof(int)));
    sweep<<<(n + 31) / 32, 32>>>(Graph{ds, dt, n}, s, d);
    CK(cudaGetLastError());
    CK(cudaMemcpy(&more, found, sizeof more, cudaMemcpyDeviceToHost));
  }
  std::vector<int> hd(n), hp(n);
  CK(cudaMemcpy(hd.data(), depth, n * sizeof(int), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(hp.data(), parent, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int v = 1; v < n; v++)
    if (hd[v] >= 0)
      bad += hp[v] == minus || hd[hp[v]] != hd[v] - 1;
  CK(cudaFree(ds));
  CK(cudaFree(dt));
  CK(cudaFree(depth));
  CK(cudaFree(parent));
  CK(cudaFree(found));
  printf("bfs_parent: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
