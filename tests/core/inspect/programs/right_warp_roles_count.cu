// Warps with roles: the producers fill one half of a ring while the consumers empty the half of
// the round before. __syncthreads_count is the single barrier of a round and also tells all
// threads, in the same way, when nothing is left.
#include <cstdio>
#include <cuda_runtime.h>

#define PRODUCERS 64
#define CONSUMERS 64

__device__ unsigned mix(unsigned v) {
  v ^= v >> 7;
  v *= 0x9E3779B1u;
  return v ^ (v >> 15);
}

__global__ void pipeline(const unsigned *in, unsigned *sums, int n) {
  __shared__ unsigned ring[2][PRODUCERS];
  __shared__ int filled[2];
  int t = threadIdx.x;
  bool producer = t < PRODUCERS;
  int pos = t; // next element of a producer
  unsigned acc = 0;
  int round = 0, left;
  do {
    int slot = round & 1;
    if (producer) {
      int have = min(PRODUCERS, n - round * PRODUCERS);
      if (have < 0)
        have = 0;
      if (t < have)
        ring[slot][t] = mix(in[pos]);
      pos += PRODUCERS;
      if (t == 0)
        filled[slot] = have;
    } else if (round > 0) {
      int c = t - PRODUCERS;
      int cnt = filled[slot ^ 1];
      if (c < cnt)
        acc += ring[slot ^ 1][cnt - 1 - c];
    }
    left = __syncthreads_count(producer && pos - PRODUCERS < n);
    round++;
  } while (left > 0);
  if (!producer)
    sums[t - PRODUCERS] = acc;
}

int main() {
  const int n = 5 * PRODUCERS + 23;
  static unsigned h[n];
  unsigned got[CONSUMERS], want[CONSUMERS] = {0};
  for (int i = 0; i < n; i++)
    h[i] = i * 7u + 1u;
  for (int r = 0; r * PRODUCERS < n; r++) {
    int have = n - r * PRODUCERS < PRODUCERS ? n - r * PRODUCERS : PRODUCERS;
    for (int c = 0; c < have; c++) {
      unsigned v = h[r * PRODUCERS + have - 1 - c];
      v ^= v >> 7;
      v *= 0x9E3779B1u;
      v ^= v >> 15;
      want[c] += v;
    }
  }
  unsigned *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof got);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  pipeline<<<1, PRODUCERS + CONSUMERS>>>(a, b, n);
  cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int c = 0; c < CONSUMERS; c++)
    wrong += got[c] != want[c];
  printf("warp_roles_count: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
