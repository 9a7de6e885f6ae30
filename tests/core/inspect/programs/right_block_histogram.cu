// All blocks add to the same managed bins with device-scope atomicAdd, not atomicAdd_system; that is enough because
// the host touches them only before the launch and after the wait.
#include <cstdio>
#include <cuda_runtime.h>

constexpr int BINS = 64;

__global__ void letters(const unsigned char *text, int n, int *bins) {
  __shared__ int local[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[text[i] % BINS], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    atomicAdd(&bins[b], local[b]);
}

int main() {
  const int n = 20000;
  unsigned char *text;
  int *bins;
  cudaMallocManaged(&text, n);
  cudaMallocManaged(&bins, BINS * sizeof(int));
  int want[BINS] = {};
  for (int i = 0; i < n; ++i) {
    text[i] = (unsigned char)((i * i + 3 * i) % 251);
    ++want[text[i] % BINS];
  }
  for (int b = 0; b < BINS; ++b)
    bins[b] = 0;

  letters<<<12, 128>>>(text, n, bins);
  cudaError_t err = cudaDeviceSynchronize();
  if (err != cudaSuccess) {
    printf("error: %s\n", cudaGetErrorString(err));
    return 2;
  }

  int bad = 0;
  for (int b = 0; b < BINS; ++b)
    bad += bins[b] != want[b];
  printf("block histogram: %d wrong bins\n", bad);
  cudaFree(text);
  cudaFree(bins);
  return bad != 0;
}
