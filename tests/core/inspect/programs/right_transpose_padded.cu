// Transpose through a padded tile with fewer rows of threads than rows of the tile, once out of
// place and once in place on a square matrix, where a block exchanges two mirrored tiles.
#include <cstdio>
#include <cuda_runtime.h>

#define TILE 32
#define ROWS 8

__global__ void transpose(const float *in, float *out, int w, int h) {
  __shared__ float t[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y0 = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < w && y0 + j < h)
      t[threadIdx.y + j][threadIdx.x] = in[(y0 + j) * w + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y0 = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < h && y0 + j < w)
      out[(y0 + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}

__global__ void transposeInPlace(float *m, int n) {
  __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
  int bx = blockIdx.x, by = blockIdx.y;
  if (bx > by)
    return; // the whole block
  bool diagonal = (bx == by);
  for (int j = threadIdx.y; j < TILE; j += ROWS) {
    a[j][threadIdx.x] = m[(by * TILE + j) * n + bx * TILE + threadIdx.x];
    if (!diagonal)
      b[j][threadIdx.x] = m[(bx * TILE + j) * n + by * TILE + threadIdx.x];
  }
  __syncthreads();
  for (int j = threadIdx.y; j < TILE; j += ROWS) {
    m[(bx * TILE + j) * n + by * TILE + threadIdx.x] = a[threadIdx.x][j];
    if (!diagonal)
      m[(by * TILE + j) * n + bx * TILE + threadIdx.x] = b[threadIdx.x][j];
  }
}

int main() {
  const int w = 70, h = 45, n = 96;
  static float A[w * h], T[w * h], S[n * n], R[n * n];
  for (int i = 0; i < w * h; i++)
    A[i] = (float)i;
  for (int i = 0; i < n * n; i++)
    S[i] = (float)(i * 3);
  float *da, *dt, *ds;
  cudaMalloc(&da, sizeof A);
  cudaMalloc(&dt, sizeof T);
  cudaMalloc(&ds, sizeof S);
  cudaMemcpy(da, A, sizeof A, cudaMemcpyHostToDevice);
  cudaMemcpy(ds, S, sizeof S, cudaMemcpyHostToDevice);
  dim3 block(TILE, ROWS);
  transpose<<<dim3((w + TILE - 1) / TILE, (h + TILE - 1) / TILE), block>>>(da, dt, w, h);
  transposeInPlace<<<dim3(n / TILE, n / TILE), block>>>(ds, n);
  cudaMemcpy(T, dt, sizeof T, cudaMemcpyDeviceToHost);
  cudaMemcpy(R, ds, sizeof R, cudaMemcpyDeviceToHost);
  cudaFree(da);
  cudaFree(dt);
  cudaFree(ds);
  int wrong = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      wrong += T[x * h + y] != A[y * w + x];
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      wrong += R[x * n + y] != S[y * n + x];
  printf("transpose_padded: %d wrong\n", wrong);
  return wrong != 0;
}
