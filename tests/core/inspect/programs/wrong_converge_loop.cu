// finding: race-host 44 22
// The synchronization stands before the launch, so the loop condition reads changed[] while the kernel of this round
// may still set it.
#include <cstdio>
#include <utility>
#include <cuda_runtime.h>

constexpr int N = 4096, SEG = 16, MAXR = 64;
__managed__ int changed[MAXR];

__global__ void relax(const int *in, int *out, int round) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N)
    return;
  int v = in[i];
  if (i % SEG != 0 && in[i - 1] < v)
    v = in[i - 1];
  if (i % SEG != SEG - 1 && in[i + 1] < v)
    v = in[i + 1];
  out[i] = v;
  if (v != in[i])
    atomicExch(&changed[round], 1);
}

int main() {
  int *a, *b;
  cudaMallocManaged(&a, N * sizeof(int));
  cudaMallocManaged(&b, N * sizeof(int));
  int expect[N / SEG];
  for (int i = 0; i < N; ++i) {
    a[i] = int((i * 7919u) % 9973u);
    if (i % SEG == 0 || a[i] < expect[i / SEG])
      expect[i / SEG] = a[i];
  }
  for (int r = 0; r < MAXR; ++r)
    changed[r] = 0;

  int r = -1;
  do {
    ++r;
    cudaDeviceSynchronize();
    relax<<<N / 256, 256>>>(a, b, r);
    std::swap(a, b);
  } while (changed[r] && r + 1 < MAXR);
  cudaDeviceSynchronize();

  int bad = 0;
  for (int i = 0; i < N; ++i)
    bad += a[i] != expect[i / SEG];
  printf("converge: %d rounds, %d wrong labels\n", r + 1, bad);
  cudaFree(a);
  cudaFree(b);
  return bad != 0;
}
