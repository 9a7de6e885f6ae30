// Exercise 26.1: Histogram                         lesson 26 · medium · 30 min
//
// Task      Count how often each value from 0 to bins - 1 occurs in an array.
//           Ignore all other values. If all values are in range, this is
//               torch.bincount(x, minlength=bins)
// Example   x = 2 0 2 -1 3 9, bins = 4   ->   counts = 1 0 2 1
// Write     the kernel histogram, and histogram_on_device, which launches it.
// Inputs    counts    device array of bins unsigned ints, uninitialized
//           x         device array of n ints, any values
//           n         0 to 2^20
//           bins      1 to 1024
// Required  - correct for every input, without data races or out-of-bounds
//             accesses
//           - no copy to the host
//           - at most n / 2 atomic operations on global memory (measured with
//             n = 20,000 and fewer than 20 bins)
// Stars     ** at most n / 2 atomic operations on global memory even with 600
//           bins (at n = 40,000)
//           *** several blocks share x
#include <cuda_runtime.h>

enum { MAX_BINS = 1024, THREADS = 256, MAX_BLOCKS = 8 };

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
}
