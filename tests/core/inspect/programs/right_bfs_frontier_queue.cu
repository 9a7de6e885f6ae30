// Level-synchronous BFS, frontier queues with warp-aggregated appends.
// Several threads may mark the same vertex in "touched" with the same value 1: benign.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct Graph {
  int n;
  const int *rowPtr;
  const int *col;
};

__device__ int appendSlot(int *counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int base = 0;
  if (active.thread_rank() == 0)
    base = atomicAdd(counter, (int)active.size());
  return active.shfl(base, 0) + active.thread_rank();
}

__global__ void bfsLevel(Graph g, const int *inQ, int inCount, int *outQ, int *outCount, int *dist, char *touched,
                         int level) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= inCount)
    return;
  int u = inQ[t];
  for (int e = g.rowPtr[u]; e < g.rowPtr[u + 1]; ++e) {
    int v = g.col[e];
    touched[v] = 1; // same value by everyone
    if (atomicCAS(&dist[v], -1, level + 1) == -1)
      outQ[appendSlot(outCount)] = v;
  }
}

int main() {
  // a grid graph with a few chords
  const int S = 24, n = S * S;
  std::vector<std::vector<int>> adj(n);
  auto link = [&](int a, int b) {
    adj[a].push_back(b);
    adj[b].push_back(a);
  };
  for (int y = 0; y < S; y++)
    for (int x = 0; x < S; x++) {
      if (x + 1 < S)
        link(y * S + x, y * S + x + 1);
      if (y + 1 < S)
        link(y * S + x, y * S + x + S);
    }
  for (int i = 0; i < 10; i++)
    link((i * 131) % n, (i * 57 + 300) % n);
  std::vector<int> rp(1, 0), ci;
  for (auto &a : adj) {
    ci.insert(ci.end(), a.begin(), a.end());
    rp.push_back((int)ci.size());
  }

  std::vector<int> ref(n, -1), q(1, 0);
  ref[0] = 0;
  for (size_t h = 0; h < q.size(); h++)
    for (int v : adj[q[h]])
      if (ref[v] < 0) {
        ref[v] = ref[q[h]] + 1;
        q.push_back(v);
      }

  int *dRp, *dCi, *dDist, *dQ[2], *dCount;
  char *dTouched;
  cudaMalloc(&dRp, rp.size() * sizeof(int));
  cudaMalloc(&dCi, ci.size() * sizeof(int));
  cudaMalloc(&dDist, n * sizeof(int));
  cudaMalloc(&dQ[0], n * sizeof(int));
  cudaMalloc(&dQ[1], n * sizeof(int));
  cudaMalloc(&dCount, sizeof(int));
  cudaMalloc(&dTouched, n);
  cudaMemcpy(dRp, rp.data(), rp.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dCi, ci.data(), ci.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(dDist, 0xff, n * sizeof(int));
  cudaMemset(dTouched, 0, n);
  cudaMemset(dDist, 0, sizeof(int)); // source
  cudaMemset(dQ[0], 0, sizeof(int));
  Graph g{n, dRp, dCi};
  int count = 1, cur = 0;
  for (int level = 0; count > 0; ++level, cur ^= 1) {
    cudaMemset(dCount, 0, sizeof(int));
    bfsLevel<<<(count + 63) / 64, 64>>>(g, dQ[cur], count, dQ[cur ^ 1], dCount, dDist, dTouched, level);
    cudaMemcpy(&count, dCount, sizeof(int), cudaMemcpyDeviceToHost);
  }
  std::vector<int> dist(n);
  std::vector<char> touched(n);
  cudaMemcpy(dist.data(), dDist, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(touched.data(), dTouched, n, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += dist[i] != ref[i] || touched[i] != 1;
  for (void *p :
       {(void *)dRp, (void *)dCi, (void *)dDist, (void *)dQ[0], (void *)dQ[1], (void *)dCount, (void *)dTouched})
    cudaFree(p);
  printf("bfs: %d wrong of %d\n", wrong, n);
  return 0;
}
