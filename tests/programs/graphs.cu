// Graphs built node by node, changed, cloned, and updated.
#include <cstdio>

static int failures;
#define CHECK(what)                                                                                                    \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                                                \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)
#define DONE(call) CHECK((call) == cudaSuccess)

__global__ void add(int *x, int by) {
  x[threadIdx.x] += by;
}
template <class T> __global__ void __launch_bounds__(64) twice(T *x) {
  x[threadIdx.x] *= 2;
}
static void note(void *data) {
  ++*(int *)data;
}

static cudaKernelNodeParams kernel(void *function, void **arguments) {
  cudaKernelNodeParams p = {};
  p.func = function;
  p.gridDim = dim3(1);
  p.blockDim = dim3(4);
  p.kernelParams = arguments;
  return p;
}

// Conditional nodes: a loop whose kernel counts down, in a graph that is captured, and then one of two ways.
__global__ void count_down(int *x, cudaGraphConditionalHandle again, cudaGraphConditionalHandle odd) {
  x[1]++;
  cudaGraphSetConditional(again, --x[0] != 0);
  cudaGraphSetConditional(odd, x[1] % 2);
}
__global__ void store(int *x, int value) {
  x[2] = value;
}
static void conditions(void) {
  int *x;
  cudaMallocManaged(&x, 3 * sizeof *x);
  cudaStream_t stream, inner;
  cudaGraph_t graph, same;
  cudaGraphExec_t exec;
  cudaGraphConditionalHandle again, odd;
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t *after;
  size_t count;
  DONE(cudaStreamCreate(&stream));
  DONE(cudaStreamCreate(&inner));
  DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  store<<<1, 1, 0, stream>>>(x, 0);
  DONE(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &after, nullptr, &count));
  CHECK(count == 1);
  DONE(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
  DONE(cudaGraphConditionalHandleCreate(&odd, graph));
  cudaGraphNode_t loop, choice, last;
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = again;
  p.conditional.type = cudaGraphCondTypeWhile;
  p.conditional.size = 1;
  DONE(cudaGraphAddNode(&loop, graph, after, nullptr, count, &p));
  DONE(cudaStreamBeginCaptureToGraph(inner, p.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                     cudaStreamCaptureModeGlobal));
  count_down<<<1, 1, 0, inner>>>(x, again, odd);
  DONE(cudaStreamEndCapture(inner, nullptr));
  p.conditional.handle = odd;
  p.conditional.type = cudaGraphCondTypeIf;
  p.conditional.size = 2;
  DONE(cudaGraphAddNode(&choice, graph, &loop, nullptr, 1, &p));
  for (int way = 0; way < 2; way++) {
    int value = 10 + way;
    void *arguments[] = {&x, &value};
    cudaGraphNodeParams k = {};
    k.type = cudaGraphNodeTypeKernel;
    k.kernel = kernel((void *)store, arguments);
    DONE(cudaGraphAddNode(&last, p.conditional.phGraph_out[way], nullptr, nullptr, 0, &k));
  }
  DONE(cudaStreamUpdateCaptureDependencies(stream, &choice, nullptr, 1, cudaStreamSetCaptureDependencies));
  add<<<1, 1, 0, stream>>>(x + 2, 100);
  DONE(cudaStreamEndCapture(stream, &same));
  CHECK(same == graph);
  p.conditional.type = cudaGraphCondTypeWhile;
  CHECK(cudaGraphAddNode(&last, graph, nullptr, nullptr, 0, &p) == cudaErrorInvalidValue); // two graphs of a loop
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphDestroy(graph));
  for (int times = 4; times < 6; times++) {
    x[0] = times;
    x[1] = 0;
    DONE(cudaGraphLaunch(exec, stream));
    DONE(cudaStreamSynchronize(stream));
    CHECK(x[1] == times && x[2] == (times % 2 ? 110 : 111));
  }
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaFree(x));
}

// Memory that was allocated before is freed by the graph, which may run again all the same.
static void frees(cudaStream_t stream) {
  int *x, host = 0;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  DONE(cudaMallocAsync(&x, sizeof *x, stream));
  DONE(cudaMemsetAsync(x, 0, sizeof *x, stream));
  DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 1, 0, stream>>>(x, 5);
  DONE(cudaMemcpyAsync(&host, x, sizeof host, cudaMemcpyDeviceToHost, stream));
  DONE(cudaFreeAsync(x, stream));
  DONE(cudaStreamEndCapture(stream, &graph));
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; i++)
    DONE(cudaGraphLaunch(exec, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(host == 10);
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaGraphDestroy(graph));
}

