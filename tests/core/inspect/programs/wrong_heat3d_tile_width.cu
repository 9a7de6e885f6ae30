// finding: bounds-array 30
// The tile is declared one column too narrow, so the right halo column TX + 1 lies in the next row.
// 3D heat equation, periodic, marching in z with a 2D tile per plane.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int NX = 32, NY = 24, NZ = 6;
constexpr int TX = 16, TY = 8;

__host__ __device__ inline int at(int x, int y, int z) {
  x = (x + NX) % NX;
  y = (y + NY) % NY;
  z = (z + NZ) % NZ;
  return (z * NY + y) * NX + x;
}

__global__ void diffuse(const float *__restrict__ u, float *__restrict__ v, float k) {
  __shared__ float s[TY + 2][TX + 1];
  const int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;
  const int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  float below = u[at(x, y, -1)], here = u[at(x, y, 0)];
  for (int z = 0; z < NZ; ++z) {
    const float above = u[at(x, y, z + 1)];
    s[ly][lx] = here;
    if (threadIdx.x == 0)
      s[ly][0] = u[at(x - 1, y, z)];
    if (threadIdx.x == TX - 1)
      s[ly][lx + 1] = u[at(x + 1, y, z)];
    if (threadIdx.y == 0)
      s[0][lx] = u[at(x, y - 1, z)];
    if (threadIdx.y == TY - 1)
      s[ly + 1][lx] = u[at(x, y + 1, z)];
    __syncthreads();
    float sum = below + above + s[ly][lx - 1] + s[ly - 1][lx] + s[ly + 1][lx];
    sum += s[ly][lx + 1];
    v[at(x, y, z)] = here + k * (sum - 6.0f * here);
    __syncthreads();
    below = here;
    here = above;
  }
}

int main() {
  const int n = NX * NY * NZ;
  const float k = 0.1f;
  std::vector<float> u(n), v(n), w(n);
  for (int i = 0; i < n; i++)
    u[i] = (i * 37 % 101) * 0.1f;
  for (int z = 0; z < NZ; z++)
    for (int y = 0; y < NY; y++)
      for (int x = 0; x < NX; x++) {
        float sum = u[at(x - 1, y, z)] + u[at(x + 1, y, z)] + u[at(x, y - 1, z)] + u[at(x, y + 1, z)] +
                    u[at(x, y, z - 1)] + u[at(x, y, z + 1)];
        w[at(x, y, z)] = u[at(x, y, z)] + k * (sum - 6.0f * u[at(x, y, z)]);
      }
  float *du, *dv;
  cudaMalloc(&du, n * sizeof(float));
  cudaMalloc(&dv, n * sizeof(float));
  cudaMemcpy(du, u.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  diffuse<<<dim3(NX / TX, NY / TY), dim3(TX, TY)>>>(du, dv, k);
  cudaMemcpy(v.data(), dv, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(du);
  cudaFree(dv);
  float worst = 0;
  for (int i = 0; i < n; i++)
    worst = std::fmax(worst, std::fabs(v[i] - w[i]));
  std::printf("heat3d: max error %g\n", worst);
  return worst < 1e-3f ? 0 : 1;
}
