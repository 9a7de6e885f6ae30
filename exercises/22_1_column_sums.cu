// Exercise 22.1: columns without strides                                           (chapter 22, docs/22_global_memory.md)
//
// Write column_sums_on_device and its kernel: the sum of each column of a matrix that is stored row after row.
//
//   sums[c] = in[0 * columns + c] + in[1 * columns + c] + ...        for c = 0 .. columns-1
//
//   PyTorch:  sums = in.sum(dim=0)
//
// Given: in and sums in device memory; rows and columns, both from 1 to 100000, and less than 2^31 bytes of both. All
// elements are between -1e30 and 1e30. Nothing has been written to sums.
// Counted: launches (one); threads of a block, at least 32; sectors. A warp that reads 32 floats side by side takes 4
// of them, and 1.3 times the fewest is the most that passes, and all elements are read once. Sectors are judged where
// columns is a multiple of 8, else some requests cannot but take one more; and where columns is 4 and a request for one
// row takes one, no more than 1.4 for each row in all.
#include <cuda_runtime.h>

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  (void)sums;
  (void)in;
  (void)rows;
  (void)columns;
}
