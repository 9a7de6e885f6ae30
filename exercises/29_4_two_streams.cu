// Exercise 29.4: Find the bug: two streams            lesson 29 · hard · 30 min
//
// Task      sums_on_device adds up scaled batches. For b = 0 .. batches-1:
//               in stream first:   scaled[i] = 2 * x[b][i]
//               in stream second:  sum[i] += scaled[i]
//           As PyTorch: with torch.cuda.stream(first): scaled.copy_(2 * x[b]).
//           Sometimes sum contains one batch twice and another one not at all.
//           There is more than one bug.
// Example   x = {{1, 2}, {3, 4}}   ->   sum = 8 12
// Fix       sums_on_device. Lesson 29, "The wrong stream", helps.
// Inputs    x         batches x n floats on the device (both at least 1, n up
//                     to 4,194,304), complete in stream first
//           scaled    n floats, which hold the last scaled batch at the end
//           sum       n floats, 0 in stream second, where the caller reads them
//           first, second   non-blocking streams of the current device
// Required  - correct in every order that the streams allow
//           - the scaling in first, the adding in second, no host sync
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
  cudaEvent_t ready;
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  for (int b = 0; b < batches; b++) {
    cudaEventRecord(ready, first);
    scale<<<blocks, THREADS, 0, first>>>(scaled, x + (size_t)b * n, n);
    cudaStreamWaitEvent(second, ready, 0);
    add<<<blocks, THREADS, 0, second>>>(sum, scaled, n);
  }
  cudaEventDestroy(ready);
}
