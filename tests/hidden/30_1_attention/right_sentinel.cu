#include <cuda_runtime.h>
#include <math.h>

enum { D = 32, QUERIES = 64, KEYS = 32 };

__global__ void attention(float *out, const float *q, const float *k, const float *v, int n) {
  __shared__ float queries[QUERIES][D + 1], keys[KEYS][D], values[KEYS][D];
  size_t head = (size_t)blockIdx.y * n * D;
  int first = blockIdx.x * QUERIES, t = threadIdx.x;
  for (int w = t; w < QUERIES * D; w += QUERIES)
    if (first + w / D < n)
      queries[w / D][w % D] = q[head + (size_t)first * D + w];
  __syncthreads();
  bool here = first + t < n;
  float own[D], sums[D];
#pragma unroll
  for (int d = 0; d < D; d++) {
    own[d] = here ? queries[t][d] / sqrtf(D) : 0;
    sums[d] = 0;
  }
  float most = -1e30f, sum = 0;
  for (int base = 0; base < n; base += KEYS) {
    int count = n - base < KEYS ? n - base : KEYS;
    for (int w = t; w < count * D; w += QUERIES) {
      keys[w / D][w % D] = k[head + (size_t)base * D + w];
      values[w / D][w % D] = v[head + (size_t)base * D + w];
    }
    __syncthreads();
    for (int j = 0; here && j < count; j++) {
      float score = 0;
#pragma unroll
      for (int d = 0; d < D; d++)
        score += own[d] * keys[j][d];
      if (score > most) {
        float less = expf(most - score);
        sum *= less;
#pragma unroll
        for (int d = 0; d < D; d++)
          sums[d] *= less;
        most = score;
      }
      float weight = expf(score - most);
      sum += weight;
#pragma unroll
      for (int d = 0; d < D; d++)
        sums[d] += weight * values[j][d];
    }
    __syncthreads();
  }
#pragma unroll
  for (int d = 0; d < D; d++)
    if (here)
      queries[t][d] = sums[d] / sum;
  __syncthreads();
  for (int w = t; w < QUERIES * D; w += QUERIES)
    if (first + w / D < n)
      out[head + (size_t)first * D + w] = queries[w / D][w % D];
}

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n) {
  attention<<<dim3((n + QUERIES - 1) / QUERIES, heads), QUERIES>>>(out, q, k, v, n);
}
