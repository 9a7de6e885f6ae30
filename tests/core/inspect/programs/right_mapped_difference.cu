// The kernel reads in[i + 1] from mapped pinned memory of exactly n elements; its guard stops at n - 1, so the last
// read is in[n - 1].
#include <cstdio>
#include <cuda_runtime.h>

static bool failed(cudaError_t e, const char *what) {
  if (e == cudaSuccess)
    return false;
  printf("%s: %s\n", what, cudaGetErrorString(e));
  return true;
}

__global__ void difference(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1)
    out[i] = in[i + 1] - in[i];
}

int main() {
  const int n = 3001;
  float *hIn, *hOut, *dIn, *dOut;
  if (failed(cudaHostAlloc(&hIn, n * sizeof(float), cudaHostAllocMapped), "alloc in"))
    return 2;
  if (failed(cudaHostAlloc(&hOut, n * sizeof(float), cudaHostAllocMapped), "alloc out"))
    return 2;
  if (failed(cudaHostGetDevicePointer(&dIn, hIn, 0), "map in"))
    return 2;
  if (failed(cudaHostGetDevicePointer(&dOut, hOut, 0), "map out"))
    return 2;
  for (int i = 0; i < n; ++i) {
    hIn[i] = float(i % 64) * float(i % 64);
    hOut[i] = 0.0f;
  }

  difference<<<(n + 127) / 128, 128>>>(dIn, dOut, n);
  if (failed(cudaDeviceSynchronize(), "kernel"))
    return 2;

  int bad = 0;
  for (int i = 0; i < n - 1; ++i)
    if (hOut[i] != hIn[i + 1] - hIn[i])
      ++bad;
  printf("difference: %d wrong\n", bad);
  cudaFreeHost(hOut);
  cudaFreeHost(hIn);
  return bad != 0;
}
