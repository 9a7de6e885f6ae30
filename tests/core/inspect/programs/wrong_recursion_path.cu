// finding: bounds-array 29
// The path has eight places, but a few threads of the last block reach a ninth level of the recursion.
// Depth-first walk over an implicit tree, recursively, one thread per root; the path from the root
// is kept in a local array, so that a leaf can add up what stands on it.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 32
#define LEVELS 8

struct Walk {
  int path[LEVELS];
  int leaves, sum;
};

__host__ __device__ inline int children(int node, int depth) {
  if (depth >= 8)
    return 0;
  if (depth >= 4)
    return node % 8 == 0 ? 1 : 0;
  return node % 4 == 2 ? 2 : 1;
}

__host__ __device__ inline int child(int node, int k) {
  return (node * 3 + k * 5) % 1024;
}

__device__ void visit(Walk &w, int node, int depth) {
  w.path[depth] = node;
  int c = children(node, depth);
  if (c == 0) {
    w.leaves++;
    for (int d = 0; d <= depth && d < LEVELS; d++)
      w.sum += w.path[d] * (d + 1);
    return;
  }
  for (int k = 0; k < c; k++)
    visit(w, child(node, k), depth + 1);
}

__global__ void walkAll(const int *root, int *leaves, int *sums, int n) {
  int i = blockIdx.x * NT + threadIdx.x;
  if (i >= n)
    return;
  Walk w;
  w.leaves = 0;
  w.sum = 0;
  visit(w, root[i], 0);
  leaves[i] = w.leaves;
  sums[i] = w.sum;
}

static int hostLeaves(int node, int depth) {
  int c = children(node, depth), s = c == 0;
  for (int k = 0; k < c; k++)
    s += hostLeaves(child(node, k), depth + 1);
  return s;
}

int main() {
  const int n = 2 * NT + 9;
  int h[n], l[n], s[n], wrong = 0;
  for (int i = 0; i < n; i++)
    h[i] = i >= 2 * NT + 6 ? 8 * i : 4 * i + 2;
  int *d, *dl, *ds;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&dl, sizeof l);
  cudaMalloc(&ds, sizeof s);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  walkAll<<<(n + NT - 1) / NT, NT>>>(d, dl, ds, n);
  cudaMemcpy(l, dl, sizeof l, cudaMemcpyDeviceToHost);
  cudaMemcpy(s, ds, sizeof s, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(dl);
  cudaFree(ds);
  for (int i = 0; i < n; i++)
    wrong += l[i] != hostLeaves(h[i], 0);
  printf("recursion_path: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
