// Exercise 27.2: captured once, launched often                                           (chapter 27, docs/27_streams.md)
//
// Write steps_on_device, which does `steps` steps, each with a batch of its own. A step is three kernels, which are
// there already:
//
//   left(y, x, batch, n)    right(z, x, batch, n)    both(x, y, z, n)
//
// left and right need x and the batch and not each other; both needs what they have made, and changes x for the next
// step.
//
//   PyTorch:  with torch.cuda.graph(g): ...   and then, for each batch:  static_batch.copy_(batch); g.replay()
//
// Given: x, y, z and batch, n integers each in device memory; batches, steps * n integers there, one batch behind the
// other; two streams, both non-blocking. n is from 1 to 2^20, steps at least 1, steps * n below 2^31, and when the
// function is called x and batches are complete in every stream.
//
// Capture the step once, with right in the stream `side` beside left in the stream `main_stream`, and launch the graph
// for each batch. A graph has the addresses that there were when it was captured: so it reads `batch`, and each batch
// is copied there (within the device) before the graph is launched. When the function returns, x is done. Each call has
// arrays of its own, and so captures anew.
//
// Counted, in each call: captures and instantiations (one each), launches of graphs (steps), of kernels (3 * steps, all
// by the graph), waits of one stream for another (at least two), synchronisations (one at the end, of whatever kind).
// Looked at: whether the graph is the three kernels and nothing else, and which of them wait for which. Not looked at:
// whether graphs and events are destroyed.
//
// In the library: core/device/cuda_graph.c captures what is done in a block of code.
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
  //| (void)x;
  //| (void)y;
  //| (void)z;
  //| (void)batches;
  //| (void)batch;
  //| (void)n;
  //| (void)steps;
  //| (void)main_stream;
  //| (void)side;
  // [end]
}
