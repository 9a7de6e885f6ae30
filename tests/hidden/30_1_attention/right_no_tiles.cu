// missing star: uncoalesced access
#include <cuda_runtime.h>
#include <math.h>

enum { D = 32 };

__global__ void attention(float *out, const float *q, const float *k, const float *v, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y * n;
  float value[D] = {0}, most = -INFINITY, sum = 0;
  if (row >= n)
    return;
  for (int j = 0; j < n; j++) {
    float s = 0;
    for (int d = 0; d < D; d++)
      s += q[(head + row) * D + d] * k[(head + j) * D + d] * rsqrtf((float)D);
    float larger = fmaxf(most, s), shrink = expf(most - larger), weight = expf(s - larger);
    sum = sum * shrink + weight;
    most = larger;
    for (int d = 0; d < D; d++)
      value[d] = value[d] * shrink + weight * v[(head + j) * D + d];
  }
  for (int d = 0; d < D; d++)
    out[(head + row) * D + d] = value[d] / sum;
}

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n) {
  dim3 grid((n + 63) / 64, heads);
  attention<<<grid, 64>>>(out, q, k, v, n);
}
