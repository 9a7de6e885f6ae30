// Inclusive scan after Hillis and Steele, with two buffers and one barrier per round: what
// round r writes nobody reads before the barrier, and what it reads nobody writes in it.
#include <cstdio>
#include <cuda_runtime.h>

#define N 192

__global__ void scanKernel(const int *in, int *out, int len) {
  __shared__ int buf[2][N];
  int t = threadIdx.x;
  const int *src = in + blockIdx.x * len;
  int cur = 0;
  buf[cur][t] = (t < len) ? src[t] : 0;
  __syncthreads();
  for (int d = 1; d < N; d *= 2) {
    int v = buf[cur][t];
    if (t >= d)
      v += buf[cur][t - d];
    cur ^= 1;
    buf[cur][t] = v;
    __syncthreads();
  }
  if (t < len)
    out[blockIdx.x * len + t] = buf[cur][t];
}

int main() {
  const int len = 187, segs = 5;
  static int h[len * segs], g[len * segs];
  for (int i = 0; i < len * segs; i++)
    h[i] = (i * i + 3) % 17 - 8;
  int *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  scanKernel<<<segs, N>>>(a, b, len);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int s = 0; s < segs; s++) {
    int run = 0;
    for (int i = 0; i < len; i++) {
      run += h[s * len + i];
      if (g[s * len + i] != run)
        wrong++;
    }
  }
  cudaFree(a);
  cudaFree(b);
  printf("hillis_steele: wrong=%d\n", wrong);
  return wrong != 0;
}
