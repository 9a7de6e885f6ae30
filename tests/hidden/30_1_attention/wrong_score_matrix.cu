// mistake: score matrix in device memory
#include <cuda_runtime.h>
#include <math.h>

enum { D = 32 };

__global__ void scores_of(float *scores, const float *q, const float *k, int n) {
  int i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  size_t head = (size_t)blockIdx.z * n;
  if (j >= n)
    return;
  float s = 0;
  for (int d = 0; d < D; d++)
    s += q[(head + i) * D + d] * k[(head + j) * D + d];
  scores[(head + i) * n + j] = s / sqrtf(D);
}

__global__ void weighted(float *out, const float *scores, const float *v, int n) {
  size_t head = (size_t)blockIdx.y * n, row = head + blockIdx.x;
  float max = -INFINITY, sum = 0, value = 0;
  for (int j = 0; j < n; j++)
    max = fmaxf(max, scores[row * n + j]);
  for (int j = 0; j < n; j++) {
    float weight = expf(scores[row * n + j] - max);
    sum += weight;
    value += weight * v[(head + j) * D + threadIdx.x];
  }
  out[row * D + threadIdx.x] = value / sum;
}

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n) {
  float *scores;
  cudaMalloc((void **)&scores, sizeof(float) * heads * n * n);
  scores_of<<<dim3((n + 63) / 64, n, heads), 64>>>(scores, q, k, n);
  weighted<<<dim3(n, heads), D>>>(out, scores, v, n);
  cudaFree(scores);
}
