// left in the other stream, and capturing that does not mind what other threads do.
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
  int blocks = (n + THREADS - 1) / THREADS;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t step;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal);
  cudaEventRecord(fork, main_stream);
  cudaStreamWaitEvent(side, fork, 0);
  left<<<blocks, THREADS, 0, side>>>(y, x, batch, n);
  right<<<blocks, THREADS, 0, main_stream>>>(z, x, batch, n);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(main_stream, join, 0);
  both<<<blocks, THREADS, 0, main_stream>>>(x, y, z, n);
  cudaStreamEndCapture(main_stream, &graph);
  cudaGraphInstantiateWithFlags(&step, graph, 0);
  for (int i = 0; i < steps; i++) {
    cudaMemcpyAsync(batch, batches + i * n, n * sizeof(int), cudaMemcpyDeviceToDevice, main_stream);
    cudaGraphLaunch(step, main_stream);
  }
  cudaStreamSynchronize(main_stream);
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
}
