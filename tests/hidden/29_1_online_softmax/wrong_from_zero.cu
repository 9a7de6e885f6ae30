// mistake: numerically unstable softmax
#include <cuda_runtime.h>
#include <float.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

struct pair {
  float most, sum;
};

static __device__ pair together(pair p, pair q) {
  const float most = fmaxf(p.most, q.most);
  return {most, p.sum * expf(p.most - most) + q.sum * expf(q.most - most)};
}

static __device__ pair of_block(pair mine, pair *warps) {
  for (int d = WARP / 2; d > 0; d /= 2) {
    const pair other = {__shfl_xor_sync(0xffffffffu, mine.most, d), __shfl_xor_sync(0xffffffffu, mine.sum, d)};
    mine = together(mine, other);
  }
  if (threadIdx.x % WARP == 0)
    warps[threadIdx.x / WARP] = mine;
  __syncthreads();
  mine = warps[0];
  for (int w = 1; w < THREADS / WARP; w++)
    mine = together(mine, warps[w]);
  return mine;
}

__global__ void softmax_rows(float *out, const float *x, int columns) {
  __shared__ pair warps[THREADS / WARP];
  x += (size_t)blockIdx.x * columns;
  out += (size_t)blockIdx.x * columns;
  pair mine = {0, 0};
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    const pair one = {x[c], 1};
    mine = c < THREADS ? one : together(mine, one);
  }
  mine = of_block(mine, warps);
  for (int c = threadIdx.x; c < columns; c += THREADS)
    out[c] = expf(x[c] - mine.most) / mine.sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows <= 0)
    return;
  softmax_rows<<<rows, THREADS>>>(out, x, columns);
}
