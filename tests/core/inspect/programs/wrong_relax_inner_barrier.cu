// finding: divergent 26 29
// The barrier stands inside a condition that the last warp does not fulfil, as its threads lie above the last inner cell.
// Red-black relaxation of a rod held at both ends, in one block; the cells of one color are
// done by the threads whose cell is an inner one.
#include <cstdio>
#include <cuda_runtime.h>

#define CELLS 194 // two ends and 192 inner cells
#define NT 128    // thread t works on cells 2t + 1 and 2t + 2
#define SWEEPS 12

__device__ void half(int *u, int cell) {
  u[cell] = (u[cell - 1] + u[cell + 1]) / 2;
}

__global__ void relax(const int *in, int *out) {
  __shared__ int u[CELLS];
  int t = threadIdx.x;
  for (int i = t; i < CELLS; i += NT)
    u[i] = in[blockIdx.x * CELLS + i];
  __syncthreads();
  for (int s = 0; s < SWEEPS; s++) {
    int red = 2 * t + 1, black = 2 * t + 2;
    if (black < CELLS - 1) {
      half(u, red);
      __syncthreads();
      half(u, black);
    }
    __syncthreads();
  }
  for (int i = t; i < CELLS; i += NT)
    out[blockIdx.x * CELLS + i] = u[i];
}

int main() {
  const int blocks = 2;
  static int h[blocks * CELLS], g[blocks * CELLS];
  for (int i = 0; i < blocks * CELLS; i++)
    h[i] = (i * 7919) % 4001;
  int *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof g);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  relax<<<blocks, NT>>>(a, b);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) {
    printf("relax: %s\n", cudaGetErrorString(e));
    return 2;
  }
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int k = 0; k < blocks; k++) {
    int *u = h + k * CELLS;
    for (int s = 0; s < SWEEPS; s++) {
      for (int c = 1; c < CELLS - 1; c += 2)
        u[c] = (u[c - 1] + u[c + 1]) / 2;
      for (int c = 2; c < CELLS - 1; c += 2)
        u[c] = (u[c - 1] + u[c + 1]) / 2;
    }
    for (int c = 0; c < CELLS; c++)
      wrong += u[c] != g[k * CELLS + c];
  }
  printf("relax_inner_barrier: %d wrong\n", wrong);
  return wrong != 0;
}
