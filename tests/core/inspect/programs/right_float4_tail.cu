// Vector loads and stores: the body as float4, the last one to three elements one by one; rows
// with a stride that is a multiple of four; shared floats aligned by hand and read as float4.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 64

__global__ void axpy(const float *__restrict__ x, float *y, float a, int n) {
  int i = blockIdx.x * NT + threadIdx.x;
  int quads = n / 4;
  if (i < quads) {
    float4 u = reinterpret_cast<const float4 *>(x)[i];
    float4 v = reinterpret_cast<float4 *>(y)[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    reinterpret_cast<float4 *>(y)[i] = v;
  }
  int r = quads * 4 + i;
  if (r < n)
    y[r] += a * x[r];
}

__global__ void rowReverse(const float *in, float *out, int width, int stride) {
  __shared__ __align__(16) float buf[4 * NT];
  const float4 *src = (const float4 *)(in + blockIdx.x * stride);
  float4 *b4 = (float4 *)buf;
  for (int k = threadIdx.x; k < stride / 4; k += NT)
    b4[k] = src[k];
  __syncthreads();
  float *dst = out + blockIdx.x * stride;
  for (int k = threadIdx.x; k < width; k += NT)
    dst[k] = buf[width - 1 - k];
  // pairs, from an even offset
  if (threadIdx.x < 2) {
    float2 p = *(const float2 *)&buf[2 + 4 * threadIdx.x];
    dst[width + threadIdx.x] = p.x - p.y;
  }
}

int main() {
  const int n = 1003, rows = 7, stride = 148, width = 145;
  static float x[n], y[n], g[n], m[rows * stride], r[rows * stride];
  for (int i = 0; i < n; i++) {
    x[i] = (float)(i % 37);
    y[i] = (float)(i % 19);
  }
  for (int i = 0; i < rows * stride; i++)
    m[i] = (float)((i * 3) % 101);
  float *dx, *dy, *dm, *dr;
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&dy, sizeof y);
  cudaMalloc(&dm, sizeof m);
  cudaMalloc(&dr, sizeof r);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice);
  cudaMemcpy(dm, m, sizeof m, cudaMemcpyHostToDevice);
  cudaMemset(dr, 0, sizeof r);
  axpy<<<(n / 4 + NT - 1) / NT, NT>>>(dx, dy, 2.0f, n);
  rowReverse<<<rows, NT>>>(dm, dr, width, stride);
  cudaMemcpy(g, dy, sizeof g, cudaMemcpyDeviceToHost);
  cudaMemcpy(r, dr, sizeof r, cudaMemcpyDeviceToHost);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dm);
  cudaFree(dr);
  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += g[i] != y[i] + 2.0f * x[i];
  for (int k = 0; k < rows; k++) {
    const float *p = m + k * stride, *q = r + k * stride;
    for (int i = 0; i < width; i++)
      wrong += q[i] != p[width - 1 - i];
    wrong += q[width] != p[2] - p[3] || q[width + 1] != p[6] - p[7];
    wrong += q[width + 2] != 0.0f;
  }
  printf("float4_tail: %d wrong\n", wrong);
  return wrong != 0;
}
