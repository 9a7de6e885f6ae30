// finding: race-block 14 16
// Before the step of stride 32 only the warp is synchronized, though the step of stride 64 exchanged elements between two
// warps (same line, other round).
// Bitonic sort of 512 keys with values per block. Each thread owns one pair of a round; the steps
// whose pairs stay within a warp's part get by with __syncwarp.
#include <cstdio>
#include <algorithm>
#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int KEYS = 2 * THREADS;

template <typename K, typename V> __device__ inline void order(K &ka, V &va, K &kb, V &vb, bool up) {
  if ((ka > kb) == up) {
    K k = ka;
    ka = kb;
    kb = k;
    V v = va;
    va = vb;
    vb = v;
  }
}

__global__ void bitonic(int *keys, short *vals, int n) {
  __shared__ int k[KEYS];
  __shared__ short v[KEYS];
  int t = threadIdx.x;
  for (int i = t; i < KEYS; i += THREADS) {
    int g = blockIdx.x * KEYS + i;
    k[i] = g < n ? keys[g] : 0x7fffffff;
    v[i] = g < n ? vals[g] : (short)-1;
  }
  for (int size = 2; size <= KEYS; size <<= 1) {
    bool up = (t & (size >> 1)) == 0;
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      if (stride >= 64 || stride == size >> 1)
        __syncthreads();
      else
        __syncwarp();
      int pos = 2 * t - (t & (stride - 1));
      order(k[pos], v[pos], k[pos + stride], v[pos + stride], up);
    }
  }
  __syncthreads();
  for (int i = t; i < KEYS; i += THREADS) {
    int g = blockIdx.x * KEYS + i;
    if (g < n) {
      keys[g] = k[i];
      vals[g] = v[i];
    }
  }
}

int main() {
  const int n = 1200; // the third block is only partly filled
  static int key[n], ref[n], got[n];
  static short val[n];
  unsigned x = 12345;
  for (int i = 0; i < n; i++) {
    x = x * 1103515245u + 12345u;
    key[i] = ref[i] = (int)(x >> 12) - 300000;
    val[i] = (short)i;
  }
  int *dk;
  short *dv;
  cudaMalloc(&dk, n * sizeof(int));
  cudaMalloc(&dv, n * sizeof(short));
  cudaMemcpy(dk, key, n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dv, val, n * sizeof(short), cudaMemcpyHostToDevice);
  bitonic<<<(n + KEYS - 1) / KEYS, THREADS>>>(dk, dv, n);
  cudaMemcpy(got, dk, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(val, dv, n * sizeof(short), cudaMemcpyDeviceToHost);
  cudaFree(dk);
  cudaFree(dv);
  int wrong = 0;
  for (int b = 0; b < n; b += KEYS) {
    int e = std::min(b + KEYS, n);
    std::sort(ref + b, ref + e);
    for (int i = b; i < e; i++)
      if (got[i] != ref[i] || key[val[i]] != got[i])
        wrong++;
  }
  printf("bitonic_warp_steps: %d wrong\n", wrong);
  return wrong > 0;
}
