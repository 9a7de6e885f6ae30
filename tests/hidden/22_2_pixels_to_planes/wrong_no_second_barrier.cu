// mistake: data race
// A block goes on to other pixels while some of its threads still read the tile.
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 4 };

__global__ void split(float *red, float *green, float *blue, const float *pixels, int n) {
  __shared__ float tile[4 * THREADS];
  for (int first = blockIdx.x * THREADS; first < n; first += gridDim.x * THREADS) {
    int i = first + threadIdx.x, here = n - first < THREADS ? n - first : THREADS;
    for (int k = threadIdx.x; k < 4 * here; k += THREADS)
      tile[k] = pixels[4 * first + k];
    __syncthreads();
    if (i < n) {
      red[i] = tile[4 * threadIdx.x];
      green[i] = tile[4 * threadIdx.x + 1];
      blue[i] = tile[4 * threadIdx.x + 2];
    }
  }
}

extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > MOST_BLOCKS)
    blocks = MOST_BLOCKS;
  split<<<blocks, THREADS>>>(red, green, blue, pixels, n);
}
