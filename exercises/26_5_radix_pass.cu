// Exercise 26.5: Radix sort: one pass                lesson 26 · hard · 75 min
//
// Task      Sort pairs of a key and a value by one digit of the key, as each
//           pass of a radix sort does. The sort is stable: pairs with equal
//           digits keep their order.
//               digit = keys[i] >> shift & 15
// Example   shift = 4, keys = 0x35 0x12 0x30 0x11, values = 5 6 7 8   ->
//           out_keys = 0x12 0x11 0x35 0x30, out_values = 6 8 5 7
// Write     radix_pass_on_device and the kernels that it launches.
// Inputs    keys, out_keys        device arrays of n unsigned ints
//           values, out_values    device arrays of n ints
//           scratch   device array of 4 n + 65,536 ints, yours to use
//           shift     0 to 28
//           n         0 to 100,000
// Required  - correct for every input, in any order of the blocks, without data
//             races or out-of-bounds accesses
//           - no copy to the host
// Stars     ** parallel: several blocks, and at least 20 % active lanes overall
//           *** at most 8 kernel launches
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, BITS = 4, DIGITS = 1 << BITS };

__global__ void count_digits(int *counts, const unsigned int *keys, int shift, int n) {
  // one count per digit and block
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
}
