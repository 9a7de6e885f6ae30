// missing star: shared memory of a fixed size
#include <cuda_runtime.h>

enum { THREADS = 128, MOST = 16 };

__global__ void planes(float *out, const float *in, int n, int channels) {
  __shared__ float tile[THREADS * MOST + THREADS * MOST / 32];
  const int first = blockIdx.x * THREADS, pixels = n - first < THREADS ? n - first : THREADS;
  for (int i = threadIdx.x; i < pixels * channels; i += THREADS)
    tile[i + i / 32] = in[(size_t)first * channels + i];
  __syncthreads();
  if ((int)threadIdx.x < pixels)
    for (int k = 0; k < channels; k++) {
      const int i = threadIdx.x * channels + k;
      out[(size_t)k * n + first + threadIdx.x] = tile[i + i / 32];
    }
}

extern "C" void planes_on_device(float *out, const float *in, int n, int channels) {
  if (n > 0)
    planes<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, in, n, channels);
}
