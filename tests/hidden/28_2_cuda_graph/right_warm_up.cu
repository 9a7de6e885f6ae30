// The first step runs without a graph, as PyTorch's warm-up does; the copy uses both streams.
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

static void step(int *x, int *y, int *z, const int *batch, int n, cudaStream_t main_stream, cudaStream_t side) {
  const int blocks = (n + THREADS - 1) / THREADS;
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, main_stream);
  cudaStreamWaitEvent(side, event, 0);
  left<<<blocks, THREADS, 0, main_stream>>>(y, x, batch, n);
  right<<<blocks, THREADS, 0, side>>>(z, x, batch, n);
  cudaEventRecord(event, side);
  cudaStreamWaitEvent(main_stream, event, 0);
  both<<<blocks, THREADS, 0, main_stream>>>(x, y, z, n);
  cudaEventDestroy(event);
}

extern "C" void steps_on_device(int *x, int *y, int *z, const int *batches, int *batch, int n, int steps,
                                cudaStream_t main_stream, cudaStream_t side) {
  step(x, y, z, batches, n, main_stream, side);
  cudaStreamSynchronize(main_stream);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeRelaxed);
  step(x, y, z, batch, n, main_stream, side);
  cudaStreamEndCapture(main_stream, &graph);
  cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
  cudaEvent_t copied, used;
  cudaEventCreate(&copied);
  cudaEventCreate(&used);
  for (int i = 1; i < steps; i++) {
    if (i > 1)
      cudaStreamWaitEvent(side, used, 0);
    cudaMemcpyAsync(batch, batches + i * n, n * sizeof(int), cudaMemcpyDeviceToDevice, side);
    cudaEventRecord(copied, side);
    cudaStreamWaitEvent(main_stream, copied, 0);
    cudaGraphLaunch(exec, main_stream);
    cudaEventRecord(used, main_stream);
  }
  cudaStreamSynchronize(main_stream);
  cudaEventDestroy(copied);
  cudaEventDestroy(used);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}
