// missing star: more than two passes over the logits
#include <cuda_runtime.h>
#include <math.h>

__device__ float block_max(float *tile, float mine) {
  tile[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      tile[threadIdx.x] = fmaxf(tile[threadIdx.x], tile[threadIdx.x + half]);
    __syncthreads();
  }
  float all = tile[0];
  __syncthreads();
  return all;
}

__device__ float block_sum(float *tile, float mine) {
  tile[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      tile[threadIdx.x] += tile[threadIdx.x + half];
    __syncthreads();
  }
  float all = tile[0];
  __syncthreads();
  return all;
}

__global__ void cross_entropy(float *loss, float *gradient, const float *logits, const int *target, int classes) {
  __shared__ float tile[128];
  const float *row = logits + (size_t)blockIdx.x * classes;
  float *out = gradient + (size_t)blockIdx.x * classes;
  int t = target[blockIdx.x];
  float max = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < classes; c += blockDim.x)
    max = fmaxf(max, row[c]);
  max = block_max(tile, max);
  for (int c = threadIdx.x; c < classes; c += blockDim.x)
    sum += expf(row[c] - max);
  sum = block_sum(tile, sum);
  for (int c = threadIdx.x; c < classes; c += blockDim.x)
    out[c] = (expf(row[c] - max) / sum - (c == t)) / gridDim.x;
  if (threadIdx.x == 0)
    loss[blockIdx.x] = logf(sum) + max - row[t];
}

extern "C" void cross_entropy_on_device(float *loss, float *gradient, const float *logits, const int *target, int rows,
                                        int classes) {
  if (rows > 0)
    cross_entropy<<<rows, 128>>>(loss, gradient, logits, target, classes);
}