int main() {
  conditions();
  int *x, host[4] = {1, 2, 3, 4}, out[4], called = 0, by = 10, more = 100;
  DONE(cudaMalloc(&x, sizeof host));
  cudaStream_t stream;
  DONE(cudaStreamCreate(&stream));
  cudaGraph_t graph, clone, child;
  cudaGraphNode_t in, first, second, back, told, all;
  DONE(cudaGraphCreate(&graph, 0));
  DONE(cudaGraphAddMemcpyNode1D(&in, graph, nullptr, 0, x, host, sizeof host, cudaMemcpyHostToDevice));
  void *add_arguments[] = {&x, &by}, *more_arguments[] = {&x, &more}, *twice_arguments[] = {&x};
  cudaKernelNodeParams p = kernel((void *)add, add_arguments);
  DONE(cudaGraphAddKernelNode(&first, graph, &in, 1, &p));
  // The edge to the second comes afterwards, as does the one from it to the copy.
  cudaKernelNodeParams q = kernel((void *)twice<int>, twice_arguments);
  DONE(cudaGraphAddMemcpyNode1D(&back, graph, nullptr, 0, out, x, sizeof out, cudaMemcpyDeviceToHost));
  DONE(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &q));
  DONE(cudaGraphAddDependencies(graph, &first, &second, 1));
  DONE(cudaGraphAddDependencies(graph, &second, &back, 1));
  cudaHostNodeParams h = {note, &called};
  DONE(cudaGraphAddHostNode(&told, graph, &back, 1, &h));
  size_t count = 0, roots = 0;
  DONE(cudaGraphGetNodes(graph, nullptr, &count));
  DONE(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(count == 5 && roots == 1);

  cudaGraphExec_t exec, other;
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++)
    DONE(cudaGraphLaunch(exec, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(out[0] == 22 && out[3] == 28 && called == 3);

  cudaKernelNodeParams changed = kernel((void *)add, more_arguments);
  DONE(cudaGraphExecKernelNodeSetParams(exec, first, &changed));
  DONE(cudaGraphLaunch(exec, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(out[0] == 202);

  DONE(cudaGraphClone(&clone, graph));
  DONE(cudaGraphInstantiate(&other, clone, 0));
  DONE(cudaGraphLaunch(other, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(out[0] == 22);
  cudaGraphExecUpdateResultInfo info;
  DONE(cudaGraphExecUpdate(exec, clone, &info));
  DONE(cudaGraphLaunch(exec, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(info.result == cudaGraphExecUpdateSuccess && out[3] == 28);

  DONE(cudaGraphCreate(&child, 0));
  cudaMemsetParams m = {};
  m.dst = x;
  m.value = 0x01010101;
  m.elementSize = 4;
  m.width = 4;
  m.height = 1;
  cudaGraphNode_t fill;
  DONE(cudaGraphAddMemsetNode(&fill, child, nullptr, 0, &m));
  DONE(cudaGraphAddChildGraphNode(&all, graph, &told, 1, child));
  CHECK(cudaGraphExecUpdate(exec, graph, &info) == cudaErrorGraphExecUpdateFailure);
  CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  cudaGraphNode_t last;
  DONE(cudaGraphAddMemcpyNode1D(&last, graph, &all, 1, host, x, sizeof host, cudaMemcpyDeviceToHost));
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphLaunch(exec, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(host[0] == 0x01010101 && out[0] == 22);

  // A capture whose second stream is gone before its end, with memory of its own.
  cudaStream_t side;
  cudaEvent_t event;
  cudaGraph_t captured;
  int *own;
  DONE(cudaStreamCreate(&side));
  DONE(cudaEventCreate(&event));
  DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  DONE(cudaMallocAsync(&own, sizeof host, stream));
  DONE(cudaEventRecord(event, stream));
  DONE(cudaStreamWaitEvent(side, event, 0));
  DONE(cudaMemcpyAsync(own, out, sizeof host, cudaMemcpyHostToDevice, side));
  add<<<1, 4, 0, side>>>(own, 1);
  DONE(cudaMemcpyAsync(out, own, sizeof host, cudaMemcpyDeviceToHost, side));
  DONE(cudaFreeAsync(own, side));
  DONE(cudaEventRecord(event, side));
  DONE(cudaStreamWaitEvent(stream, event, 0));
  DONE(cudaStreamDestroy(side));
  DONE(cudaStreamEndCapture(stream, &captured));
  DONE(cudaGraphInstantiate(&other, captured, 0));
  for (int i = 0; i < 2; i++)
    DONE(cudaGraphLaunch(other, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(out[0] == 24 && out[3] == 30);
  DONE(cudaFree(own)); // and the graph may run again all the same
  DONE(cudaGraphLaunch(other, stream));
  DONE(cudaStreamSynchronize(stream));
  CHECK(out[0] == 25);
  DONE(cudaGraphDestroy(captured));
  frees(stream);

  DONE(cudaGraphAddDependencies(graph, &last, &in, 1));
  CHECK(cudaGraphInstantiate(&other, graph, 0) == cudaErrorInvalidValue); // a circle
  CHECK(cudaGraphAddDependencies(graph, &fill, &in, 1) == cudaErrorInvalidValue);
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaGraphDestroy(graph));
  DONE(cudaGraphDestroy(clone));
  DONE(cudaGraphDestroy(child));
  DONE(cudaFree(x));
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
