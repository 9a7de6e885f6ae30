// finding: race-stream 25 31
// The graph has no edge from the node that fills the weights to the node that multiplies with them.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void fillValues(int *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    v[i] = i % 50;
}

__global__ void fillWeights(int *w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    w[i] = 3 - i % 7;
}

__global__ void multiply(const int *v, const int *w, int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] = v[i] * w[n - 1 - i];
}

__global__ void sum(const int *p, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int s = i < n ? p[i] : 0;
  for (int o = 16; o; o >>= 1)
    s += __shfl_down_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0)
    atomicAdd(out, s);
}

int main() {
  int n = 640, want = 0, got = 0;
  for (int i = 0; i < n; i++)
    want += (i % 50) * (3 - (n - 1 - i) % 7);
  int *v, *w, *p, *out;
  CK(cudaMalloc(&v, n * sizeof(int)));
  CK(cudaMalloc(&w, n * sizeof(int)));
  CK(cudaMalloc(&p, n * sizeof(int)));
  CK(cudaMalloc(&out, sizeof(int)));
  CK(cudaMemset(w, 0, n * sizeof(int)));
  CK(cudaDeviceSynchronize());
  cudaGraph_t g;
  CK(cudaGraphCreate(&g, 0));
  auto add = [&](void (*f)(), std::vector<cudaGraphNode_t> deps, std::vector<void *> args) {
    cudaKernelNodeParams k = {};
    k.func = (void *)f;
    k.gridDim = dim3((n + 63) / 64);
    k.blockDim = dim3(64);
    k.kernelParams = args.data();
    cudaGraphNode_t node = nullptr;
    if (cudaGraphAddKernelNode(&node, g, deps.data(), deps.size(), &k) != cudaSuccess)
      printf("node failed\n");
    return node;
  };
  cudaGraphNode_t clear;
  cudaMemsetParams m = {};
  m.dst = out;
  m.elementSize = 4;
  m.width = 1;
  m.height = 1;
  CK(cudaGraphAddMemsetNode(&clear, g, nullptr, 0, &m));
  auto values = add((void (*)())fillValues, {}, {&v, &n});
  auto weights = add((void (*)())fillWeights, {}, {&w, &n});
  auto product = add((void (*)())multiply, {values}, {&v, &w, &p, &n});
  add((void (*)())sum, {product, clear, weights}, {&p, &out, &n});
  cudaGraphExec_t exec;
  CK(cudaGraphInstantiate(&exec, g, 0));
  CK(cudaGraphLaunch(exec, 0));
  CK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(g));
  CK(cudaFree(v));
  CK(cudaFree(w));
  CK(cudaFree(p));
  CK(cudaFree(out));
  printf("graph_edge: %s\n", got == want ? "ok" : "WRONG");
  return got != want;
}
