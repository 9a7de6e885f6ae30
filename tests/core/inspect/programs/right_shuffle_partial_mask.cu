// Row sums by shuffles. The block has seven warps and a last warp with 12 lanes, so both the
// last warp's steps and the second stage run with masks that name only the lanes that exist.
#include <cstdio>
#include <cuda_runtime.h>

const int WIDTH = 7 * 32 + 12;
const int ROWS = 9;

template <typename T> __device__ T laneSum(T v, unsigned mask, int lanes) {
  int lane = threadIdx.x & 31;
  for (int d = 16; d > 0; d >>= 1) {
    T o = __shfl_down_sync(mask, v, d);
    // a lane above the end gives nothing that may be used
    if (lane + d < lanes)
      v += o;
  }
  return v;
}

__global__ void rowSums(const float *m, float *sums) {
  __shared__ float part[8];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  int lanes = (warp == WIDTH / 32) ? WIDTH % 32 : 32;
  unsigned mask = (lanes == 32) ? 0xffffffffu : (1u << lanes) - 1u;

  float v = laneSum(m[blockIdx.x * WIDTH + t], mask, lanes);
  if (lane == 0)
    part[warp] = v;
  __syncthreads();
  if (t < 8) {
    float w = laneSum(part[t], 0xffu, 8);
    if (t == 0)
      sums[blockIdx.x] = w;
  }
}

int main() {
  static float h[ROWS * WIDTH];
  float want[ROWS], got[ROWS];
  for (int r = 0; r < ROWS; r++) {
    want[r] = 0;
    for (int c = 0; c < WIDTH; c++) {
      h[r * WIDTH + c] = (float)((r * 31 + c * 7) % 64);
      want[r] += h[r * WIDTH + c];
    }
  }
  float *m, *s;
  cudaMalloc((void **)&m, sizeof h);
  cudaMalloc((void **)&s, sizeof got);
  cudaMemcpy(m, h, sizeof h, cudaMemcpyHostToDevice);
  rowSums<<<ROWS, WIDTH>>>(m, s);
  cudaMemcpy(got, s, sizeof got, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int r = 0; r < ROWS; r++)
    if (got[r] != want[r])
      bad++;
  cudaFree(m);
  cudaFree(s);
  printf("shuffle_partial_mask: %d rows wrong\n", bad);
  return bad ? 1 : 0;
}
