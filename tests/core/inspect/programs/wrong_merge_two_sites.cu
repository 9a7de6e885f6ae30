// finding: divergent 47 43
// The threads of the first run and those of the second pass different barriers.
// Merge sort in one block: in each round a thread finds by binary search where its element goes
// in the merged run, and stores it into the other buffer. Stable.
#include <cstdio>
#include <cuda_runtime.h>

#define N 256

struct Rec {
  int key;
  int id;
};

template <bool Upper> __device__ int rankIn(const Rec *run, int len, int key) {
  int lo = 0, hi = len;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    bool right = Upper ? run[mid].key <= key : run[mid].key < key;
    if (right)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

__global__ void mergeSort(const int *in, Rec *out, int n) {
  extern __shared__ Rec both[]; // 2 * N
  Rec *from = both, *to = both + N;
  int t = threadIdx.x;
  from[t].key = t < n ? in[t] : 0x7fffffff;
  from[t].id = t;
  __syncthreads();
  for (int run = 1; run < N; run *= 2) {
    int pair = t & ~(2 * run - 1);
    bool second = (t & run) != 0;
    Rec me = from[t];
    int at = pair + (t & (run - 1));
    if (second) {
      at += rankIn<true>(from + pair, run, me.key);
      to[at] = me;
      __syncthreads();
    } else {
      at += rankIn<false>(from + pair + run, run, me.key);
      to[at] = me;
      __syncthreads();
    }
    Rec *x = from;
    from = to;
    to = x;
  }
  if (t < n)
    out[t] = from[t];
}

int main() {
  const int n = 211;
  int h[n];
  Rec g[n];
  for (int i = 0; i < n; i++)
    h[i] = (i * 77 + 5) % 60;
  int *a;
  Rec *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof g);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  mergeSort<<<1, N, 2 * N * sizeof(Rec)>>>(a, b, n);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    if (g[i].id < 0 || g[i].id >= n || h[g[i].id] != g[i].key) {
      wrong++;
      continue;
    }
    if (i && (g[i - 1].key > g[i].key || (g[i - 1].key == g[i].key && g[i - 1].id >= g[i].id)))
      wrong++;
  }
  printf("merge_two_sites: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
