// The graph is built by hand, with a node for each kernel.
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

static cudaGraphNode_t add(cudaGraph_t graph, void *kernel, void **arguments, int n, const cudaGraphNode_t *after,
                           size_t count) {
  cudaGraphNode_t node;
  cudaKernelNodeParams p = {};
  p.func = kernel;
  p.gridDim = dim3((n + THREADS - 1) / THREADS);
  p.blockDim = dim3(THREADS);
  p.kernelParams = arguments;
  cudaGraphAddKernelNode(&node, graph, after, count, &p);
  return node;
}

extern "C" void steps_on_device(int *x, int *y, int *z, const int *batches, int *batch, int n, int steps,
                                cudaStream_t main_stream, cudaStream_t) {
  void *for_left[] = {&y, &x, &batch, &n}, *for_right[] = {&z, &x, &batch, &n}, *for_both[] = {&x, &y, &z, &n};
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphCreate(&graph, 0);
  const cudaGraphNode_t first[] = {add(graph, (void *)left, for_left, n, NULL, 0),
                                   add(graph, (void *)right, for_right, n, NULL, 0)};
  add(graph, (void *)both, for_both, n, first, 2);
  cudaGraphInstantiate(&exec, graph, 0);
  for (int s = 0; s < steps; s++) {
    cudaMemcpyAsync(batch, &batches[(size_t)s * n], n * sizeof *batch, cudaMemcpyDeviceToDevice, main_stream);
    cudaGraphLaunch(exec, main_stream);
  }
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}
