// finding: race-block 43 40
// BlockReduce has no barrier at its end, its second call overwrites the warp sums while the first warp may still read those of
// the first call.
// Mean and variance of a Monte Carlo sample, two block reductions one after the other.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define WARP 32
#define THREADS 256

#define gpuErrchk(ans)                                                                                                 \
  {                                                                                                                    \
    if ((ans) != cudaSuccess) {                                                                                        \
      fprintf(stderr, "GPU error line %d\n", __LINE__);                                                                \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  }

__host__ __device__ unsigned pcg(unsigned &state) {
  unsigned old = state;
  state = old * 747796405u + 2891336453u;
  unsigned w = ((old >> ((old >> 28) + 4)) ^ old) * 277803737u;
  return (w >> 22) ^ w;
}

template <typename T> __device__ T warpReduce(T v) {
#pragma unroll
  for (int o = WARP / 2; o > 0; o >>= 1)
    v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

template <typename T> __device__ T blockReduce(T v) {
  static __shared__ T warpSum[THREADS / WARP];
  const int lane = threadIdx.x % WARP, wid = threadIdx.x / WARP;
  v = warpReduce(v);
  if (lane == 0)
    warpSum[wid] = v;
  __syncthreads();
  if (wid == 0) {
    v = lane < THREADS / WARP ? warpSum[lane] : T(0);
    v = warpReduce(v);
  }
  return v; // valid in thread 0
}

__global__ void moments(unsigned seed, int perThread, unsigned long long *out) {
  unsigned state = seed + 977u * (blockIdx.x * THREADS + threadIdx.x);
  unsigned long long sum = 0, sumSq = 0;
  for (int k = 0; k < perThread; k++) {
    unsigned long long v = pcg(state) & 1023u;
    sum += v;
    sumSq += v * v;
  }
  sum = blockReduce(sum);
  sumSq = blockReduce(sumSq);
  if (threadIdx.x == 0) {
    atomicAdd(&out[0], sum);
    atomicAdd(&out[1], sumSq);
  }
}

int main(int argc, char **argv) {
  const int blocks = 5, per = argc > 1 ? atoi(argv[1]) : 20;
  unsigned long long *d, h[2], want[2] = {0, 0};
  for (int t = 0; t < blocks * THREADS; t++) {
    unsigned s = 17u + 977u * t;
    for (int k = 0; k < per; k++) {
      unsigned long long v = pcg(s) & 1023u;
      want[0] += v;
      want[1] += v * v;
    }
  }
  gpuErrchk(cudaMalloc(&d, sizeof h));
  gpuErrchk(cudaMemset(d, 0, sizeof h));
  moments<<<blocks, THREADS>>>(17u, per, d);
  gpuErrchk(cudaGetLastError());
  gpuErrchk(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
  gpuErrchk(cudaFree(d));
  double n = (double)blocks * THREADS * per, mean = h[0] / n;
  printf("mean %.3f, sd %.3f, sums %s\n", mean, sqrt(h[1] / n - mean * mean),
         h[0] == want[0] && h[1] == want[1] ? "exact" : "wrong");
  return 0;
}
