// LSD radix sort of one block's keys, one bit per pass: ranks come from __ballot_sync and a
// scan of the warps' counts; the keys go through shared memory and back into registers.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>

#define NT 160
#define NW (NT / 32)

__device__ int zerosBefore(bool isZero, int *warpCount, int &zeros) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned b = __ballot_sync(0xffffffffu, isZero);
  if (lane == 0)
    warpCount[warp] = __popc(b);
  __syncthreads();
  int before = __popc(b & ((1u << lane) - 1u));
  zeros = 0;
  for (int w = 0; w < NW; w++) {
    int c = warpCount[w];
    if (w < warp)
      before += c;
    zeros += c;
  }
  return before;
}

__global__ void radixSort(uint16_t *data, int bits) {
  __shared__ uint16_t keys[NT];
  __shared__ int warpCount[NW];
  int t = threadIdx.x;
  uint16_t *mine = data + blockIdx.x * NT;
  uint16_t key = mine[t];
  for (int b = 0; b < bits; b++) {
    bool isZero = ((key >> b) & 1) == 0;
    int zeros;
    int rank = zerosBefore(isZero, warpCount, zeros);
    int dst = isZero ? rank : zeros + (t - rank);
    keys[dst] = key;
    __syncthreads(); // also keeps warpCount until every warp has read it
    key = keys[t];
  }
  mine[t] = key;
}

int main() {
  const int blocks = 4, n = blocks * NT;
  static uint16_t h[n], g[n];
  for (int i = 0; i < n; i++)
    h[i] = (uint16_t)((i * 40503u + 77u) & 0x3ff);
  uint16_t *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  radixSort<<<blocks, NT>>>(d, 10);
  cudaMemcpy(g, d, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(d);
  int wrong = 0;
  for (int b = 0; b < blocks; b++) {
    int cnt[1024] = {0}, p = b * NT;
    for (int i = 0; i < NT; i++)
      cnt[h[b * NT + i]]++;
    for (int k = 0; k < 1024; k++)
      while (cnt[k]--)
        if (g[p++] != k)
          wrong++;
  }
  printf("radix_split: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 2 : 0;
}
