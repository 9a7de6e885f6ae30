// mistake: 16-bit overflow
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int row = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
  int lane = threadIdx.x % WARP;
  if (row >= rows)
    return;
  float most = -INFINITY;
  unsigned short where = 65535;
  for (int c = lane; c < columns; c += WARP) {
    float value = x[(size_t)row * columns + c];
    if (value > most) {
      most = value;
      where = c;
    }
  }
  for (int step = WARP / 2; step > 0; step /= 2) {
    float other = __shfl_down_sync(0xffffffff, most, step);
    unsigned short there = __shfl_down_sync(0xffffffff, where, step);
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
  if (rows == 0)
    return;
  row_maximum<<<(rows + THREADS / WARP - 1) / (THREADS / WARP), THREADS>>>(best, at, x, rows, columns);
}
