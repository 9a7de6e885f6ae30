// finding: race-block 45 35
// The scratch of the maximum is reused for the sum without a barrier in between.
#include <cstdio>
#include <cmath>
#include <cfloat>
#include <vector>

__device__ float warpMax(float v) {
  for (int o = 16; o > 0; o /= 2)
    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
  return v;
}

__device__ float warpSum(float v) {
  for (int o = 16; o > 0; o /= 2)
    v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}

__global__ void softmaxKernel(const float *in, float *out, int cols) {
  __shared__ float red[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, nWarps = blockDim.x / 32;
  const float *x = in + blockIdx.x * cols;
  float *y = out + blockIdx.x * cols;

  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    m = fmaxf(m, x[c]);
  m = warpMax(m);
  if (lane == 0)
    red[warp] = m;
  __syncthreads();
  m = -FLT_MAX;
  for (int w = 0; w < nWarps; ++w)
    m = fmaxf(m, red[w]);

  float s = 0.f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    float e = expf(x[c] - m);
    y[c] = e;
    s += e;
  }
  s = warpSum(s);
  if (lane == 0)
    red[warp] = s;
  __syncthreads();
  s = 0.f;
  for (int w = 0; w < nWarps; ++w)
    s += red[w];

  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[c] /= s;
}

int main() {
  const int rows = 9, cols = 300;
  std::vector<float> a(rows * cols), b(rows * cols);
  for (int i = 0; i < rows * cols; ++i)
    a[i] = sinf(i * 0.71f) * 5.0f;
  float *da, *db;
  cudaMalloc(&da, a.size() * sizeof(float));
  cudaMalloc(&db, a.size() * sizeof(float));
  cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  softmaxKernel<<<rows, 128>>>(da, db, cols);
  cudaError_t err = cudaGetLastError();
  if (err != cudaSuccess)
    fprintf(stderr, "launch failed: %s\n", cudaGetErrorString(err));
  cudaMemcpy(b.data(), db, a.size() * sizeof(float), cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int r = 0; r < rows; ++r) {
    double mx = -1e9, s = 0;
    for (int c = 0; c < cols; ++c)
      mx = fmax(mx, a[r * cols + c]);
    for (int c = 0; c < cols; ++c)
      s += exp(a[r * cols + c] - mx);
    for (int c = 0; c < cols; ++c)
      worst = fmax(worst, fabs(exp(a[r * cols + c] - mx) / s - b[r * cols + c]));
  }
  printf("softmax error %g\n", worst);
  cudaFree(da);
  cudaFree(db);
  return worst < 1e-5 ? 0 : 1;
}
