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
  (void)out;
  (void)x;
  (void)columns;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  (void)out;
  (void)x;
  (void)rows;
  (void)columns;
}
