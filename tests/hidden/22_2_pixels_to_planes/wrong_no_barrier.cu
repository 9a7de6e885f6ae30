// mistake: a race
#include <cuda_runtime.h>

enum { THREADS = 128 };

// Neighbours bring neighbouring floats; nobody waits until the pixels are all there.
__global__ void split(float *red, float *green, float *blue, const float *pixels, int n) {
  __shared__ float piece[4 * THREADS];
  int first = blockIdx.x * THREADS, i = first + threadIdx.x, here = n - first < THREADS ? n - first : THREADS;
  for (int k = threadIdx.x; k < 4 * here; k += THREADS)
    piece[k] = pixels[4 * first + k];
  if (i >= n)
    return;
  red[i] = piece[4 * threadIdx.x];
  green[i] = piece[4 * threadIdx.x + 1];
  blue[i] = piece[4 * threadIdx.x + 2];
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  split<<<(n + THREADS - 1) / THREADS, THREADS>>>(red, green, blue, pixels, n);
}
