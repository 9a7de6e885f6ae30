// finding: divergent 26
// Every thread loops until its own value has come to rest, so that some stop passing the barriers in the loop before the
// others do.
// Each block lets its values spread along a ring, as integers, until they have come to rest:
// a value takes the greater of itself and its left neighbor less one.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 128

__device__ __forceinline__ int relaxOne(const int *s, int t) {
  int left = s[(t + NT - 1) % NT] - 1;
  return left > s[t] ? left : s[t];
}

__global__ void spread(const int *in, int *out, int *rounds) {
  __shared__ int s[NT];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * NT + t];
  __syncthreads();
  bool resting = false;
  int r = 0;
  // a value can only be changed from the left, and 16 rounds are enough for these
  for (; r < 16 && !(resting && r > 8); r++) {
    int v = relaxOne(s, t);
    __syncthreads();
    resting = v == s[t];
    s[t] = v;
    __syncthreads();
  }
  out[blockIdx.x * NT + t] = s[t];
  rounds[blockIdx.x * NT + t] = r;
}

int main() {
  const int blocks = 2, n = blocks * NT;
  int h[n], g[n], r[n], wrong = 0, most = 0;
  for (int i = 0; i < n; i++)
    h[i] = (i % 40 == 7) ? 14 : 0;
  int *a, *b, *c;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof g);
  cudaMalloc(&c, sizeof r);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  spread<<<blocks, NT>>>(a, b, c);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaMemcpy(r, c, sizeof r, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  for (int k = 0; k < blocks; k++)
    for (int t = 0; t < NT; t++) {
      int w = h[k * NT + t];
      for (int d = 1; d < 16; d++) {
        int v = h[k * NT + (t + NT - d) % NT] - d;
        if (v > w)
          w = v;
      }
      wrong += w != g[k * NT + t];
      if (r[k * NT + t] > most)
        most = r[k * NT + t];
    }
  printf("jacobi_own_loop: %d wrong, at most %d rounds\n", wrong, most);
  return wrong ? 1 : 0;
}
