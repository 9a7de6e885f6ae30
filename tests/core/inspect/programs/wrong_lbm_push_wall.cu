// finding: bounds-global 37
// The wall test lets y + cy == NY through (> instead of >=), so threads of the top row push behind the end of the array.
// D2Q9 lattice Boltzmann with bounce-back walls at bottom and top, push streaming.
#include <stdio.h>
#include <math.h>
#include <cuda_runtime.h>

#define NX 40
#define NY 20
#define Q 9

struct Lattice {
  float *f; // cell-major: f[(y * NX + x) * Q + q]
  __device__ float &operator()(int x, int y, int q) const {
    return f[(y * NX + x) * Q + q];
  }
};

__constant__ signed char CX[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ signed char CY[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ unsigned char OPP[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float W[Q] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};

__global__ void initLattice(Lattice l) {
  int x = threadIdx.x + blockIdx.x * blockDim.x, y = blockIdx.y;
  if (x < NX)
    for (int q = 0; q < Q; q++)
      l(x, y, q) = W[q] * (1.0f + 0.01f * (x % 4));
}

__device__ void push(const Lattice &to, int x, int y, int q, float v) {
  int tx = (x + CX[q] + NX) % NX;
  int ty = y + CY[q];
  if (ty < 0 || ty > NY)
    to(x, y, OPP[q]) = v; // bounce back
  else
    to(tx, ty, q) = v;
}

__global__ void stepKernel(Lattice from, Lattice to, float omega) {
  int x = threadIdx.x + blockIdx.x * blockDim.x, y = blockIdx.y;
  if (x >= NX)
    return;
  float f[Q], rho = 0.f, ux = 0.f, uy = 0.f;
  for (int q = 0; q < Q; q++) {
    f[q] = from(x, y, q);
    rho += f[q];
    ux += CX[q] * f[q];
    uy += CY[q] * f[q];
  }
  ux /= rho;
  uy /= rho;
  for (int q = 0; q < Q; q++) {
    float cu = 3.f * (CX[q] * ux + CY[q] * uy);
    float eq = W[q] * rho * (1.f + cu + .5f * cu * cu - 1.5f * (ux * ux + uy * uy));
    push(to, x, y, q, f[q] + omega * (eq - f[q]));
  }
}

int main() {
  const size_t bytes = NX * NY * Q * sizeof(float);
  static float h[NX * NY * Q];
  Lattice a, b;
  cudaMalloc(&a.f, bytes);
  cudaMalloc(&b.f, bytes);
  cudaMemset(b.f, 0, bytes);
  dim3 grid((NX + 31) / 32, NY), block(32);
  initLattice<<<grid, block>>>(a);
  double m0 = 0, m1 = 0;
  cudaMemcpy(h, a.f, bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < NX * NY * Q; i++)
    m0 += h[i];
  stepKernel<<<grid, block>>>(a, b, 1.0f);
  cudaMemcpy(h, b.f, bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < NX * NY * Q; i++)
    m1 += h[i];
  cudaFree(a.f);
  cudaFree(b.f);
  printf("mass %f -> %f %s\n", m0, m1, fabs(m0 - m1) < 1e-3 * m0 ? "conserved" : "LOST");
  return 0;
}
