// finding: divergent 38
// In the last block the warps whose row does not exist skip the barriers that the other warps wait at.
#include <cstdio>
#include <cmath>
#include <vector>

#define ROWS_PER_BLOCK 4
#define LANES 64 // two warps per row

struct LayerNormArgs {
  const float *x;
  const float *gamma;
  float *y;
  int rows, dim;
  float eps;
};

__global__ void layerNorm(LayerNormArgs a) {
  __shared__ float sum[ROWS_PER_BLOCK][2], sq[ROWS_PER_BLOCK][2];
  const int r = threadIdx.y, row = blockIdx.x * ROWS_PER_BLOCK + r;
  const int half = threadIdx.x / 32;

  if (row < a.rows) {
    const float *x = a.x + row * a.dim;
    float s = 0.f, q = 0.f;
    for (int i = threadIdx.x; i < a.dim; i += LANES) {
      s += x[i];
      q += x[i] * x[i];
    }
    for (int o = 16; o > 0; o >>= 1) {
      s += __shfl_down_sync(0xffffffffu, s, o);
      q += __shfl_down_sync(0xffffffffu, q, o);
    }
    if (threadIdx.x % 32 == 0) {
      sum[r][half] = s;
      sq[r][half] = q;
    }
    __syncthreads();
    const float mean = (sum[r][0] + sum[r][1]) / a.dim;
    const float var = (sq[r][0] + sq[r][1]) / a.dim - mean * mean;
    const float k = rsqrtf(var + a.eps);
    for (int i = threadIdx.x; i < a.dim; i += LANES)
      a.y[row * a.dim + i] = (x[i] - mean) * k * a.gamma[i];
  }
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 14;
  const int dim = 100;
  std::vector<float> x(rows * dim), g(dim), y(rows * dim);
  for (int i = 0; i < rows * dim; ++i)
    x[i] = ((i * 29) % 37) * 0.1f;
  for (int i = 0; i < dim; ++i)
    g[i] = 1.f + i * 0.01f;
  float *dx, *dg, *dy;
  cudaMalloc(&dx, x.size() * sizeof(float));
  cudaMalloc(&dy, x.size() * sizeof(float));
  cudaMalloc(&dg, dim * sizeof(float));
  cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dg, g.data(), dim * sizeof(float), cudaMemcpyHostToDevice);
  LayerNormArgs args = {dx, dg, dy, rows, dim, 1e-5f};
  layerNorm<<<(rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK, dim3(LANES, ROWS_PER_BLOCK)>>>(args);
  cudaMemcpy(y.data(), dy, x.size() * sizeof(float), cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int r = 0; r < rows; ++r) {
    double m = 0, v = 0;
    for (int i = 0; i < dim; ++i)
      m += x[r * dim + i] / dim;
    for (int i = 0; i < dim; ++i)
      v += (x[r * dim + i] - m) * (x[r * dim + i] - m) / dim;
    for (int i = 0; i < dim; ++i)
      worst = fmax(worst, fabs((x[r * dim + i] - m) / sqrt(v + 1e-5) * g[i] - y[r * dim + i]));
  }
  printf("layernorm: error %g\n", worst);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dg);
  return worst < 1e-3 ? 0 : 1;
}
