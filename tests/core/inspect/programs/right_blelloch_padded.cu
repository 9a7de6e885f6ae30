// Exclusive scan after Blelloch over 2*T elements of a block, with padded indices against bank
// conflicts. The up sweep and the down sweep have their barrier at the head of each round.
#include <cstdio>
#include <cuda_runtime.h>

#define T 128
#define NELEM (2 * T)
#define LOG_BANKS 5
#define PAD(i) ((i) + ((i) >> LOG_BANKS))

__device__ __forceinline__ int levelIndex(int t, int offset, int which) {
  return PAD(offset * (2 * t + which) - 1);
}

__global__ void exclusiveScan(const unsigned *in, unsigned *out, unsigned *total) {
  __shared__ unsigned s[NELEM + (NELEM >> LOG_BANKS)];
  int t = threadIdx.x;
  int base = blockIdx.x * NELEM;
  s[PAD(t)] = in[base + t];
  s[PAD(t + T)] = in[base + t + T];

  int offset = 1;
  for (int d = T; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d)
      s[levelIndex(t, offset, 2)] += s[levelIndex(t, offset, 1)];
    offset *= 2;
  }
  if (t == 0) { // thread 0 wrote this element itself in the last round
    total[blockIdx.x] = s[PAD(NELEM - 1)];
    s[PAD(NELEM - 1)] = 0;
  }
  for (int d = 1; d <= T; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = levelIndex(t, offset, 1), b = levelIndex(t, offset, 2);
      unsigned x = s[a];
      s[a] = s[b];
      s[b] += x;
    }
  }
  __syncthreads();
  out[base + t] = s[PAD(t)];
  out[base + t + T] = s[PAD(t + T)];
}

int main() {
  const int blocks = 3, n = blocks * NELEM;
  static unsigned h[n], g[n];
  unsigned tot[blocks];
  for (int i = 0; i < n; i++)
    h[i] = (i * 2654435761u) >> 25;
  unsigned *a, *b, *c;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMalloc(&c, sizeof tot);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  exclusiveScan<<<blocks, T>>>(a, b, c);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaMemcpy(tot, c, sizeof tot, cudaMemcpyDeviceToHost);
  bool ok = true;
  for (int k = 0; k < blocks; k++) {
    unsigned run = 0;
    for (int i = 0; i < NELEM; i++) {
      ok = ok && g[k * NELEM + i] == run;
      run += h[k * NELEM + i];
    }
    ok = ok && tot[k] == run;
  }
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  puts(ok ? "blelloch_padded ok" : "blelloch_padded WRONG");
  return ok ? 0 : 1;
}
