// finding: race-block 21 19
// Red-black ordering with a nine-point stencil, whose diagonal neighbors have the color that is being updated.
#include <cstdio>
#include <cmath>
#include <vector>

constexpr int N = 34;

__global__ void relaxColor(float *u, const float *f, int color, float omega) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= N - 1 || y >= N - 1)
    return;
  if (((x + y) & 1) != color)
    return;

  const int c = y * N + x;
  float edge = u[c - 1] + u[c + 1] + u[c - N] + u[c + N];
  float diag = u[c - N - 1] + u[c - N + 1] + u[c + N - 1] + u[c + N + 1];
  float gs = (4.0f * edge + diag + 6.0f * f[c]) / 20.0f;
  u[c] = u[c] + omega * (gs - u[c]);
}

__global__ void residual(const float *u, const float *f, float *maxRes) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  float r = 0.f;
  if (x < N - 1 && y < N - 1) {
    const int c = y * N + x;
    float edge = u[c - 1] + u[c + 1] + u[c - N] + u[c + N];
    float diag = u[c - N - 1] + u[c - N + 1] + u[c + N - 1] + u[c + N + 1];
    r = fabsf((4.0f * edge + diag - 20.0f * u[c]) / 6.0f + f[c]);
  }
  // non-negative floats compare like ints
  atomicMax((int *)maxRes, __float_as_int(r));
}

int main() {
  std::vector<float> u(N * N, 0.f), f(N * N, 0.01f);
  for (int i = 0; i < N; ++i)
    u[i] = 1.0f;
  float *du, *df, *dr;
  cudaMalloc(&du, N * N * sizeof(float));
  cudaMalloc(&df, N * N * sizeof(float));
  cudaMalloc(&dr, sizeof(float));
  cudaMemcpy(du, u.data(), N * N * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(df, f.data(), N * N * sizeof(float), cudaMemcpyHostToDevice);

  dim3 block(16, 8), grid((N - 2 + 15) / 16, (N - 2 + 7) / 8);
  for (int it = 0; it < 40; ++it)
    for (int color = 0; color < 2; ++color)
      relaxColor<<<grid, block>>>(du, df, color, 1.5f);
  cudaMemset(dr, 0, sizeof(float));
  residual<<<grid, block>>>(du, df, dr);
  float r = 0;
  cudaMemcpy(&r, dr, sizeof r, cudaMemcpyDeviceToHost);
  printf("sor: residual after 40 sweeps %g\n", r);
  cudaFree(du);
  cudaFree(df);
  cudaFree(dr);
  return r < 0.5f ? 0 : 1;
}
