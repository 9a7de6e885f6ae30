// Scan of a block in three parts: each warp scans its 32 values in volatile shared memory in
// front of which 16 zeros stand, so that no step needs a condition; then the first warp scans
// the warps' sums; then every thread adds its warp's offset.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 256
#define WARPS (NT / 32)
#define STRIDE 48

__device__ int warpScan(volatile int *s, int lane, int v) {
  volatile int *p = s + 16;
  if (lane < 16)
    s[lane] = 0;
  p[lane] = v;
  __syncwarp();
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    int o = p[lane - d];
    __syncwarp();
    v += o;
    p[lane] = v;
    __syncwarp();
  }
  return v;
}

__global__ void scan(const int *in, int *out, int *sum) {
  __shared__ int room[WARPS * STRIDE];
  __shared__ int offset[WARPS];
  int t = threadIdx.x, lane = t & 31, w = t >> 5;
  int v = in[blockIdx.x * NT + t];
  int incl = warpScan(room + w * STRIDE, lane, v);
  if (lane == 31)
    offset[w] = incl;
  __syncthreads();
  if (w == 0) {
    int x = lane < WARPS ? offset[lane] : 0;
    int y = warpScan(room, lane, x); // the first warp's own room, a second time
    if (lane < WARPS)
      offset[lane] = y - x;
    if (lane == WARPS - 1)
      sum[blockIdx.x] = y;
  }
  __syncthreads();
  out[blockIdx.x * NT + t] = incl + offset[w];
}

int main() {
  const int blocks = 3, n = blocks * NT;
  int h[n], g[n], s[blocks], wrong = 0;
  for (int i = 0; i < n; i++)
    h[i] = (i * 91) % 37 - 15;
  int *a, *b, *c;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof g);
  cudaMalloc(&c, sizeof s);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<blocks, NT>>>(a, b, c);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaMemcpy(s, c, sizeof s, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  for (int k = 0; k < blocks; k++) {
    int run = 0;
    for (int i = 0; i < NT; i++) {
      run += h[k * NT + i];
      wrong += g[k * NT + i] != run;
    }
    wrong += s[k] != run;
  }
  printf("volatile_warp_scan: %d wrong\n", wrong);
  return wrong != 0;
}
