// Exercise 27.1: a pipeline in chunks                                                    (chapter 27, docs/27_streams.md)
//
// Write pipeline_on_device, which brings an array to the device, computes with it there, and takes the result back:
//
//   out[i] = worked(in[i])        for i = 0 .. n-1
//
//   PyTorch:  with torch.cuda.stream(streams[i]): out_chunk.copy_(worked(in_chunk.to("cuda", non_blocking=True)), non_blocking=True)
//
// Given: in and out, n floats each in pinned host memory; room, n floats of device memory; count streams, at least 3,
// all non-blocking (some of your own will do, too). n is from 1 to 2^24, hardly ever a multiple of count, and may be
// less than it. The kernel `work` is there already.
//
// Cut the array into chunks, at least two of them where there are two elements, so that one is computed while the next
// is on its way in and the one before on its way out. When the function returns, all of the result is in out.
//
// Looked at: what went into which stream (several, where there are more elements than streams; one for each chunk in
// turn, or one for each part of the work, with events between them, as you like); whether a kernel waits for all copies
// in, a copy out for all kernels, or a copy in for all that the chunks before have to do; whether the host waited
// before the last of it was put in; bytes copied each way (n floats); that nothing is unfinished on return.
//
// In the library: core/data/prefetcher.c copies the next batch in a stream of its own.
#include <cuda_runtime.h>

enum { THREADS = 256 };

static __device__ float worked(float x) {
  return x * x + 1;
}

__global__ void work(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = worked(x[i]);
}

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int count) {
  (void)out;
  (void)in;
  (void)room;
  (void)n;
  (void)streams;
  (void)count;
}
