// Single-source shortest paths: Bellman-Ford over an edge list, atomicMin into the next distances.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <cuda_runtime.h>

#define NV 300
#define NE 1500
#define INF (INT_MAX / 2)

typedef struct {
  int src, dst, w;
} Edge;

__global__ void relax(const Edge *edges, int ne, const int *dist, int *next, int *changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= ne)
    return;
  Edge ed = edges[e];
  int cand = dist[ed.src] + ed.w;
  if (cand < dist[ed.dst]) {
    atomicMin(&next[ed.dst], cand);
    *changed = 1; /* all writers write 1 */
  }
}

__global__ void copyBack(int *dist, const int *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    dist[i] = next[i];
}

int main(int argc, char **argv) {
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 7u;
  Edge *h = (Edge *)malloc(NE * sizeof(Edge));
  int *ref = (int *)malloc(NV * sizeof(int));
  int i, round, again;
  for (i = 0; i < NE; i++) {
    seed = seed * 1664525u + 1013904223u;
    h[i].src = i < NV - 1 ? i : (int)((seed >> 8) % NV);
    seed = seed * 1664525u + 1013904223u;
    h[i].dst = i < NV - 1 ? i + 1 : (int)((seed >> 8) % NV);
    h[i].w = i < NV - 1 ? 100 : 1 + (int)((seed >> 4) % 60);
  }
  for (i = 0; i < NV; i++)
    ref[i] = INF;
  ref[0] = 0;
  do {
    again = 0;
    for (i = 0; i < NE; i++)
      if (ref[h[i].src] + h[i].w < ref[h[i].dst]) {
        ref[h[i].dst] = ref[h[i].src] + h[i].w;
        again = 1;
      }
  } while (again);

  Edge *dEdges;
  int *dDist, *dNext, *changed;
  int *init = (int *)malloc(NV * sizeof(int));
  for (i = 0; i < NV; i++)
    init[i] = INF;
  init[0] = 0;
  cudaMalloc(&dEdges, NE * sizeof(Edge));
  cudaMalloc(&dDist, NV * sizeof(int));
  cudaMalloc(&dNext, NV * sizeof(int));
  cudaMallocManaged(&changed, sizeof(int), cudaMemAttachGlobal);
  cudaMemcpy(dEdges, h, NE * sizeof(Edge), cudaMemcpyHostToDevice);
  cudaMemcpy(dDist, init, NV * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dNext, init, NV * sizeof(int), cudaMemcpyHostToDevice);

  for (round = 0; round < NV; round++) {
    *changed = 0;
    relax<<<(NE + 127) / 128, 128>>>(dEdges, NE, dDist, dNext, changed);
    copyBack<<<(NV + 127) / 128, 128>>>(dDist, dNext, NV);
    cudaDeviceSynchronize();
    if (!*changed)
      break;
  }
  cudaMemcpy(init, dDist, NV * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%s after %d rounds\n", memcmp(init, ref, NV * sizeof(int)) == 0 ? "distances agree" : "DIFFERENT", round);
  cudaFree(dEdges);
  cudaFree(dDist);
  cudaFree(dNext);
  cudaFree(changed);
  free(h);
  free(ref);
  free(init);
  return 0;
}
