// finding: race-warp 15 14
// The thread of column k sets a[i][k] to zero while the threads of the same row read it for their factor.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define N 40
#define W (N + 1) /* the right side is the last column */

__global__ void eliminate(float *a, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x + k;
  int i = blockIdx.y * blockDim.y + threadIdx.y + k + 1;
  if (i < N && j < W) {
    float factor = a[i * W + k] / a[k * W + k];
    a[i * W + j] -= factor * a[k * W + j];
  }
}

__global__ void backSubstitute(const float *a, float *x) /* one warp */
{
  int lane = threadIdx.x;
  for (int i = N - 1; i >= 0; i--) {
    float s = 0.0f;
    for (int j = i + 1 + lane; j < N; j += 32)
      s += a[i * W + j] * x[j];
    for (int o = 16; o > 0; o /= 2)
      s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0)
      x[i] = (a[i * W + N] - s) / a[i * W + i];
    __syncwarp();
  }
}

int main(void) {
  static float a[N * W], x[N], ref[N];
  for (int i = 0; i < N; i++)
    ref[i] = (float)(i % 7) - 3.0f;
  for (int i = 0; i < N; i++) {
    a[i * W + N] = 0.0f;
    for (int j = 0; j < N; j++) {
      a[i * W + j] = (i == j) ? 30.0f : (float)((i * 5 + j * 3) % 4) * 0.25f;
      a[i * W + N] += a[i * W + j] * ref[j];
    }
  }
  float *d_a, *d_x;
  cudaMalloc((void **)&d_a, sizeof(a));
  cudaMalloc((void **)&d_x, sizeof(x));
  cudaMemcpy(d_a, a, sizeof(a), cudaMemcpyHostToDevice);
  dim3 block(16, 4);
  for (int k = 0; k < N - 1; k++) {
    dim3 grid((W - k + block.x - 1) / block.x, (N - k - 1 + block.y - 1) / block.y);
    eliminate<<<grid, block>>>(d_a, k);
  }
  backSubstitute<<<1, 32>>>(d_a, d_x);
  cudaMemcpy(x, d_x, sizeof(x), cudaMemcpyDeviceToHost);
  float worst = 0.0f;
  for (int i = 0; i < N; i++)
    worst = fmaxf(worst, fabsf(x[i] - ref[i]));
  printf("gauss: max error %g\n", worst);
  cudaFree(d_a);
  cudaFree(d_x);
  return worst < 1e-2f ? 0 : 1;
}
