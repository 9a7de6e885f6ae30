// A block per query, with its scores in dynamic shared memory.
#include <cuda_runtime.h>
#include <math.h>

enum { D = 32, THREADS = 128 };

__global__ void attention(float *out, const float *q, const float *k, const float *v, int n) {
  extern __shared__ float weights[];
  __shared__ float parts[THREADS / D][D + 1], maxima[THREADS / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t head = (size_t)blockIdx.y * n * D, row = head + blockIdx.x * D;
  float max = -INFINITY;
  for (int j = warp; j < n; j += THREADS / 32) {
    float s = q[row + lane] * k[head + j * D + lane] * rsqrtf(D);
    for (int distance = 16; distance > 0; distance /= 2)
      s += __shfl_xor_sync(0xffffffffu, s, distance);
    if (lane == 0)
      weights[j] = s;
    max = fmaxf(max, s);
  }
  if (lane == 0)
    maxima[warp] = max;
  __syncthreads();
  for (int w = 0; w < THREADS / 32; w++)
    max = fmaxf(max, maxima[w]);
  float value = 0, sum = 0;
  for (int j = warp; j < n; j += THREADS / 32) {
    const float weight = expf(weights[j] - max);
    sum += weight;
    value += weight * v[head + j * D + lane];
  }
  parts[warp][lane] = value;
  if (lane == 0)
    parts[warp][D] = sum;
  __syncthreads();
  if (warp > 0)
    return;
  for (int w = 1; w < THREADS / 32; w++) {
    value += parts[w][lane];
    sum += parts[w][D];
  }
  sum = __shfl_sync(0xffffffffu, sum, 0);
  out[row + lane] = value / sum;
}

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n) {
  attention<<<dim3(n, heads), THREADS, n * sizeof(float)>>>(out, q, k, v, n);
}
