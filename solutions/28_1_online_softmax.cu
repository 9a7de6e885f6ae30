// Exercise 28.1: softmax in one pass                                   (chapter 28, docs/28_kernels_of_a_network.md)
//
// Write the kernel softmax_rows, and softmax_on_device, which launches it:
//
//   out[r][c] = e^(x[r][c]) / sum over k of e^(x[r][k])                r = 0 .. rows-1, c = 0 .. columns-1
//
//   PyTorch:  out = torch.softmax(x, dim=1)
//
// Given, in device memory: x (float32, rows x columns, row after row; columns at least 1) and out, to be written; both
// begin at a multiple of 16 bytes. rows may be 0, and is at most 65535. All are finite, between -1e38 and 1e38. e^x
// itself may be more than a float holds, or so little that it is 0, so each row's maximum comes off first, and before
// anything else, since large numbers are rounded whenever they are multiplied. A share of 1e-30 is still a share, and
// right to a thousandth of itself. A row may be shorter than a block, and longer than its registers: read it once for
// maximum and sum together, and once more to write. Whoever meets a larger number scales the sum it has; two threads'
// pairs are put together in the same way. Mind threads that have met no number.
// Counted: launches (one; without rows, at most one), and by the inspector, where a row has 256 columns, sectors per
// request (at most 1.5 times the fewest) and sectors that are loaded in all (at most 2.5 times those of x); and
// everywhere races, reads of what nobody has written, accesses out of bounds.
//
// In the library: FyExpSum in core/op/normalisation/softmax_cuda.cuh.
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void softmax_rows(float *out, const float *x, int columns) {
  // [answer]
  __shared__ float mosts[THREADS / WARP], sums[THREADS / WARP];
  const float *row = x + blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int k = threadIdx.x; k < columns; k += THREADS) {
    float larger = fmaxf(most, row[k]);
    sum = sum * expf(most - larger) + expf(row[k] - larger);
    most = larger;
  }
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    float other = __shfl_xor_sync(0xffffffffu, most, apart), its = __shfl_xor_sync(0xffffffffu, sum, apart);
    float larger = fmaxf(most, other);
    if (larger > -INFINITY) // one of the two has met a number
      sum = sum * expf(most - larger) + its * expf(other - larger);
    most = larger;
  }
  if (threadIdx.x % WARP == 0) {
    mosts[threadIdx.x / WARP] = most;
    sums[threadIdx.x / WARP] = sum;
  }
  __syncthreads();
  most = -INFINITY;
  sum = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    most = fmaxf(most, mosts[warp]);
  for (int warp = 0; warp < THREADS / WARP; warp++)
    sum += sums[warp] * expf(mosts[warp] - most);
  for (int k = threadIdx.x; k < columns; k += THREADS)
    out[blockIdx.x * columns + k] = expf(row[k] - most) / sum;
  // [stub]
  //| (void)out;
  //| (void)x;
  //| (void)columns;
  // [end]
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  // [answer]
  if (rows > 0)
    softmax_rows<<<rows, THREADS>>>(out, x, columns);
  // [stub]
  //| (void)out;
  //| (void)x;
  //| (void)rows;
  //| (void)columns;
  // [end]
}
