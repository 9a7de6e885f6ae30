// Exercise 28.2: Capture and replay a CUDA graph   lesson 28 · medium · 45 min
//
// Task      Run `steps` steps, each with its own batch. In each step, the
//           kernels left and right read x and the batch, and the kernel both
//           computes the next x from their results. A launch costs the host
//           microseconds, so capture one step as a graph, and replay it:
//               with torch.cuda.graph(g): step(static_batch)
//               for b in batches: static_batch.copy_(b); g.replay()
// Example   2 steps: copy batch 0, launch graph, copy batch 1, launch graph
// Write     steps_on_device
// Inputs    x, y, z    device arrays of n ints; y and z are scratch
//           batches    device array of steps * n ints, batch after batch
//           batch      device array of n ints: the graph reads its batch here
//           n, steps   1 to 2^20, and 1 to 1000; steps * n is below 2^31
//           main_stream, side   non-blocking streams
// Required  - x is complete when the function returns, in every call
//           - one graph with all three kernels, instantiated once per call, and
//             launched for each batch (the first step may run without it)
// Stars     ** left and right can run at the same time in the graph
//           *** the host waits only at the end
#include <cuda_runtime.h>

enum { THREADS = 128 };

__global__ void left(int *y, const int *x, const int *batch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = (3 * x[i] + batch[i]) % 65536;
}

__global__ void right(int *z, const int *x, const int *batch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = (x[i] + 5 * batch[i]) % 65536;
}

__global__ void both(int *x, const int *y, const int *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = (y[i] + 2 * z[i]) % 65536;
}

extern "C" void steps_on_device(int *x, int *y, int *z, const int *batches, int *batch, int n, int steps,
                                cudaStream_t main_stream, cudaStream_t side) {
  // [answer]
  int blocks = (n + THREADS - 1) / THREADS;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t step;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, main_stream);
  cudaStreamWaitEvent(side, fork, 0);
  left<<<blocks, THREADS, 0, main_stream>>>(y, x, batch, n);
  right<<<blocks, THREADS, 0, side>>>(z, x, batch, n);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(main_stream, join, 0);
  both<<<blocks, THREADS, 0, main_stream>>>(x, y, z, n);
  cudaStreamEndCapture(main_stream, &graph);
  cudaGraphInstantiate(&step, graph, 0);
  for (int i = 0; i < steps; i++) {
    cudaMemcpyAsync(batch, batches + i * n, n * sizeof(int), cudaMemcpyDeviceToDevice, main_stream);
    cudaGraphLaunch(step, main_stream);
  }
  cudaStreamSynchronize(main_stream);
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  // [stub]
  // [end]
}
