// The host reads the buffer attached to stream one while a kernel in stream two still runs; that kernel uses only
// the buffer attached to stream two.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void gcdWith(int *v, int n, int other) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int a = v[i], b = other;
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  v[i] = a;
}

static int hostGcd(int a, int b) {
  return b ? hostGcd(b, a % b) : a;
}

static int wrong(const int *v, int n, int other) {
  int bad = 0;
  for (int i = 0; i < n; ++i)
    bad += v[i] != hostGcd(i + 1, other);
  return bad;
}

int main() {
  const int n = 4096;
  int *v[2];
  cudaStream_t s[2];
  for (int k = 0; k < 2; ++k) {
    cudaStreamCreate(&s[k]);
    cudaMallocManaged(&v[k], n * sizeof(int), cudaMemAttachHost);
    for (int i = 0; i < n; ++i)
      v[k][i] = i + 1;
    cudaStreamAttachMemAsync(s[k], v[k], 0, cudaMemAttachSingle);
    cudaStreamSynchronize(s[k]);
  }
  gcdWith<<<n / 256, 256, 0, s[0]>>>(v[0], n, 360360);
  gcdWith<<<n / 256, 256, 0, s[1]>>>(v[1], n, 65536);

  cudaStreamSynchronize(s[0]);
  int bad = wrong(v[0], n, 360360);
  cudaStreamSynchronize(s[1]);
  bad += wrong(v[1], n, 65536);

  printf("attached: %d wrong\n", bad);
  for (int k = 0; k < 2; ++k) {
    cudaFree(v[k]);
    cudaStreamDestroy(s[k]);
  }
  return bad != 0;
}
