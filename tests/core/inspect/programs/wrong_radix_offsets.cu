// finding: bounds-array 25
// The last warp stores its running count to offset[NW], one past the end of the array.
// LSD radix sort of one block's keys, one bit per pass: ranks come from __ballot_sync and from
// offsets of the warps; the keys go through shared memory and back into registers.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>

#define NT 160
#define NW (NT / 32)

// offset[w] is to hold the zeros of the warps before w, *zeros the zeros of all of them
__device__ int zerosBefore(bool isZero, int *warpCount, int *offset, int *zeros) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned b = __ballot_sync(0xffffffffu, isZero);
  if (lane == 0)
    warpCount[warp] = __popc(b);
  if (threadIdx.x == 0)
    offset[0] = 0;
  __syncthreads();
  if (lane == 0) {
    int run = 0;
    for (int w = 0; w <= warp; w++)
      run += warpCount[w];
    offset[warp + 1] = run;
    if (warp == NW - 1)
      *zeros = run;
  }
  __syncthreads();
  return offset[warp] + __popc(b & ((1u << lane) - 1u));
}

__global__ void radixSort(uint16_t *data, int bits) {
  __shared__ uint16_t keys[NT];
  __shared__ int warpCount[NW];
  __shared__ int offset[NW];
  __shared__ int zeros;
  int t = threadIdx.x;
  uint16_t *mine = data + blockIdx.x * NT;
  uint16_t key = mine[t];
  for (int b = 0; b < bits; b++) {
    bool isZero = ((key >> b) & 1) == 0;
    int rank = zerosBefore(isZero, warpCount, offset, &zeros);
    int dst = isZero ? rank : zeros + (t - rank);
    keys[dst] = key;
    __syncthreads();
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
  printf("radix_offsets: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 2 : 0;
}
