// mistake: graph of an earlier call
// also: state kept between calls
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
  const int blocks = (n + THREADS - 1) / THREADS;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  static cudaGraphExec_t ready; // captured once
  if (!ready) {
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
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphDestroy(graph);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
  }
  for (int s = 0; s < steps; s++) {
    cudaMemcpyAsync(batch, batches + (size_t)s * n, n * sizeof(int), cudaMemcpyDeviceToDevice, main_stream);
    cudaGraphLaunch(ready, main_stream);
  }
  cudaStreamSynchronize(main_stream);
}
