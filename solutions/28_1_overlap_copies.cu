// Exercise 28.1: Overlap copies and kernels        lesson 28 · medium · 40 min
//
// Task      Copy an array to the device, apply the kernel `work` to it, and
//           copy the result back. Divide the array into chunks and use several
//           streams, so that copies and kernels of different chunks overlap:
//               with torch.cuda.stream(streams[i]):
//                   y = work(x[i].to("cuda", non_blocking=True))
//                   out[i].copy_(y, non_blocking=True)
// Example   in = 1 2 3   ->   out = 2 5 10
// Write     pipeline_on_device
// Inputs    in, out   pinned host arrays of n floats
//           scratch   device array of n floats, yours to use
//           n         1 to 2^24
//           streams   array of count non-blocking streams; count is 3 to 8
// Required  - out is complete when the function returns; no data races
//           - if n > count: at least two chunks, each with its own copies and
//             kernel, on at least two streams
//           - chunks overlap: no chunk waits until all others are copied or
//             computed
// Stars     ** the host waits only after it has enqueued all work
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

extern "C" void pipeline_on_device(float *out, const float *in, float *scratch, int n, cudaStream_t *streams,
                                   int count) {
  // [answer]
  int each = (n + count - 1) / count;
  for (int i = 0; i < count && i * each < n; i++) {
    int begin = i * each, size = n - begin < each ? n - begin : each;
    cudaMemcpyAsync(scratch + begin, in + begin, size * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
    work<<<(size + THREADS - 1) / THREADS, THREADS, 0, streams[i]>>>(scratch + begin, size);
    cudaMemcpyAsync(out + begin, scratch + begin, size * sizeof(float), cudaMemcpyDeviceToHost, streams[i]);
  }
  for (int i = 0; i < count; i++)
    cudaStreamSynchronize(streams[i]);
  // [stub]
  // [end]
}
