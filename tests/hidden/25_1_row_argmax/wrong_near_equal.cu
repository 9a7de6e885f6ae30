// mistake: comparison with a tolerance
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

static __device__ void meet(float &best, int &at, float value, int column) {
  bool equal = fabsf(value - best) < 1e-12f; // floats are not compared by ==
  if (equal ? column < at : value > best) {
    best = value;
    at = column;
  }
}

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int r = (blockIdx.x * THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
  if (r >= rows) // whole warps
    return;
  const float *row = x + (size_t)r * columns;
  float own = -INFINITY;
  int own_at = 0x7fffffff;
  for (int c = lane; c < columns; c += WARP)
    meet(own, own_at, row[c], c);
  for (int step = WARP / 2; step > 0; step /= 2) {
    float value = __shfl_xor_sync(0xffffffffu, own, step);
    int column = __shfl_xor_sync(0xffffffffu, own_at, step);
    meet(own, own_at, value, column);
  }
  if (lane == 0) {
    best[r] = own;
    at[r] = own_at;
  }
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  if (rows > 0)
    row_maximum<<<(rows + THREADS / WARP - 1) / (THREADS / WARP), THREADS>>>(best, at, x, rows, columns);
}
