#include <cuda_runtime.h>
#include <math.h>

__global__ void cross_entropy(float *loss, float *gradient, const float *logits, const int *target, int rows,
                              int classes) {
  int lane = threadIdx.x % 32, r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (r >= rows)
    return;
  const float *x = logits + (long long)r * classes;
  float m = -1e30f, s = 0;
  for (int c = lane; c < classes; c += 32) {
    float v = x[c];
    if (v > m) {
      s *= expf(m - v);
      m = v;
    }
    s += expf(v - m);
  }
  for (int d = 16; d; d >>= 1) {
    float m2 = __shfl_xor_sync(~0u, m, d), s2 = __shfl_xor_sync(~0u, s, d);
    float top = fmaxf(m, m2);
    s = s * expf(m - top) + s2 * expf(m2 - top);
    m = top;
  }
  float lse = m + logf(s), scale = 1.0f / rows;
  int t = target[r];
  for (int c = lane; c < classes; c += 32) {
    float g = expf(x[c] - lse);
    if (c == t) {
      g -= 1;
      loss[r] = lse - x[c];
    }
    gradient[(long long)r * classes + c] = g * scale;
  }
}

extern "C" void cross_entropy_on_device(float *loss, float *gradient, const float *logits, const int *target, int rows,
                                        int classes) {
  if (rows == 0)
    return;
  cross_entropy<<<(rows + 3) / 4, 128>>>(loss, gradient, logits, target, rows, classes);
}
