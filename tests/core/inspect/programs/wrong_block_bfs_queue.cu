// finding: race-block 33 29
// Thread 0 resets the counter of the next queue at the head of the loop, while other threads may still read it as the size of
// the present one.
// Breadth-first search of a small graph in one block: two queues in shared memory that change
// places after every level; the vertices are claimed by atomicCAS.
#include <cstdio>
#include <cuda_runtime.h>

#define V 200
#define DEG 3
#define NT 96

__global__ void bfs(const int *adj, int *level, int *levels) {
  __shared__ int queue[2][V];
  __shared__ int count;
  __shared__ int dist[V];
  int t = threadIdx.x;
  for (int v = t; v < V; v += NT)
    dist[v] = -1;
  __syncthreads();
  if (t == 0) {
    queue[0][0] = 0;
    dist[0] = 0;
    count = 1;
  }
  __syncthreads();
  int depth = 0, cur = 0;
  while (true) {
    int size = count;
    if (size == 0)
      break;
    if (t == 0)
      count = 0;
    __syncthreads();
    for (int q = t; q < size; q += NT) {
      int v = queue[cur][q];
      for (int k = 0; k < DEG; k++) {
        int w = adj[v * DEG + k];
        if (atomicCAS(&dist[w], -1, depth + 1) == -1) {
          int at = atomicAdd(&count, 1);
          queue[cur ^ 1][at] = w;
        }
      }
    }
    __syncthreads();
    cur ^= 1;
    depth++;
  }
  for (int v = t; v < V; v += NT)
    level[v] = dist[v];
  if (t == 0)
    *levels = depth;
}

int main() {
  static int adj[V * DEG];
  int got[V], ref[V], q[V], deep = 0, wrong = 0;
  for (int v = 0; v < V; v++) {
    adj[v * DEG] = (v * 2 + 1) % V;
    adj[v * DEG + 1] = (v * 2 + 2) % V;
    adj[v * DEG + 2] = v > 9 ? v - 9 : 0;
    ref[v] = -1;
  }
  int *da, *dl, *dn;
  cudaMalloc(&da, sizeof adj);
  cudaMalloc(&dl, sizeof got);
  cudaMalloc(&dn, sizeof deep);
  cudaMemcpy(da, adj, sizeof adj, cudaMemcpyHostToDevice);
  bfs<<<1, NT>>>(da, dl, dn);
  cudaMemcpy(got, dl, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&deep, dn, sizeof deep, cudaMemcpyDeviceToHost);
  cudaFree(da);
  cudaFree(dl);
  cudaFree(dn);
  int head = 0, tail = 0;
  ref[0] = 0;
  q[tail++] = 0;
  while (head < tail) {
    int v = q[head++];
    for (int k = 0; k < DEG; k++) {
      int w = adj[v * DEG + k];
      if (ref[w] < 0) {
        ref[w] = ref[v] + 1;
        q[tail++] = w;
      }
    }
  }
  for (int v = 0; v < V; v++)
    wrong += got[v] != ref[v];
  printf("block_bfs_queue: levels %d, wrong %d\n", deep, wrong);
  return wrong ? 1 : 0;
}
