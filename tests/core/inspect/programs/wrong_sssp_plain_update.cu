// finding: race-grid 24 23
// The distance is compared and then stored without an atomic, threads of several blocks relax edges into the same vertex.
// Single-source shortest paths, Bellman-Ford rounds over all edges of a grid road map.
#include <stdio.h>
#include <stdlib.h>
#include <limits.h>
#include <cuda_runtime.h>

#define W 20
#define H 15
#define FAR_AWAY 1000000

struct EdgeList {
  int count;
  int *from, *to, *cost;
};

__global__ void relaxEdges(EdgeList g, const int *distIn, int *distOut) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < g.count) {
    int v = g.to[e];
    int d = distIn[g.from[e]] + g.cost[e];
    if (d < distOut[v])
      distOut[v] = d;
  }
}

static int *upload(const int *src, int n) {
  int *d;
  if (cudaMalloc((void **)&d, n * sizeof(int)) != cudaSuccess)
    exit(1);
  cudaMemcpy(d, src, n * sizeof(int), cudaMemcpyHostToDevice);
  return d;
}

static int from[4 * W * H], to[4 * W * H], cost[4 * W * H], m;
static void addEdge(int a, int b, int c) {
  from[m] = a;
  to[m] = b;
  cost[m] = c;
  m++;
}

int main(void) {
  int dist[W * H], ref[W * H], wrong = 0, changed;
  // all edges of one direction first: those into one vertex lie far apart in the list
  for (int i = 0; i < W * H; i++)
    if (i % W + 1 < W)
      addEdge(i, i + 1, 1 + i * 7 % 9);
  for (int i = 0; i < W * H; i++)
    if (i % W > 0)
      addEdge(i, i - 1, 1 + i * 5 % 9);
  for (int i = 0; i + W < W * H; i++)
    addEdge(i, i + W, 1 + i * 3 % 11);
  for (int i = W; i < W * H; i++)
    addEdge(i, i - W, 1 + i * 13 % 11);

  for (int i = 0; i < W * H; i++)
    dist[i] = ref[i] = FAR_AWAY;
  dist[0] = ref[0] = 0;
  do {
    changed = 0;
    for (int e = 0; e < m; e++)
      if (ref[from[e]] + cost[e] < ref[to[e]]) {
        ref[to[e]] = ref[from[e]] + cost[e];
        changed = 1;
      }
  } while (changed);

  EdgeList g;
  g.count = m;
  g.from = upload(from, m);
  g.to = upload(to, m);
  g.cost = upload(cost, m);
  int *a = upload(dist, W * H), *b = upload(dist, W * H);
  for (int round = 0; round < 100; round++) {
    relaxEdges<<<(m + 63) / 64, 64>>>(g, a, b);
    cudaMemcpy(a, b, W * H * sizeof(int), cudaMemcpyDeviceToDevice);
  }
  cudaMemcpy(dist, a, sizeof dist, cudaMemcpyDeviceToHost);
  for (int i = 0; i < W * H; i++)
    wrong += dist[i] != ref[i];
  cudaFree(g.from);
  cudaFree(g.to);
  cudaFree(g.cost);
  cudaFree(a);
  cudaFree(b);
  printf("shortest paths: %d wrong\n", wrong);
  return 0;
}
