// D2Q9 lattice Boltzmann, periodic box, pull scheme; mass must be conserved.
#include <stdio.h>
#include <math.h>
#include <cuda_runtime.h>

#define NX 48
#define NY 30
#define Q 9

__constant__ int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float wt[Q] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

__device__ __forceinline__ int idx(int q, int x, int y) {
  return (q * NY + y) * NX + x;
}

__device__ void equilibrium(float rho, float ux, float uy, float feq[Q]) {
  float usq = 1.5f * (ux * ux + uy * uy);
  for (int q = 0; q < Q; q++) {
    float cu = 3.0f * (cx[q] * ux + cy[q] * uy);
    feq[q] = wt[q] * rho * (1.0f + cu + 0.5f * cu * cu - usq);
  }
}

__global__ void init(float *f) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= NX || y >= NY)
    return;
  float feq[Q];
  equilibrium(1.0f, 0.05f * sinf(6.2831853f * y / NY), 0.0f, feq);
  for (int q = 0; q < Q; q++)
    f[idx(q, x, y)] = feq[q];
}

__global__ void collideStream(const float *__restrict__ src, float *__restrict__ dst, float omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= NX || y >= NY)
    return;
  float f[Q], feq[Q];
  float rho = 0, ux = 0, uy = 0;
  for (int q = 0; q < Q; q++) {
    int sx = (x - cx[q] + NX) % NX;
    int sy = (y - cy[q] + NY) % NY;
    f[q] = src[idx(q, sx, sy)];
    rho += f[q];
    ux += f[q] * cx[q];
    uy += f[q] * cy[q];
  }
  equilibrium(rho, ux / rho, uy / rho, feq);
  for (int q = 0; q < Q; q++)
    dst[idx(q, x, y)] = f[q] + omega * (feq[q] - f[q]);
}

__inline__ __device__ double warpSum(double v) {
  for (int o = 16; o; o /= 2)
    v += __shfl_down_sync(0xffffffffu, v, o);
  return v;
}

__global__ void totalMass(const float *f, int n, double *mass) {
  double v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    v += f[i];
  v = warpSum(v);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(mass, v);
}

int main(void) {
  float *f[2];
  double *mass;
  const int n = Q * NX * NY;
  cudaMalloc(&f[0], n * sizeof(float));
  cudaMalloc(&f[1], n * sizeof(float));
  cudaMallocManaged(&mass, 2 * sizeof(double));
  mass[0] = mass[1] = 0.0;
  dim3 b(16, 8), g((NX + b.x - 1) / b.x, (NY + b.y - 1) / b.y);
  init<<<g, b>>>(f[0]);
  totalMass<<<6, 128>>>(f[0], n, &mass[0]);
  int cur = 0;
  for (int t = 0; t < 5; t++, cur ^= 1)
    collideStream<<<g, b>>>(f[cur], f[cur ^ 1], 1.2f);
  totalMass<<<6, 128>>>(f[cur], n, &mass[1]);
  cudaDeviceSynchronize();
  double m0 = mass[0], m1 = mass[1];
  printf("mass %.6f -> %.6f %s\n", m0, m1, fabs(m1 - m0) < 1e-3 * m0 ? "PASSED" : "FAILED");
  cudaFree(f[0]);
  cudaFree(f[1]);
  cudaFree(mass);
  return 0;
}
