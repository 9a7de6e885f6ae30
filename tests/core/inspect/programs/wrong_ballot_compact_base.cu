// finding: uninitialized-shared 43
// The count of a warp is stored by its lane 31, which the last warp of 8 lanes does not have, so base[3] is read without ever
// having been written.
// Stable stream compaction inside a block by ballots. Only the front of the shared output is
// ever written, and only that front is read. The block's last warp has 8 lanes.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 104
#define NW ((NT + 31) / 32)
#define PER 3

struct IsKept {
  int m;
  __device__ bool operator()(int v) const {
    return v % m == 0 || v < 0;
  }
};

template <class Pred> __global__ void compact(const int *in, int *out, int *count, int n, Pred keep) {
  __shared__ int packed[NT * PER];
  __shared__ int base[NW + 1];
  __shared__ int total;
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned mask = warp == NT / 32 ? (1u << (NT % 32)) - 1 : ~0u;
  if (t == 0)
    total = 0;
  for (int p = 0; p < PER; p++) {
    int i = p * NT + t;
    int v = 0;
    bool k = false;
    if (i < n) {
      v = in[i];
      k = keep(v);
    }
    unsigned b = __ballot_sync(mask, k);
    if (lane == 31)
      base[warp] = __popc(b);
    __syncthreads();
    if (t == 0) {
      int run = total;
      for (int w = 0; w < NW; w++) {
        int c = base[w];
        base[w] = run;
        run += c;
      }
      total = run;
    }
    __syncthreads();
    if (k)
      packed[base[warp] + __popc(b & ((1u << lane) - 1))] = v;
    __syncthreads();
  }
  for (int i = t; i < total; i += NT)
    out[i] = packed[i];
  if (t == NT - 1)
    *count = total;
}

int main() {
  const int n = NT * PER - 17;
  int h[n], got[n], cnt = -1, want = 0, wrong = 0;
  for (int i = 0; i < n; i++)
    h[i] = (i * 11) % 97 - 20;
  int *a, *b, *c;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&c, sizeof cnt);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  IsKept keep = {3};
  compact<<<1, NT>>>(a, b, c, n, keep);
  cudaMemcpy(&cnt, c, sizeof cnt, cudaMemcpyDeviceToHost);
  if (cnt >= 0 && cnt <= n)
    cudaMemcpy(got, b, cnt * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  for (int i = 0; i < n; i++)
    if (h[i] % 3 == 0 || h[i] < 0) {
      if (want >= cnt || got[want] != h[i])
        wrong++;
      want++;
    }
  wrong += want != cnt;
  printf("ballot_compact_base: kept %d, wrong %d\n", cnt, wrong);
  return wrong != 0;
}
