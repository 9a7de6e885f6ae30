// A graph built node by node: memset -> histogram, histogram -> two readers side by side, both -> copy back.
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

const int BINS = 32;

__global__ void histogram(const unsigned char *in, int n, int *bins) {
  __shared__ int local[BINS];
  if (threadIdx.x < BINS)
    local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i] % BINS], 1);
  __syncthreads();
  if (threadIdx.x < BINS && local[threadIdx.x])
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void largest(const int *bins, int *out) {
  int v = bins[threadIdx.x];
  for (int o = 16; o; o >>= 1)
    v = max(v, __shfl_xor_sync(~0u, v, o));
  if (threadIdx.x == 0)
    out[0] = v;
}

__global__ void filled(const int *bins, int *out) {
  unsigned m = __ballot_sync(~0u, bins[threadIdx.x] > 0);
  if (threadIdx.x == 0)
    out[1] = __popc(m);
}

int main() {
  int n = 3000;
  unsigned char h[3000];
  int want[BINS] = {}, wmax = 0, wfill = 0, got[2] = {-1, -1};
  for (int i = 0; i < n; i++) {
    h[i] = (i * i / 3) % 251;
    want[h[i] % BINS]++;
  }
  for (int w : want) {
    if (w > wmax)
      wmax = w;
    wfill += w > 0;
  }
  unsigned char *in;
  int *bins, *out;
  CK(cudaMalloc(&in, n));
  CK(cudaMalloc(&bins, sizeof want));
  CK(cudaMalloc(&out, sizeof got));
  CK(cudaMemcpy(in, h, n, cudaMemcpyHostToDevice));
  cudaGraph_t g;
  CK(cudaGraphCreate(&g, 0));
  cudaGraphNode_t clear, hist, big, fill, copy;
  cudaMemsetParams mp = {};
  mp.dst = bins;
  mp.value = 0;
  mp.elementSize = 4;
  mp.width = BINS;
  mp.height = 1;
  CK(cudaGraphAddMemsetNode(&clear, g, nullptr, 0, &mp));
  cudaKernelNodeParams kp = {};
  void *histArgs[] = {&in, &n, &bins}, *readArgs[] = {&bins, &out};
  kp.func = (void *)histogram;
  kp.gridDim = dim3(5);
  kp.blockDim = dim3(64);
  kp.kernelParams = histArgs;
  CK(cudaGraphAddKernelNode(&hist, g, &clear, 1, &kp));
  kp.gridDim = dim3(1);
  kp.blockDim = dim3(BINS);
  kp.kernelParams = readArgs;
  kp.func = (void *)largest;
  CK(cudaGraphAddKernelNode(&big, g, &hist, 1, &kp));
  kp.func = (void *)filled;
  CK(cudaGraphAddKernelNode(&fill, g, &hist, 1, &kp));
  cudaGraphNode_t both[] = {big, fill};
  CK(cudaGraphAddMemcpyNode1D(&copy, g, both, 2, got, out, sizeof got, cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec;
  CK(cudaGraphInstantiate(&exec, g, 0));
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  int bad = 0;
  for (int k = 0; k < 2; k++) {
    got[0] = got[1] = -1;
    CK(cudaGraphLaunch(exec, s));
    CK(cudaStreamSynchronize(s));
    bad += got[0] != wmax || got[1] != wfill;
  }
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(g));
  CK(cudaStreamDestroy(s));
  CK(cudaFree(in));
  CK(cudaFree(bins));
  CK(cudaFree(out));
  printf("explicit_graph: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
