// Mean, variance and skewness in one cooperative kernel, three phases split by grid syncs
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cmath>
#include <vector>

namespace cg = cooperative_groups;

struct Moments {
  double mean, var, skew;
};

__device__ void addToGlobal(const cg::thread_block &block, double v, double *target) {
  __shared__ double blockSum;
  auto tile = cg::tiled_partition<32>(block);
  if (block.thread_rank() == 0)
    blockSum = 0.0;
  block.sync();
  double w = cg::reduce(tile, v, cg::plus<double>());
  if (tile.thread_rank() == 0)
    atomicAdd(&blockSum, w);
  block.sync();
  if (block.thread_rank() == 0)
    atomicAdd(target, blockSum);
}

__global__ void moments(const float *x, int n, double *acc, Moments *out) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();

  double s = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size())
    s += x[i];
  addToGlobal(block, s, &acc[0]);
  grid.sync();

  const double mean = acc[0] / n;
  double s2 = 0, s3 = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) {
    double d = x[i] - mean;
    s2 += d * d;
    s3 += d * d * d;
  }
  addToGlobal(block, s2, &acc[1]);
  addToGlobal(block, s3, &acc[2]);
  grid.sync();

  if (grid.thread_rank() == 0) {
    out->mean = mean;
    out->var = acc[1] / n;
    out->skew = acc[2] / n / pow(acc[1] / n, 1.5);
  }
}

int main() {
  int dev = 0, coop = 0;
  cudaGetDevice(&dev);
  cudaDeviceGetAttribute(&coop, cudaDevAttrCooperativeLaunch, dev);
  if (!coop) {
    printf("no cooperative launch, skipped\n");
    return 0;
  }
  int n = 5000;
  std::vector<float> x(n);
  for (int i = 0; i < n; i++)
    x[i] = ((i * 31) % 97) * ((i * 31) % 97) * 0.01f;

  float *dx;
  double *acc;
  Moments *dm, m;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&acc, 3 * sizeof(double));
  cudaMalloc(&dm, sizeof(Moments));
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(acc, 0, 3 * sizeof(double));

  void *args[] = {&dx, &n, &acc, &dm};
  cudaError_t e = cudaLaunchCooperativeKernel((void *)moments, dim3(4), dim3(96), args, 0, 0);
  if (e != cudaSuccess) {
    printf("launch: %s\n", cudaGetErrorString(e));
    return 2;
  }
  cudaMemcpy(&m, dm, sizeof m, cudaMemcpyDeviceToHost);

  double mean = 0, v = 0, k = 0;
  for (float f : x)
    mean += f / (double)n;
  for (float f : x) {
    v += (f - mean) * (f - mean) / n;
    k += (f - mean) * (f - mean) * (f - mean) / n;
  }
  k /= pow(v, 1.5);
  bool ok = fabs(mean - m.mean) < 1e-6 * fabs(mean) && fabs(v - m.var) < 1e-6 * v && fabs(k - m.skew) < 1e-6;
  printf("mean %.4f var %.4f skew %.4f: %s\n", m.mean, m.var, m.skew, ok ? "ok" : "wrong");
  cudaFree(dx);
  cudaFree(acc);
  cudaFree(dm);
  return ok ? 0 : 1;
}
