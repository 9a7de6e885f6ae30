// missing star: more than two passes over the logits
#include <cuda_runtime.h>
#include <math.h>

__global__ void cross_entropy(float *loss, float *gradient, const float *logits, const int *target, int rows,
                              int classes) {
  __shared__ float shared[64];
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    const float *row = logits + (size_t)r * classes;
    float *out = gradient + (size_t)r * classes;
    float top = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < classes; c += 64)
      top = fmaxf(top, row[c]);
    shared[threadIdx.x] = top;
    __syncthreads();
    for (int i = 0; i < 64; i++)
      top = fmaxf(top, shared[i]);
    __syncthreads();
    for (int c = threadIdx.x; c < classes; c += 64)
      sum += out[c] = expf(row[c] - top);
    shared[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 64; i++)
      sum += shared[i];
    for (int c = threadIdx.x; c < classes; c += 64)
      out[c] /= sum * rows;
    __syncthreads(); // also before the tile is used again
    if (threadIdx.x == 0) {
      int t = target[r];
      out[t] -= 1.0f / rows;
      loss[r] = top - row[t] + logf(sum);
    }
  }
}

extern "C" void cross_entropy_on_device(float *loss, float *gradient, const float *logits, const int *target, int rows,
                                        int classes) {
  int fixed = rows < 64 ? rows : 64;
  if (rows > 0)
    cross_entropy<<<fixed, 64>>>(loss, gradient, logits, target, rows, classes);
}
