// finding: race-host 55 25
// The loop that waits for the workers always synchronizes stream 0, so the host reads the parts of the other workers
// while their kernels may run.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

struct Worker {
  int device;
  cudaStream_t stream;
  int *steps;
};

__global__ void collatz(int first, int *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned long long x = first + i;
  int c = 0;
  while (x > 1) {
    x = (x & 1) ? 3 * x + 1 : x / 2;
    ++c;
  }
  steps[i] = c;
}

static int hostSteps(unsigned long long x) {
  int c = 0;
  for (; x > 1; ++c)
    x = (x & 1) ? 3 * x + 1 : x / 2;
  return c;
}

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return 1;
  const int n = 8000;
  std::vector<Worker> workers(std::max(2, std::min(devices, 4)));
  for (size_t w = 0; w < workers.size(); ++w) {
    workers[w].device = int(w) % devices;
    cudaSetDevice(workers[w].device);
    cudaStreamCreateWithFlags(&workers[w].stream, cudaStreamNonBlocking);
    cudaMallocManaged(&workers[w].steps, n * sizeof(int));
  }
  for (size_t w = 0; w < workers.size(); ++w) {
    cudaSetDevice(workers[w].device);
    collatz<<<(n + 127) / 128, 128, 0, workers[w].stream>>>(1 + int(w) * n, workers[w].steps, n);
  }
  int bad = 0;
  for (size_t w = 0; w < workers.size(); ++w) {
    cudaStreamSynchronize(workers[0].stream);
    for (int i = 0; i < n; ++i)
      bad += workers[w].steps[i] != hostSteps(1 + w * n + i);
  }
  for (auto &w : workers) {
    cudaSetDevice(w.device);
    cudaDeviceSynchronize();
    cudaStreamDestroy(w.stream);
    cudaFree(w.steps);
  }
  printf("collatz: %zu workers on %d device(s), %d wrong\n", workers.size(), devices, bad);
  return bad != 0;
}
