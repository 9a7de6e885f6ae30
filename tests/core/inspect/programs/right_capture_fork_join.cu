// A stream capture that forks into a second stream and joins again; the graph is launched several times.
#include <cstdio>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void split(const int *x, int *even, int *odd, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < h) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
}

__global__ void affine(int *v, int h, int a, int b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < h)
    v[i] = (v[i] * a + b) % 10007;
}

__global__ void merge(int *x, const int *even, const int *odd, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < h) {
    x[2 * i] = odd[i];
    x[2 * i + 1] = even[i];
  }
}

int main() {
  const int h = 400, n = 2 * h, launches = 5;
  int host[n], want[n];
  for (int i = 0; i < n; i++)
    host[i] = want[i] = (i * 13) % 997;
  int *x, *e, *o;
  CK(cudaMalloc(&x, sizeof host));
  CK(cudaMalloc(&e, h * sizeof(int)));
  CK(cudaMalloc(&o, h * sizeof(int)));
  CK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  cudaStream_t s, t;
  CK(cudaStreamCreate(&s));
  CK(cudaStreamCreate(&t));
  cudaEvent_t fork, back;
  CK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  split<<<4, 100, 0, s>>>(x, e, o, h);
  CK(cudaEventRecord(fork, s));
  CK(cudaStreamWaitEvent(t, fork, 0));
  affine<<<4, 100, 0, s>>>(e, h, 3, 1);
  affine<<<4, 100, 0, t>>>(o, h, 5, 2);
  CK(cudaEventRecord(back, t));
  CK(cudaStreamWaitEvent(s, back, 0));
  merge<<<4, 100, 0, s>>>(x, e, o, h);
  CK(cudaStreamEndCapture(s, &graph));
  CK(cudaGraphInstantiate(&exec, graph, 0));
  for (int k = 0; k < launches; k++)
    CK(cudaGraphLaunch(exec, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
  for (int k = 0; k < launches; k++)
    for (int i = 0; i < h; i++) {
      int a = (want[2 * i] * 3 + 1) % 10007, b = (want[2 * i + 1] * 5 + 2) % 10007;
      want[2 * i] = b;
      want[2 * i + 1] = a;
    }
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += host[i] != want[i];
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(graph));
  CK(cudaEventDestroy(fork));
  CK(cudaEventDestroy(back));
  CK(cudaStreamDestroy(s));
  CK(cudaStreamDestroy(t));
  CK(cudaFree(x));
  CK(cudaFree(e));
  CK(cudaFree(o));
  printf("capture_fork_join: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
