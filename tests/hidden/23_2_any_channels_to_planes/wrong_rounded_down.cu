// mistake: grid size rounded down
#include <cuda_runtime.h>

enum { THREADS = 256 };

static __device__ __host__ int place(int i) {
  return i + i / 32;
}

__global__ void planes(float *out, const float *in, int n, int channels) {
  extern __shared__ float tile[];
  int first = blockIdx.x * THREADS, t = threadIdx.x;
  int pixels = n - first < THREADS ? n - first : THREADS;
  for (int i = t; i < pixels * channels; i += THREADS)
    tile[place(i)] = in[first * channels + i];
  __syncthreads();
  if (t < pixels)
    for (int k = 0; k < channels; k++)
      out[k * n + first + t] = tile[place(t * channels + k)];
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  int blocks = n / THREADS;
  planes<<<blocks, THREADS, place(THREADS * channels) * sizeof(float)>>>(out, in, n, channels);
}
