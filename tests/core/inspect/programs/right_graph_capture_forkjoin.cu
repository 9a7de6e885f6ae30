// Stream capture with fork and join: two fields advance in parallel branches, then are combined; the graph is launched repeatedly.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(x) check((x), #x, __LINE__)
static void check(cudaError_t e, const char *what, int line) {
  if (e == cudaSuccess)
    return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
  std::exit(1);
}

__global__ void decay(float *u, int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    u[i] *= f;
}

__global__ void combine(const float *u, const float *v, float *acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    acc[i] += u[i] - v[i];
}

__global__ void fill(float *p, int n, float value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] = value;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1500;
  const int rounds = 4, threads = 128, blocks = (n + threads - 1) / threads;
  float *u, *v, *acc;
  CHECK(cudaMalloc(&u, n * sizeof(float)));
  CHECK(cudaMalloc(&v, n * sizeof(float)));
  CHECK(cudaMalloc(&acc, n * sizeof(float)));

  cudaStream_t s1, s2;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreate(&s1));
  CHECK(cudaStreamCreate(&s2));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  fill<<<blocks, threads, 0, s1>>>(u, n, 16.0f);
  fill<<<blocks, threads, 0, s1>>>(v, n, 81.0f);
  CHECK(cudaMemsetAsync(acc, 0, n * sizeof(float), s1));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, s1));
  CHECK(cudaStreamWaitEvent(s2, fork, 0));
  decay<<<blocks, threads, 0, s1>>>(u, n, 0.5f);
  decay<<<blocks, threads, 0, s2>>>(v, n, 1.0f / 3.0f);
  CHECK(cudaEventRecord(join, s2));
  CHECK(cudaStreamWaitEvent(s1, join, 0));
  combine<<<blocks, threads, 0, s1>>>(u, v, acc, n);
  CHECK(cudaStreamEndCapture(s1, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int r = 0; r < rounds; r++)
    CHECK(cudaGraphLaunch(exec, s1));
  CHECK(cudaStreamSynchronize(s1));

  float *h = (float *)std::malloc(n * sizeof(float));
  CHECK(cudaMemcpy(h, acc, n * sizeof(float), cudaMemcpyDeviceToHost));
  float want = 0, a = 16, b = 81;
  for (int r = 0; r < rounds; r++) {
    a *= 0.5f;
    b *= 1.0f / 3.0f;
    want += a - b;
  }
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += std::fabs(h[i] - want) > 1e-3f;
  std::printf("graph: %d bad (value %f)\n", bad, h[0]);
  std::free(h);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(s1));
  CHECK(cudaStreamDestroy(s2));
  CHECK(cudaFree(u));
  CHECK(cudaFree(v));
  CHECK(cudaFree(acc));
  return 0;
}
