// mistake: wrong initial maximum
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int lane = threadIdx.x % WARP, r = (blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (r >= rows) // a whole warp
    return;
  const float *row = x + (size_t)r * columns;
  float most = -3.402823466e+38f;
  int where = columns;
  for (int c = lane; c < columns; c += WARP)
    if (row[c] > most) {
      most = row[c];
      where = c;
    }
  for (int d = WARP / 2; d > 0; d /= 2) {
    float other = __shfl_down_sync(0xffffffffu, most, d);
    int there = __shfl_down_sync(0xffffffffu, where, d);
    if (other > most || (other == most && there < where)) {
      most = other;
      where = there;
    }
  }
  if (lane == 0) {
    best[r] = most;
    at[r] = where;
  }
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  if (rows == 0)
    return;
  int warps = THREADS / WARP;
  row_maximum<<<(rows + warps - 1) / warps, THREADS>>>(best, at, x, rows, columns);
}
