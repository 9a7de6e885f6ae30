// Splits a dot product over all devices (at most two are used), gathers the parts on device 0 by a peer copy.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define MAX_GPUS 2

struct Plan {
  int device, n;
  long long *dPart;
  int *dA, *dB;
  cudaStream_t stream;
  cudaEvent_t done;
};

__global__ void dotKernel(const int *a, const int *b, int n, long long *out) {
  __shared__ long long cache[256];
  long long t = 0;
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    t += (long long)a[i] * b[i];
  cache[threadIdx.x] = t;
  __syncthreads();
  int i = blockDim.x / 2;
  while (i != 0) {
    if (threadIdx.x < i)
      cache[threadIdx.x] += cache[threadIdx.x + i];
    __syncthreads();
    i /= 2;
  }
  if (threadIdx.x == 0)
    atomicAdd((unsigned long long *)out, (unsigned long long)cache[0]);
}

int main() {
  const int N = 6000;
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    printf("no device\n");
    return 0;
  }
  if (gpus > MAX_GPUS)
    gpus = MAX_GPUS;
  std::vector<int> a(N), b(N);
  long long want = 0;
  for (int i = 0; i < N; i++) {
    a[i] = i % 91 - 45;
    b[i] = i % 17;
    want += (long long)a[i] * b[i];
  }

  Plan plan[MAX_GPUS];
  for (int g = 0; g < gpus; g++) {
    Plan &p = plan[g];
    int first = (long long)N * g / gpus;
    p.n = (long long)N * (g + 1) / gpus - first;
    p.device = g;
    cudaSetDevice(g);
    int can = 0;
    if (g > 0) {
      cudaDeviceCanAccessPeer(&can, g, 0);
      if (can)
        cudaDeviceEnablePeerAccess(0, 0);
    }
    cudaStreamCreate(&p.stream);
    cudaEventCreateWithFlags(&p.done, cudaEventDisableTiming);
    cudaMalloc(&p.dA, p.n * sizeof(int));
    cudaMalloc(&p.dB, p.n * sizeof(int));
    cudaMalloc(&p.dPart, sizeof(long long));
    cudaMemcpyAsync(p.dA, a.data() + first, p.n * sizeof(int), cudaMemcpyHostToDevice, p.stream);
    cudaMemcpyAsync(p.dB, b.data() + first, p.n * sizeof(int), cudaMemcpyHostToDevice, p.stream);
    cudaMemsetAsync(p.dPart, 0, sizeof(long long), p.stream);
  }
  for (int g = 0; g < gpus; g++) {
    cudaSetDevice(g);
    dotKernel<<<4, 256, 0, plan[g].stream>>>(plan[g].dA, plan[g].dB, plan[g].n, plan[g].dPart);
    cudaEventRecord(plan[g].done, plan[g].stream);
  }
  cudaSetDevice(0);
  long long *gathered, parts[MAX_GPUS] = {0, 0}, sum = 0;
  cudaMalloc(&gathered, MAX_GPUS * sizeof(long long));
  for (int g = 0; g < gpus; g++) {
    cudaStreamWaitEvent(plan[0].stream, plan[g].done, 0);
    cudaMemcpyPeerAsync(gathered + g, 0, plan[g].dPart, g, sizeof(long long), plan[0].stream);
  }
  cudaMemcpyAsync(parts, gathered, gpus * sizeof(long long), cudaMemcpyDeviceToHost, plan[0].stream);
  cudaStreamSynchronize(plan[0].stream);
  for (int g = 0; g < gpus; g++)
    sum += parts[g];

  cudaFree(gathered);
  for (int g = 0; g < gpus; g++) {
    cudaSetDevice(g);
    cudaFree(plan[g].dA);
    cudaFree(plan[g].dB);
    cudaFree(plan[g].dPart);
    cudaEventDestroy(plan[g].done);
    cudaStreamDestroy(plan[g].stream);
  }
  printf("%d device(s): dot %lld, expected %lld\n", gpus, sum, want);
  return sum != want;
}
