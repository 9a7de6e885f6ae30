// mistake: data race
#include <cuda_runtime.h>

enum { THREADS = 128 };

// Neighboring threads load neighboring floats; there is no barrier before they are used.
__global__ void split(float *red, float *green, float *blue, const float *pixels, int n) {
  __shared__ float tile[4 * THREADS];
  int first = blockIdx.x * THREADS, i = first + threadIdx.x, here = n - first < THREADS ? n - first : THREADS;
  for (int k = threadIdx.x; k < 4 * here; k += THREADS)
    tile[k] = pixels[4 * first + k];
  if (i >= n)
    return;
  red[i] = tile[4 * threadIdx.x];
  green[i] = tile[4 * threadIdx.x + 1];
  blue[i] = tile[4 * threadIdx.x + 2];
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  split<<<(n + THREADS - 1) / THREADS, THREADS>>>(red, green, blue, pixels, n);
}
