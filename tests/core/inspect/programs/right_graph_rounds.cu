// A graph is launched again and again on the same managed arrays and the host changes its parameter between the
// launches; each time it waits for the stream before it reads or writes.
#include <cstdio>
#include <cuda_runtime.h>

struct Params {
  int scale, offset;
};

__global__ void first(const int *in, int *mid, const Params *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    mid[i] = in[i] * p->scale;
}

__global__ void second(const int *mid, int *out, const Params *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = mid[n - 1 - i] + p->offset;
}

int main() {
  const int n = 4000, grid = (n + 127) / 128, rounds = 5;
  int *in, *mid, *out;
  Params *p;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  cudaMallocManaged(&p, sizeof(Params));
  cudaMalloc(&mid, n * sizeof(int));
  for (int i = 0; i < n; ++i) {
    in[i] = i;
    out[i] = 0;
  }

  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  first<<<grid, 128, 0, s>>>(in, mid, p, n);
  second<<<grid, 128, 0, s>>>(mid, out, p, n);
  cudaStreamEndCapture(s, &graph);
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess)
    return 2;

  long long got = 0, want = 0;
  for (int r = 0; r < rounds; ++r) {
    p->scale = r + 1;
    p->offset = 10 * r;
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    for (int i = 0; i < n; ++i)
      got += out[i];
    want += (long long)n * (n - 1) / 2 * (r + 1) + 10LL * r * n;
  }

  printf("graph: %lld, expected %lld\n", got, want);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
  cudaFree(mid);
  cudaFree(p);
  cudaFree(out);
  cudaFree(in);
  return got != want;
}
