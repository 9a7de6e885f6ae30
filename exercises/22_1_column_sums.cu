// Exercise 22.1: Column sums: coalesced access      lesson 22 · medium · 30 min
//
// Task      Sum each column of a row-major matrix with coalesced loads: the
//           lanes of a warp load neighboring addresses, so that a request for
//           128 bytes takes only 4 sectors of 32 bytes.
//               sums[c] = in[0][c] + in[1][c] + ...    PyTorch: in.sum(dim=0)
// Example   rows 1 2 3 and 10 20 30   ->   sums = 11 22 33
// Write     column_sums_on_device and its kernels.
// Inputs    in               device array of rows * columns floats
//           sums             device array of columns floats, uninitialized
//           rows, columns    1 to 100,000; in has fewer than 2^31 bytes
// Required  - correct for every size, without data races or out-of-bounds
//             accesses, computed on the device
//           - coalesced: all loads together access at most twice as many
//             sectors as in occupies (measured with at least 256 columns)
// Stars     ** at most 2 launches
#include <cuda_runtime.h>

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
}
