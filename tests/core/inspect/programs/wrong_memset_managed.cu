// finding: uninitialized-global 14
// CudaMemset gets the number of bins instead of the number of bytes, so three quarters of the managed histogram stay
// uninitialized before they are added to.
#include <cstdio>
#include <cuda_runtime.h>

constexpr int BINS = 64;

__global__ void histogram(unsigned *hist, unsigned char *marks, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int bin = (i * 7) % BINS;
  atomicAdd(&hist[bin], 1u);
  if (bin == 0)
    marks[i] = 0;
}

int main() {
  const int n = 6400;
  unsigned *hist;
  unsigned char *marks;
  if (cudaMallocManaged(&hist, BINS * sizeof(unsigned)) != cudaSuccess)
    return 2;
  if (cudaMallocManaged(&marks, n) != cudaSuccess)
    return 2;
  cudaStream_t s;
  if (cudaStreamCreate(&s) != cudaSuccess)
    return 2;

  cudaMemset(hist, 0, BINS);
  hist[0] += 1000;
  hist[1] += 2000;

  cudaMemsetAsync(marks, 0xff, n, s);
  histogram<<<(n + 255) / 256, 256, 0, s>>>(hist, marks, n);
  if (cudaStreamSynchronize(s) != cudaSuccess)
    return 2;

  int bad = 0;
  for (int b = 0; b < BINS; ++b) {
    unsigned want = n / BINS + (b == 0 ? 1000 : b == 1 ? 2000 : 0);
    bad += hist[b] != want;
  }
  for (int i = 0; i < n; ++i)
    bad += marks[i] != ((i * 7) % BINS == 0 ? 0 : 0xff);
  printf("histogram: %d wrong\n", bad);

  cudaStreamDestroy(s);
  cudaFree(marks);
  cudaFree(hist);
  return bad != 0;
}
