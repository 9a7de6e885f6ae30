// finding: race-block 30 25
// No barrier between the row pass and the column pass of the 8x8 DCT, whose rows and columns lie in different warps.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define B 8
#define PER_BLOCK 2 /* 8x8 blocks per thread block, in threadIdx.z */

__constant__ float c_dct[B][B];

__global__ void dct8x8(const float *img, float *coef, int w) {
  __shared__ float in[PER_BLOCK][B][B + 1];
  __shared__ float mid[PER_BLOCK][B][B + 1];
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  int bx = (blockIdx.x * PER_BLOCK + z) * B, by = blockIdx.y * B;

  in[z][y][x] = img[(by + y) * w + bx + x];
  __syncthreads();

  /* rows */
  float s = 0.0f;
  for (int k = 0; k < B; k++)
    s += c_dct[x][k] * in[z][y][k];
  mid[z][y][x] = s;

  /* columns */
  s = 0.0f;
  for (int k = 0; k < B; k++)
    s += c_dct[y][k] * mid[z][k][x];
  coef[(by + y) * w + bx + x] = s;
}

int main(void) {
  const int w = 64, h = 32;
  float basis[B][B];
  for (int u = 0; u < B; u++)
    for (int k = 0; k < B; k++)
      basis[u][k] = (u ? 0.5f : 0.35355339f) * cosf((2 * k + 1) * u * 3.14159265f / 16);
  cudaMemcpyToSymbol(c_dct, basis, sizeof(basis));

  float *img = (float *)malloc(w * h * sizeof(float)), *out = (float *)malloc(w * h * sizeof(float));
  for (int i = 0; i < w * h; i++)
    img[i] = (i * 13 % 256) - 128.0f;
  float *d_img, *d_out;
  cudaMalloc((void **)&d_img, w * h * sizeof(float));
  cudaMalloc((void **)&d_out, w * h * sizeof(float));
  cudaMemcpy(d_img, img, w * h * sizeof(float), cudaMemcpyHostToDevice);

  dct8x8<<<dim3(w / (B * PER_BLOCK), h / B), dim3(B, B, PER_BLOCK)>>>(d_img, d_out, w);
  cudaMemcpy(out, d_out, w * h * sizeof(float), cudaMemcpyDeviceToHost);

  int wrong = 0;
  for (int by = 0; by < h; by += B)
    for (int bx = 0; bx < w; bx += B)
      for (int v = 0; v < B; v++)
        for (int u = 0; u < B; u++) {
          double s = 0;
          for (int y = 0; y < B; y++)
            for (int x = 0; x < B; x++)
              s += basis[v][y] * basis[u][x] * img[(by + y) * w + bx + x];
          if (fabs(s - out[(by + v) * w + bx + u]) > 1e-2)
            wrong++;
        }
  printf("dct: %d wrong coefficients\n", wrong);
  cudaFree(d_img);
  cudaFree(d_out);
  free(img);
  free(out);
  return wrong != 0;
}
