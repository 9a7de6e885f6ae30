// finding: race-grid 33 27
// Only a fence stands where the grid has to be synchronized, so the sums are used before all blocks have added to them.
#include <cooperative_groups.h>
#include <cstdio>
#include <cmath>
#include <vector>

namespace cg = cooperative_groups;

__global__ void batchNormFused(const float *x, float *y, int rows, int C, float *sum, float *sumSq) {
  cg::grid_group grid = cg::this_grid();

  if (blockIdx.x == 0)
    for (int c = threadIdx.x; c < C; c += blockDim.x)
      sum[c] = sumSq[c] = 0.f;
  grid.sync();

  // every block takes its share of the rows, a thread per channel
  const int c = threadIdx.x;
  if (c < C) {
    float s = 0.f, q = 0.f;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
      float v = x[r * C + c];
      s += v;
      q += v * v;
    }
    atomicAdd(&sum[c], s);
    atomicAdd(&sumSq[c], q);
  }
  __threadfence(); // the sums are visible to all

  if (c < C) {
    const float mean = sum[c] / rows;
    const float rstd = rsqrtf(sumSq[c] / rows - mean * mean + 1e-5f);
    for (int r = blockIdx.x; r < rows; r += gridDim.x)
      y[r * C + c] = (x[r * C + c] - mean) * rstd;
  }
}

int main() {
  int rows = 90, C = 40;
  const int n = rows * C;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i)
    x[i] = ((i * 53) % 127) * 0.05f;
  float *dx, *dy, *dsum, *dsq;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dy, n * sizeof(float));
  cudaMalloc(&dsum, C * sizeof(float));
  cudaMalloc(&dsq, C * sizeof(float));
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  void *args[] = {&dx, &dy, &rows, &C, &dsum, &dsq};
  cudaError_t e = cudaLaunchCooperativeKernel((const void *)batchNormFused, dim3(6), dim3(64), args, 0, nullptr);
  if (e == cudaSuccess)
    e = cudaDeviceSynchronize();
  if (e != cudaSuccess) {
    printf("batchnorm: %s\n", cudaGetErrorString(e));
    return 2;
  }
  cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int c = 0; c < C; ++c) {
    double m = 0, v = 0;
    for (int r = 0; r < rows; ++r)
      m += x[r * C + c] / rows;
    for (int r = 0; r < rows; ++r)
      v += (x[r * C + c] - m) * (x[r * C + c] - m) / rows;
    for (int r = 0; r < rows; ++r)
      worst = fmax(worst, fabs((x[r * C + c] - m) / sqrt(v + 1e-5) - y[r * C + c]));
  }
  printf("batchnorm: max error %g\n", worst);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dsum);
  cudaFree(dsq);
  return worst < 1e-2 ? 0 : 1;
}
