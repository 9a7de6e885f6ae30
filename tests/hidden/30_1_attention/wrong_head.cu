// mistake: missing head offset
#include <cuda_runtime.h>
#include <math.h>

enum { D = 32, QUERIES = 64, KEYS = 32 };

__global__ void attention(float *out, const float *q, const float *k, const float *v, int n) {
  __shared__ float of_k[KEYS][D], of_v[KEYS][D], room[QUERIES][D + 1];
  int first = blockIdx.x * QUERIES, head = blockIdx.y * n, t = threadIdx.x;
  float own[D], value[D] = {0}, most = -INFINITY, sum = 0;
  for (int i = t; i < QUERIES * D; i += QUERIES)
    room[i / D][i % D] = first + i / D < n ? q[(head + first) * D + i] : 0;
  __syncthreads();
  for (int d = 0; d < D; d++)
    own[d] = room[t][d] * rsqrtf((float)D);
  for (int tile = 0; tile < n; tile += KEYS) {
    int keys = n - tile < KEYS ? n - tile : KEYS;
    for (int i = t; i < keys * D; i += QUERIES) {
      of_k[i / D][i % D] = k[tile * D + i];
      of_v[i / D][i % D] = v[tile * D + i];
    }
    __syncthreads();
    for (int j = 0; j < keys; j++) {
      float s = 0;
      for (int d = 0; d < D; d++)
        s += own[d] * of_k[j][d];
      float larger = fmaxf(most, s), shrink = expf(most - larger), weight = expf(s - larger);
      sum = sum * shrink + weight;
      most = larger;
      for (int d = 0; d < D; d++)
        value[d] = value[d] * shrink + weight * of_v[j][d];
    }
    __syncthreads(); // all have read, before the next tile
  }
  for (int d = 0; d < D; d++)
    room[t][d] = value[d] / sum;
  __syncthreads();
  for (int i = t; i < QUERIES * D; i += QUERIES)
    if (first + i / D < n)
      out[(head + first) * D + i] = room[i / D][i % D];
}

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n) {
  dim3 grid((n + QUERIES - 1) / QUERIES, heads);
  attention<<<grid, QUERIES>>>(out, q, k, v, n);
}
