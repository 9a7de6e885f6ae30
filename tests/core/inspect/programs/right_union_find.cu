// Connected components of an edge list: lock-free union-find with atomicMin and volatile reads, then labels, then sizes.
#include <cstdio>
#include <vector>
#include <numeric>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__device__ int rootOf(volatile int *parent, int v) {
  for (int p; (p = parent[v]) != v;)
    v = p; // parents only ever get smaller
  return v;
}

__device__ void unite(int *parent, int a, int b) {
  while (true) {
    a = rootOf(parent, a);
    b = rootOf(parent, b);
    if (a == b)
      return;
    if (a < b) {
      int t = a;
      a = b;
      b = t;
    }
    int old = atomicMin(&parent[a], b);
    if (old == a)
      return; // a was a root still
    a = old;  // somebody was faster: carry on with what was there
  }
}

__global__ void init(int *parent, int *size, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    parent[i] = i;
    size[i] = 0;
  }
}

__global__ void link(int *parent, const int2 *edges, int m) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < m)
    unite(parent, edges[e].x, edges[e].y);
}

__global__ void label(int *parent, int *labels, int *size, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int r = rootOf(parent, i);
  labels[i] = r;
  unsigned same = __match_any_sync(__activemask(), r); // one addition per component and warp
  if ((threadIdx.x & 31) == __ffs(same) - 1)
    atomicAdd(&size[r], __popc(same));
}

int main() {
  const int n = 640;
  std::vector<int2> edges;
  for (int i = 0; i < n; i++) {
    if (i % 10 < 6)
      edges.push_back(make_int2((i * 7) % n, (i * 7 + 70) % n));
    if (i % 17 == 3)
      edges.push_back(make_int2(i, (i * i) % n));
  }
  int m = edges.size();
  std::vector<int> up(n), got(n), size(n), count(n, 0);
  std::iota(up.begin(), up.end(), 0);
  auto find = [&](int v) {
    while (up[v] != v)
      v = up[v];
    return v;
  };
  for (auto e : edges) {
    int a = find(e.x), b = find(e.y);
    if (a < b)
      up[b] = a;
    else
      up[a] = b;
  }
  int *parent, *labels, *ds;
  int2 *de;
  CK(cudaMalloc(&parent, n * sizeof(int)));
  CK(cudaMalloc(&labels, n * sizeof(int)));
  CK(cudaMalloc(&ds, n * sizeof(int)));
  CK(cudaMalloc(&de, m * sizeof(int2)));
  CK(cudaMemcpy(de, edges.data(), m * sizeof(int2), cudaMemcpyHostToDevice));
  init<<<(n + 63) / 64, 64>>>(parent, ds, n);
  link<<<(m + 63) / 64, 64>>>(parent, de, m);
  label<<<(n + 63) / 64, 64>>>(parent, labels, ds, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), labels, n * sizeof(int), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(size.data(), ds, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0, comps = 0;
  for (int i = 0; i < n; i++) {
    bad += got[i] != find(i);
    count[find(i)]++;
  }
  for (int i = 0; i < n; i++) {
    bad += size[i] != count[i];
    comps += count[i] > 0;
  }
  CK(cudaFree(parent));
  CK(cudaFree(labels));
  CK(cudaFree(ds));
  CK(cudaFree(de));
  printf("union_find: %s (%d components)\n", bad ? "WRONG" : "ok", comps);
  return bad != 0;
}
