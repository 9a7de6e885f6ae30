// mistake: missing barrier
// A block goes on to another tile while some of its threads still read this one.
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 2 };

static __device__ __host__ int place(int i) {
  return i + i / 32;
}

__global__ void planes(float *out, const float *in, int n, int channels) {
  extern __shared__ float tile[];
  int t = threadIdx.x;
  for (int first = blockIdx.x * THREADS; first < n; first += gridDim.x * THREADS) {
    int pixels = n - first < THREADS ? n - first : THREADS;
    for (int i = t; i < pixels * channels; i += THREADS)
      tile[place(i)] = in[first * channels + i];
    __syncthreads();
    if (t < pixels)
      for (int k = 0; k < channels; k++)
        out[k * n + first + t] = tile[place(t * channels + k)];
  }
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > MOST_BLOCKS)
    blocks = MOST_BLOCKS;
  if (blocks > 0)
    planes<<<blocks, THREADS, place(THREADS * channels) * sizeof(float)>>>(out, in, n, channels);
}
