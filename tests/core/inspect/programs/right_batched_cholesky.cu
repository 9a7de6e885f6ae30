// Batch of small Cholesky factorizations and solves, a warp per matrix, synchronized by __syncwarp
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int N = 16, WARPS = 4;

struct WarpMem {
  float a[N][N + 1];
  float y[N];
};

__device__ void factor(WarpMem &m, int lane) {
  for (int k = 0; k < N; ++k) {
    if (lane == k)
      m.a[k][k] = sqrtf(m.a[k][k]);
    __syncwarp();
    if (lane > k && lane < N)
      m.a[lane][k] /= m.a[k][k];
    __syncwarp();
    // a lane changes its own row only, so nothing is needed at the end of the round
    if (lane > k && lane < N)
      for (int j = k + 1; j <= lane; ++j)
        m.a[lane][j] -= m.a[lane][k] * m.a[j][k];
  }
}

__device__ void solve(WarpMem &m, int lane) {
  for (int k = 0; k < N; ++k) { // L y = b
    if (lane == k)
      m.y[k] /= m.a[k][k];
    __syncwarp();
    if (lane > k && lane < N)
      m.y[lane] -= m.a[lane][k] * m.y[k];
  }
  // nothing is needed here: y[k] has its own lane, the factor was finished some rounds ago
  for (int k = N - 1; k >= 0; --k) { // L^T x = y
    if (lane == k)
      m.y[k] /= m.a[k][k];
    __syncwarp();
    if (lane < k)
      m.y[lane] -= m.a[k][lane] * m.y[k];
  }
}

__global__ void choleskySolve(const float *A, const float *b, float *x, int batch) {
  __shared__ WarpMem mem[WARPS];
  const int lane = threadIdx.x, w = threadIdx.y;
  const int id = blockIdx.x * WARPS + w;
  if (id >= batch)
    return;
  WarpMem &m = mem[w];
  for (int i = lane; i < N * N; i += 32) {
    int r = i / N, c = i % N;
    if (c <= r)
      m.a[r][c] = A[id * N * N + i]; // the upper triangle stays unset
  }
  if (lane < N)
    m.y[lane] = b[id * N + lane];
  __syncwarp();
  factor(m, lane);
  solve(m, lane);
  if (lane < N)
    x[id * N + lane] = m.y[lane];
}

int main() {
  const int batch = 10;
  std::vector<float> A(batch * N * N), b(batch * N), x(batch * N);
  for (int m = 0; m < batch; ++m)
    for (int i = 0; i < N; ++i) {
      b[m * N + i] = float((i * 3 + m) % 7) - 3;
      for (int j = 0; j < N; ++j)
        A[(m * N + i) * N + j] = (i == j ? 4.f + m : 0.f) + 1.0f / (1 + abs(i - j));
    }
  float *dA, *db, *dx;
  cudaMalloc(&dA, A.size() * sizeof(float));
  cudaMalloc(&db, b.size() * sizeof(float));
  cudaMalloc(&dx, x.size() * sizeof(float));
  cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
  choleskySolve<<<(batch + WARPS - 1) / WARPS, dim3(32, WARPS)>>>(dA, db, dx, batch);
  cudaMemcpy(x.data(), dx, x.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int m = 0; m < batch; ++m)
    for (int i = 0; i < N; ++i) {
      double r = -b[m * N + i];
      for (int j = 0; j < N; ++j)
        r += (double)A[(m * N + i) * N + j] * x[m * N + j];
      worst = std::fmax(worst, std::fabs(r));
    }
  printf("batched cholesky: residual %.2e\n", worst);
  cudaFree(dA);
  cudaFree(db);
  cudaFree(dx);
  return worst < 1e-3 ? 0 : 1;
}
