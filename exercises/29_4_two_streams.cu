// Exercise 29.4: two streams (find the bug)                               (chapter 29, docs/29_debugging_kernels.md)
//
// sums_on_device is to let two streams work hand in hand: one scales a batch, the other adds it up. For each batch b =
// 0 .. batches-1:
//
//   in the stream `first`:   scaled[i] = 2 * x[b][i]         i = 0 .. n-1
//   in the stream `second`:  sum[i] += scaled[i]
//
//   PyTorch:  with torch.cuda.stream(first): scaled.copy_(2 * x[b]); ready.record(first)
//             with torch.cuda.stream(second): second.wait_event(ready); sum.add_(scaled)
//
// Sometimes sum has a batch twice and another not at all. Find what is wrong (there is more than one thing), and mend
// it: each kernel stays in its stream, there is one array `scaled` (the last batch is in it afterwards), and the host
// waits for nothing, nor asks whether it is done. The caller reads sum in `second`. The section "The wrong stream" of
// the lesson helps.
//
// Given, in device memory, float32: x (batches rows of n, both at least 1, n at most 2^22, together below 2^31),
// complete in `first` alone; scaled (n); sum (n, all 0 in `second`); two streams, both non-blocking and of the current
// device, which may be another one in the next call. Counted: what went into which stream, waits and questions of the
// host (none), launches; not how often one stream waits for the other, nor whether events are destroyed.
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
