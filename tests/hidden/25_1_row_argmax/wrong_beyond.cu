// mistake: out-of-bounds access
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int row = (blockIdx.x * THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
  float most = -INFINITY;
  int where = columns;
  for (int k = lane; k < columns; k += WARP)
    if (x[row * columns + k] > most) {
      most = x[row * columns + k];
      where = k;
    }
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    float other = __shfl_down_sync(0xffffffffu, most, apart);
    int there = __shfl_down_sync(0xffffffffu, where, apart);
    if (other > most || (other == most && there < where)) {
      most = other;
      where = there;
    }
  }
  if (lane == 0) {
    best[row] = most;
    at[row] = where;
  }
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  int blocks = (rows + THREADS / WARP - 1) / (THREADS / WARP);
  if (blocks > 0)
    row_maximum<<<blocks, THREADS>>>(best, at, x, rows, columns);
}
