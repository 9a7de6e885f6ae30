// finding: race-stream 38 47
// The statistics are computed in one stream and used in another that does not wait for it.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    if ((x) != cudaSuccess) {                                                                                          \
      fprintf(stderr, "failed: " #x "\n");                                                                             \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

// one block per feature (column)
__global__ void columnStats(const float *x, int rows, int cols, float *mean, float *invStd) {
  __shared__ float s[64], q[64];
  int c = blockIdx.x;
  float a = 0.f, b = 0.f;
  for (int r = threadIdx.x; r < rows; r += 64) {
    float v = x[r * cols + c];
    a += v;
    b += v * v;
  }
  s[threadIdx.x] = a;
  q[threadIdx.x] = b;
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (threadIdx.x < h) {
      s[threadIdx.x] += s[threadIdx.x + h];
      q[threadIdx.x] += q[threadIdx.x + h];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    float m = s[0] / rows;
    mean[c] = m;
    invStd[c] = rsqrtf(q[0] / rows - m * m + 1e-8f);
  }
}

__global__ void standardize(const float *x, float *y, int rows, int cols, const float *mean, const float *invStd) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) {
    int c = i % cols;
    y[i] = (x[i] - mean[c]) * invStd[c];
  }
}

int main() {
  const int rows = 200, cols = 12, n = rows * cols;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i)
    x[i] = ((i * 31) % 101) * 0.2f + i % cols;
  float *dx, *dy, *dm, *ds;
  CK(cudaMalloc(&dx, n * sizeof(float)));
  CK(cudaMalloc(&dy, n * sizeof(float)));
  CK(cudaMalloc(&dm, cols * sizeof(float)));
  CK(cudaMalloc(&ds, cols * sizeof(float)));
  CK(cudaMemset(dm, 0, cols * sizeof(float)));
  CK(cudaMemset(ds, 0, cols * sizeof(float)));
  CK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CK(cudaDeviceSynchronize());

  cudaStream_t stats, main_;
  CK(cudaStreamCreate(&stats));
  CK(cudaStreamCreate(&main_));
  columnStats<<<cols, 64, 0, stats>>>(dx, rows, cols, dm, ds);
  standardize<<<(n + 127) / 128, 128, 0, main_>>>(dx, dy, rows, cols, dm, ds);
  CK(cudaStreamSynchronize(stats));
  CK(cudaStreamSynchronize(main_));
  CK(cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost));

  double worst = 0;
  for (int c = 0; c < cols; ++c) {
    double m = 0, v = 0;
    for (int r = 0; r < rows; ++r)
      m += x[r * cols + c] / rows;
    for (int r = 0; r < rows; ++r)
      v += pow(x[r * cols + c] - m, 2) / rows;
    for (int r = 0; r < rows; ++r)
      worst = fmax(worst, fabs((x[r * cols + c] - m) / sqrt(v) - y[r * cols + c]));
  }
  printf("z-score error %g\n", worst);
  CK(cudaStreamDestroy(stats));
  CK(cudaStreamDestroy(main_));
  CK(cudaFree(dx));
  CK(cudaFree(dy));
  CK(cudaFree(dm));
  CK(cudaFree(ds));
  return worst < 1e-2 ? 0 : 1;
}
