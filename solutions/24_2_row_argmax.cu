// Exercise 24.2: the largest of each row, and where it is                        (chapter 24, docs/24_reductions.md)
//
// Write the kernel row_maximum, and row_maximum_on_device, which launches it:
//
//   best[r] = the largest of x[r][0 .. columns-1]        at[r] = the first column that has it        r = 0 .. rows-1
//
//   PyTorch:  best, at = torch.max(x, dim=1)
//
// Given, in device memory: x (float32, rows x columns, row after row, from a multiple of 16 bytes on), best (float32)
// and at (int), to be written. There are 0 to 2^13 rows and 1 to 2^17 columns, and x has less than 2^31 bytes. All are
// finite; there are numbers below 0, as far as a float goes (-FLT_MAX), very small ones, and equal ones; -0 equals 0,
// and nothing else is equal that differs.
// Let a warp take a row: its lanes read neighbouring columns, each keeps the largest that it meets and its column, and
// then the lanes put theirs together by shuffles: the number and its column travel side by side. Of two equal numbers
// the one in the lower column wins, at every step: then the result does not depend on who meets whom. A row may be
// shorter than a warp, and the last block may have more warps than there are rows left. Even then all lanes of a
// shuffle's mask must execute it: the value from a lane that has returned is undefined.
// Counted: launches (one; without rows, at most one), and by the inspector atomic operations (none), races and accesses
// out of bounds; where a row has 128 columns, sectors per request (at most 1.5 times the fewest) and in all (at most
// 2.2 times those of x).
//
// In the library: fy_reduce_rows in core/op/reduction/reduce_cuda.cuh has a group of lanes for each row.
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  // [answer]
  int row = (blockIdx.x * THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
  if (row >= rows) // a whole warp, or none of it
    return;
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
  // [stub]
  //| (void)best;
  //| (void)at;
  //| (void)x;
  //| (void)rows;
  //| (void)columns;
  // [end]
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  // [answer]
  int blocks = (rows + THREADS / WARP - 1) / (THREADS / WARP);
  if (blocks > 0)
    row_maximum<<<blocks, THREADS>>>(best, at, x, rows, columns);
  // [stub]
  //| (void)best;
  //| (void)at;
  //| (void)x;
  //| (void)rows;
  //| (void)columns;
  // [end]
}
