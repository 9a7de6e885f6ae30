// Exercise 23.2: Planes of any number of channels    lesson 23 · hard · 50 min
//
// Task      The channels of an image are interleaved: in contains all channels
//           of the first pixel, then those of the next. Separate them into
//           planes, one per channel:
//               out.copy_(in.T)
// Example   3 pixels of 2 channels: in = 1 10 2 20 3 30
//           ->   out = 1 2 3 10 20 30
// Write     the kernel planes, and planes_on_device, which launches it.
// Inputs    out       device array of channels x n floats, row-major, 16-byte
//                     aligned
//           in        device array of n x channels floats, row-major, 16-byte
//                     aligned
//           n         0 to 2^17 pixels
//           channels  1 to 16
// Required  - correct for every input, without data races or out-of-bounds
//             accesses
//           - coalesced loads and stores: at most 1.5 x the ideal sectors per
//             request (measured with 4 and 8 channels, n a multiple of 32)
// Stars     ** shared memory: at most 2 x the ideal wavefronts per request
//           *** dynamic shared memory, at most 4 words per thread and channel
#include <cuda_runtime.h>

enum { THREADS = 256 };

// [answer]
// One padding word after every 32 words puts words that are 4, 8 or 16 apart into different banks.
static __device__ __host__ int padded(int i) {
  return i + i / 32;
}

__global__ void planes(float *out, const float *in, int n, int channels) {
  extern __shared__ float tile[];
  int first = blockIdx.x * THREADS, t = threadIdx.x;
  int pixels = n - first < THREADS ? n - first : THREADS;
  for (int i = t; i < pixels * channels; i += THREADS)
    tile[padded(i)] = in[first * channels + i];
  __syncthreads();
  if (t < pixels)
    for (int k = 0; k < channels; k++)
      out[k * n + first + t] = tile[padded(t * channels + k)];
}
// [stub]
//| __global__ void planes(float *out, const float *in, int n, int channels) {
//| }
// [end]

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  // [answer]
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 0)
    planes<<<blocks, THREADS, padded(THREADS * channels) * sizeof(float)>>>(out, in, n, channels);
  // [stub]
  // [end]
}
