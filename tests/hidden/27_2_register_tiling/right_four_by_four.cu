// Tiles of 32 x 32 with 4 x 4 sums per thread, float4 loads, the tile of a transposed.
#include <cuda_runtime.h>

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float4 as[8][8], bs[8][8];
  const int t = threadIdx.x, x = t % 8, y = t / 8, top = blockIdx.y * 32, left = blockIdx.x * 32;
  float4 sums[4] = {};
  for (int begin = 0; begin < k; begin += 8) {
    const float4 four = *(const float4 *)&a[(top + t / 2) * k + begin + t % 2 * 4];
    float *column = (float *)as + t % 2 * 4 * 32 + t / 2;
    column[0] = four.x;
    column[32] = four.y;
    column[64] = four.z;
    column[96] = four.w;
    bs[y][x] = *(const float4 *)&b[(begin + y) * n + left + 4 * x];
    __syncthreads();
#pragma unroll
    for (int p = 0; p < 8; p++) {
      const float4 r = bs[p][x], q = as[p][y];
      const float down[] = {q.x, q.y, q.z, q.w};
      for (int i = 0; i < 4; i++) {
        sums[i].x += down[i] * r.x;
        sums[i].y += down[i] * r.y;
        sums[i].z += down[i] * r.z;
        sums[i].w += down[i] * r.w;
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    *(float4 *)&c[(top + 4 * y + i) * n + left + 4 * x] = sums[i];
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / 32, m / 32), 64>>>(c, a, b, n, k);
}
