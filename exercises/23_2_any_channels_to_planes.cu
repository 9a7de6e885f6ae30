// Exercise 23.2: channels taken apart, any number of them                      (chapter 23, docs/23_shared_memory.md)
//
// Write the kernel planes, and planes_on_device, which launches it:
//
//   out[k][i] = in[i][k]        i = 0 .. n-1: pixels, k = 0 .. channels-1
//
//   PyTorch:  out.copy_(in.T)
//
// Given, in device memory, at multiples of 16 bytes: in (float32, n pixels of `channels` numbers each, pixel after
// pixel) and out (`channels` planes of n numbers each). n may be 0 and is at most 2^17, channels is between 1 and 16.
// For four channels one float4 does it (exercise 22.2); here there may be any number. A thread that takes a pixel reads
// numbers that are `channels` words from those of its neighbour, and a warp's request touches `channels` times the
// sectors it should. Let a block read its pixels as they lie, word beside word, into shared memory, wait, and write
// each plane from there. How much shared memory that takes depends on `channels`: the launch says it (extern
// __shared__).
// In shared memory the words of a plane are `channels` apart, and for 4, 8 or 16 of them that is a few banks for a
// whole warp. One unused word after every 32 sets that right: word i goes to place i + i / 32. (An odd number of
// channels needs none, and is a little worse with it: for 3, lanes 0 and 21 meet. Right for any number is one after
// every least common multiple of 32 and channels.)
// Judged: shared memory: none of a fixed size, and at most four words for each thread of a launched block and each
// channel.
// Counted: launches (one; without pixels, at most one), and by the inspector races and accesses out of bounds; and, for
// 4 and 8 channels and n a multiple of 32, sectors per request of global memory and passes per request over the banks
// (each at most 1.3 times the fewest there can be). A block that takes several tiles, one after the other, has to wait
// between them, too.
//
// In the library: transpose_kernel in core/op/copy/copy.cu turns tiles in the same way.
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void planes(float *out, const float *in, int n, int channels) {
  extern __shared__ float tile[];
  (void)tile;
  (void)out;
  (void)in;
  (void)n;
  (void)channels;
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  (void)out;
  (void)in;
  (void)n;
  (void)channels;
}
