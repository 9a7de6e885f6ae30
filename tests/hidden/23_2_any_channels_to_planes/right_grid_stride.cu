// Few blocks, each with several tiles; rows of the tile have an odd number of words.
#include <cuda_runtime.h>

enum { THREADS = 64 };

__global__ void planes(float *out, const float *in, int n, int channels) {
  extern __shared__ float tile[];
  const int row = channels | 1;
  for (int first = blockIdx.x * THREADS; first < n; first += gridDim.x * THREADS) {
    for (int i = threadIdx.x; i < THREADS * channels && first * channels + i < n * channels; i += THREADS)
      tile[i / channels * row + i % channels] = in[first * channels + i];
    __syncthreads();
    const int pixel = first + threadIdx.x;
    for (int k = 0; pixel < n && k < channels; k++)
      out[k * n + pixel] = tile[threadIdx.x * row + k];
    __syncthreads();
  }
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  planes<<<24, THREADS, THREADS *(channels | 1) * sizeof(float)>>>(out, in, n, channels);
}
