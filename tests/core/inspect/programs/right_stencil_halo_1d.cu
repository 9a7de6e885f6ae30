// Seven-point stencil in one dimension with a halo in shared memory. The last block is partly
// filled; the halo on the right is loaded relative to the end of what the block really has.
#include <cstdio>
#include <cuda_runtime.h>

#define B 128
#define R 3

__constant__ int coef[2 * R + 1];

__global__ void stencil(const int *in, int *out, int n) {
  __shared__ int s[B + 2 * R];
  int first = blockIdx.x * B;
  int have = min(B, n - first);
  int t = threadIdx.x;
  if (t < have)
    s[R + t] = in[first + t];
  if (t < R) {
    int l = first + t - R;
    s[t] = l >= 0 ? in[l] : 0;
    int r = first + have + t;
    s[R + have + t] = r < n ? in[r] : 0;
  }
  __syncthreads();
  if (t >= have)
    return; // no barrier follows
  int acc = 0;
  for (int k = -R; k <= R; k++)
    acc += coef[k + R] * s[R + t + k];
  out[first + t] = acc;
}

int main() {
  const int n = 6 * B + 2; // two cells in the last block, fewer than the radius
  static int h[n], g[n];
  int c[2 * R + 1] = {1, -2, 3, 5, 3, -2, 1};
  for (int i = 0; i < n; i++)
    h[i] = (i * 29 + 5) % 53;
  int *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(coef, c, sizeof c);
  stencil<<<(n + B - 1) / B, B>>>(a, b, n);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    int w = 0;
    for (int k = -R; k <= R; k++)
      if (i + k >= 0 && i + k < n)
        w += c[k + R] * h[i + k];
    if (w != g[i])
      wrong++;
  }
  printf("stencil_halo_1d: %d wrong\n", wrong);
  return wrong != 0;
}
