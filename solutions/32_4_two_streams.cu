// Exercise 32.4: Find the bug: two streams           lesson 32 · hard · 30 min
//
// Task      sums_on_device adds up scaled batches. It uses two streams that run
//           concurrently, as this PyTorch code does for each batch b:
//               with torch.cuda.stream(first):  scaled.copy_(2 * x[b])
//               with torch.cuda.stream(second): sum.add_(scaled)
//           The sum is often wrong: it is NaN, or it contains one batch twice
//           and another one not at all. There may be more than one cause.
// Example   x = 1 2 and 3 4   ->   sum = 8 12
// Fix       sums_on_device
// Inputs    x               device array of batches x n floats, written by
//                           earlier work on `first`
//           scaled          device array of n floats, scratch
//           sum             device array of n floats, set to 0 by earlier work
//                           on `second`
//           batches, n      1 to 1000, and 1 to 2^20
//           first, second   non-blocking streams of the current device
// Required  - later work on `second` reads the correct sum, in whatever order
//             the streams run
//           - the host does not wait, and does not ask whether work is done
// Stars     ** scale runs on `first`, add on `second`
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void scale(float *scaled, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    scaled[i] = 2 * x[i];
}

__global__ void add(float *sum, const float *scaled, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] += scaled[i];
}

extern "C" void sums_on_device(float *sum, float *scaled, const float *x, int batches, int n, cudaStream_t first,
                               cudaStream_t second) {
  const int blocks = (n + THREADS - 1) / THREADS;
  // [answer]
  cudaEvent_t ready, added;
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&added, cudaEventDisableTiming);
  for (int b = 0; b < batches; b++) {
    if (b > 0)
      cudaStreamWaitEvent(first, added, 0); // wait until the previous batch has been added
    scale<<<blocks, THREADS, 0, first>>>(scaled, x + (size_t)b * n, n);
    cudaEventRecord(ready, first);
    cudaStreamWaitEvent(second, ready, 0);
    add<<<blocks, THREADS, 0, second>>>(sum, scaled, n);
    cudaEventRecord(added, second);
  }
  cudaEventDestroy(ready);
  cudaEventDestroy(added);
  // [stub]
  //| cudaEvent_t ready;
  //| cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  //| for (int b = 0; b < batches; b++) {
  //|   cudaEventRecord(ready, first);
  //|   scale<<<blocks, THREADS, 0, first>>>(scaled, x + (size_t)b * n, n);
  //|   cudaStreamWaitEvent(second, ready, 0);
  //|   add<<<blocks, THREADS, 0, second>>>(sum, scaled, n);
  //| }
  //| cudaEventDestroy(ready);
  // [end]
}
