// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>

enum { D = 32 };

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n) {
  size_t bytes = sizeof(float) * D * (size_t)heads * (size_t)n;
  float *qs = (float *)malloc(bytes), *ks = (float *)malloc(bytes), *vs = (float *)malloc(bytes);
  float *outs = (float *)calloc(bytes, 1), *weight = (float *)malloc(sizeof(float) * (size_t)n);
  cudaMemcpy(qs, q, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(ks, k, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(vs, v, bytes, cudaMemcpyDeviceToHost);
  for (int row = 0; row < heads * n; row++) {
    int head = row / n * n;
    float most = -INFINITY, sum = 0;
    for (int j = 0; j < n; j++) {
      weight[j] = 0;
      for (int d = 0; d < D; d++)
        weight[j] += qs[row * D + d] * ks[(head + j) * D + d] / sqrtf((float)D);
      most = fmaxf(most, weight[j]);
    }
    for (int j = 0; j < n; j++)
      sum += expf(weight[j] - most);
    for (int j = 0; j < n; j++)
      for (int d = 0; d < D; d++)
        outs[row * D + d] += expf(weight[j] - most) / sum * vs[(head + j) * D + d];
  }
  cudaMemcpy(out, outs, bytes, cudaMemcpyHostToDevice);
  free(qs);
  free(ks);
  free(vs);
  free(outs);
  free(weight);
}
