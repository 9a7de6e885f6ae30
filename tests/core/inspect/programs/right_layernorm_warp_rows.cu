// LayerNorm forward and backward of gamma/beta, a warp per row with cooperative groups
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cmath>
#include <vector>
namespace cg = cooperative_groups;

__global__ void layernorm(const float *x, const float *gamma, const float *beta, float *y, float *xhat, int rows,
                          int dim) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= rows)
    return; // a warp works alone from here to the end
  x += row * dim;
  y += row * dim;
  xhat += row * dim;

  float sum = 0.f;
  for (int i = warp.thread_rank(); i < dim; i += warp.size())
    sum += x[i];
  const float mean = cg::reduce(warp, sum, cg::plus<float>()) / dim;

  float sq = 0.f;
  for (int i = warp.thread_rank(); i < dim; i += warp.size()) {
    float d = x[i] - mean;
    sq += d * d;
  }
  const float rstd = rsqrtf(cg::reduce(warp, sq, cg::plus<float>()) / dim + 1e-5f);
  for (int i = warp.thread_rank(); i < dim; i += warp.size()) {
    float v = (x[i] - mean) * rstd;
    xhat[i] = v;
    y[i] = v * gamma[i] + beta[i];
  }
}

// dgamma, dbeta: a block of 32x8 threads sums 32 columns
__global__ void paramGrad(const float *dy, const float *xhat, float *dgamma, float *dbeta, int rows, int dim) {
  __shared__ float sg[8][33], sb[8][33];
  int col = blockIdx.x * 32 + threadIdx.x;
  float g = 0.f, b = 0.f;
  if (col < dim)
    for (int r = threadIdx.y; r < rows; r += 8) {
      g += dy[r * dim + col] * xhat[r * dim + col];
      b += dy[r * dim + col];
    }
  sg[threadIdx.y][threadIdx.x] = g;
  sb[threadIdx.y][threadIdx.x] = b;
  for (int s = 4; s > 0; s >>= 1) {
    __syncthreads();
    if (threadIdx.y < s) {
      sg[threadIdx.y][threadIdx.x] += sg[threadIdx.y + s][threadIdx.x];
      sb[threadIdx.y][threadIdx.x] += sb[threadIdx.y + s][threadIdx.x];
    }
  }
  if (threadIdx.y == 0 && col < dim) {
    dgamma[col] = sg[0][threadIdx.x];
    dbeta[col] = sb[0][threadIdx.x];
  }
}

template <class T> T *upload(const std::vector<T> &v) {
  T *p;
  cudaMalloc(&p, v.size() * sizeof(T));
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

int main() {
  const int rows = 21, dim = 70;
  std::vector<float> x(rows * dim), dy(rows * dim), g(dim), b(dim), y(rows * dim), dg(dim), db(dim);
  for (int i = 0; i < rows * dim; i++) {
    x[i] = ((i * 13) % 31) * 0.25f;
    dy[i] = ((i * 7) % 9) - 4.f;
  }
  for (int i = 0; i < dim; i++) {
    g[i] = 1 + 0.01f * i;
    b[i] = 0.1f * (i % 3);
  }
  float *dx = upload(x), *ddy = upload(dy), *dgm = upload(g), *dbt = upload(b);
  float *o;
  cudaMalloc(&o, (2 * rows * dim + 2 * dim) * sizeof(float));
  float *oy = o, *oh = o + rows * dim, *odg = oh + rows * dim, *odb = odg + dim;
  layernorm<<<(rows + 3) / 4, 128>>>(dx, dgm, dbt, oy, oh, rows, dim);
  paramGrad<<<(dim + 31) / 32, dim3(32, 8)>>>(ddy, oh, odg, odb, rows, dim);
  cudaMemcpy(y.data(), oy, rows * dim * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(dg.data(), odg, dim * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(db.data(), odb, dim * 4, cudaMemcpyDeviceToHost);

  double err = 0;
  std::vector<double> rg(dim, 0.0), rb(dim, 0.0);
  for (int r = 0; r < rows; r++) {
    double m = 0, v = 0;
    for (int i = 0; i < dim; i++)
      m += x[r * dim + i] / dim;
    for (int i = 0; i < dim; i++)
      v += (x[r * dim + i] - m) * (x[r * dim + i] - m) / dim;
    for (int i = 0; i < dim; i++) {
      double h = (x[r * dim + i] - m) / sqrt(v + 1e-5);
      err = fmax(err, fabs(h * g[i] + b[i] - y[r * dim + i]));
      rg[i] += h * dy[r * dim + i];
      rb[i] += dy[r * dim + i];
    }
  }
  for (int i = 0; i < dim; i++)
    err = fmax(err, fabs(rg[i] - dg[i]) + fabs(rb[i] - db[i]));
  printf("layernorm err %g\n", err);
  for (float *p : {dx, ddy, dgm, dbt, o})
    cudaFree(p);
  return err < 1e-3 ? 0 : 1;
}
