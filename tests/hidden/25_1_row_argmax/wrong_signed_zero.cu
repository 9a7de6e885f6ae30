// mistake: sign of zero compared
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

// A number and its column in one word that can be compared: larger numbers are larger words, and of equal ones the lower column.
static __device__ unsigned long long packed(float value, int column) {
  unsigned bits = __float_as_uint(value);
  bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (unsigned long long)bits << 32 | (0xffffffffu - (unsigned)column);
}

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int lane = threadIdx.x % WARP, r = (blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (r >= rows)
    return;
  const float *row = x + (size_t)r * columns;
  unsigned long long most = 0;
  for (int c = lane; c < columns; c += WARP) {
    unsigned long long own = packed(row[c], c);
    most = own > most ? own : most;
  }
  for (int d = WARP / 2; d > 0; d /= 2) {
    unsigned long long other = __shfl_down_sync(0xffffffffu, most, d);
    most = other > most ? other : most;
  }
  if (lane == 0) {
    unsigned bits = (unsigned)(most >> 32);
    best[r] = __uint_as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
    at[r] = (int)(0xffffffffu - (unsigned)most);
  }
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  if (rows == 0)
    return;
  int warps = THREADS / WARP;
  row_maximum<<<(rows + warps - 1) / warps, THREADS>>>(best, at, x, rows, columns);
}
