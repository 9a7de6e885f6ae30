// Warp-aggregated append inside a branch with cooperative groups: the group of the lanes that
// took the branch reserves room once. The order is not determined, so the host sorts.
#include <cstdio>
#include <algorithm>
#include <cuda_runtime.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define NT 128

__device__ int append(int *counter) {
  cg::coalesced_group g = cg::coalesced_threads();
  int at = 0;
  if (g.thread_rank() == 0)
    at = atomicAdd(counter, (int)g.size());
  return g.shfl(at, 0) + (int)g.thread_rank();
}

__global__ void splitByParity(const int *in, int *odd, int *even, int *counts, int n) {
  __shared__ int c[2];
  __shared__ int buf[2][NT];
  int t = threadIdx.x;
  if (t < 2)
    c[t] = 0;
  __syncthreads();
  if (t < n) {
    int v = in[t];
    if (v & 1)
      buf[1][append(&c[1])] = v;
    else
      buf[0][atomicAdd(&c[0], 1)] = v;
  }
  __syncthreads();
  // plain reads of the counters, after the barrier that ends the atomics
  if (t < c[0])
    even[t] = buf[0][t];
  if (t < c[1])
    odd[t] = buf[1][t];
  if (t < 2)
    counts[t] = c[t];
}

int main() {
  const int n = 119;
  int h[n], e[NT], o[NT], c[2], we[NT], wo[NT], ne = 0, no = 0;
  for (int i = 0; i < n; i++) {
    h[i] = (i * i * 7 + i / 3) % 1000;
    if (h[i] & 1)
      wo[no++] = h[i];
    else
      we[ne++] = h[i];
  }
  int *d, *de, *dod, *dc;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&de, sizeof e);
  cudaMalloc(&dod, sizeof o);
  cudaMalloc(&dc, sizeof c);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  splitByParity<<<1, NT>>>(d, dod, de, dc, n);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  bool ok = c[0] == ne && c[1] == no;
  if (ok) {
    cudaMemcpy(e, de, ne * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(o, dod, no * sizeof(int), cudaMemcpyDeviceToHost);
    std::sort(e, e + ne);
    std::sort(we, we + ne);
    std::sort(o, o + no);
    std::sort(wo, wo + no);
    ok = std::equal(e, e + ne, we) && std::equal(o, o + no, wo);
  }
  cudaFree(d);
  cudaFree(de);
  cudaFree(dod);
  cudaFree(dc);
  printf("coalesced_aggregate: %s\n", ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}
