// Each block stages its pixels in shared memory, with coalesced float loads.
#include <cuda_runtime.h>

enum { THREADS = 128 };

__global__ void split(float *red, float *green, float *blue, const float *pixels, int n) {
  __shared__ float tile[4 * THREADS];
  int first = blockIdx.x * THREADS, t = threadIdx.x;
  for (int k = t; k < 4 * THREADS && 4 * first + k < 4 * n; k += THREADS)
    tile[k] = pixels[4 * first + k];
  __syncthreads();
  if (first + t >= n)
    return;
  red[first + t] = tile[4 * t];
  green[first + t] = tile[4 * t + 1];
  blue[first + t] = tile[4 * t + 2];
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  split<<<(n + THREADS - 1) / THREADS, THREADS>>>(red, green, blue, pixels, n);
}
