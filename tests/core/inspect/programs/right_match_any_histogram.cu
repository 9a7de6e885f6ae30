// Histogram where the lanes with the same bin first find each other by __match_any_sync, and
// one of them adds for all to a plain (not atomic) counter of its warp. __syncwarp separates the rounds.
#include <cstdio>
#include <cuda_runtime.h>

#define BINS 24
#define WARPS 3

__global__ void histogram(const unsigned char *in, int *out, int n) {
  __shared__ int h[WARPS][BINS];
  int t = threadIdx.x, lane = t & 31, warp = t / 32;
  for (int b = lane; b < BINS; b += 32)
    h[warp][b] = 0;
  __syncwarp();
  int stride = WARPS * 32;
  int rounds = (n + stride - 1) / stride;
  for (int r = 0; r < rounds; r++) {
    int i = r * stride + t;
    unsigned act = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
      int bin = in[i] % BINS;
      unsigned same = __match_any_sync(act, bin);
      int leader = __ffs(same) - 1;
      if (lane == leader)
        h[warp][bin] += __popc(same);
    }
    __syncwarp(); // the next round's leader of a bin may be another lane
  }
  __syncthreads();
  if (t < BINS) {
    int s = 0;
    for (int w = 0; w < WARPS; w++)
      s += h[w][t];
    out[t] = s;
  }
}

int main() {
  const int n = 1000;
  unsigned char h[n];
  int want[BINS] = {0}, got[BINS];
  for (int i = 0; i < n; i++) {
    h[i] = (unsigned char)((i * i) / 13);
    want[h[i] % BINS]++;
  }
  unsigned char *d;
  int *o;
  cudaMalloc(&d, n);
  cudaMalloc(&o, sizeof got);
  cudaMemcpy(d, h, n, cudaMemcpyHostToDevice);
  histogram<<<1, WARPS * 32>>>(d, o, n);
  cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(o);
  int wrong = 0;
  for (int b = 0; b < BINS; b++)
    wrong += got[b] != want[b];
  printf("match_any_histogram: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 1 : 0;
}
