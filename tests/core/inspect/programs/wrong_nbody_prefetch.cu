// finding: race-block 17 23
// The tile two rounds ahead is stored into the buffer that other threads are still reading in the present round.
// Forces between bodies on a line, by tiles in shared memory with two buffers; while a tile is
// worked on, the one after the next is already fetched.
#include <cstdio>
#include <cuda_runtime.h>

#define TILE 64

struct Body {
  int x, q;
};

__device__ void fetch(Body *buf, const Body *all, int tile, int n) {
  int i = tile * TILE + threadIdx.x;
  Body none = {0, 0};
  buf[threadIdx.x] = i < n ? all[i] : none;
}

__device__ long long tileForce(const Body *buf, Body me) {
  long long f = 0;
  for (int k = 0; k < TILE; k++) {
    int d = buf[k].x - me.x;
    int s = d > 0 ? 1 : (d < 0 ? -1 : 0);
    f += (long long)s * me.q * buf[k].q * (1000 - (d > 0 ? d : -d));
  }
  return f;
}

__global__ void forces(const Body *all, long long *out, int n) {
  __shared__ Body buf[2][TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  int tiles = (n + TILE - 1) / TILE;
  Body me = {0, 0};
  if (i < n)
    me = all[i];
  fetch(buf[0], all, 0, n);
  fetch(buf[1], all, 1, n);
  __syncthreads();
  long long f = 0;
  for (int r = 0; r < tiles; r++) {
    f += tileForce(buf[r & 1], me);
    if (r + 2 < tiles)
      fetch(buf[r & 1], all, r + 2, n);
    __syncthreads();
  }
  if (i < n)
    out[i] = f;
}

int main() {
  const int n = 5 * TILE - 11;
  static Body h[n];
  static long long g[n];
  for (int i = 0; i < n; i++) {
    h[i].x = (i * 67) % 509;
    h[i].q = i % 7 - 3;
  }
  Body *d;
  long long *f;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&f, sizeof g);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  forces<<<(n + TILE - 1) / TILE, TILE>>>(d, f, n);
  cudaMemcpy(g, f, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(f);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    long long w = 0;
    for (int k = 0; k < n; k++) {
      int dx = h[k].x - h[i].x, s = dx > 0 ? 1 : (dx < 0 ? -1 : 0);
      w += (long long)s * h[i].q * h[k].q * (1000 - (dx > 0 ? dx : -dx));
    }
    wrong += w != g[i];
  }
  printf("nbody_prefetch: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
