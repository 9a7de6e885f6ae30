// mistake: state kept between calls
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void planes(float *out, const float *in, int n, int channels) {
  extern __shared__ float tile[];
  int first = blockIdx.x * THREADS;
  int here = n - first < THREADS ? n - first : THREADS;
  for (int w = threadIdx.x; w < here * channels; w += THREADS)
    tile[w + w / 32] = in[first * channels + w];
  __syncthreads();
  for (int k = 0; k < channels; k++)
    if (threadIdx.x < here) {
      int w = threadIdx.x * channels + k;
      out[k * n + first + threadIdx.x] = tile[w + w / 32];
    }
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  if (n == 0)
    return;
  static int words;
  if (words == 0)
    words = THREADS * channels + THREADS * channels / 32;
  planes<<<(n + THREADS - 1) / THREADS, THREADS, words * sizeof(float)>>>(out, in, n, channels);
}
