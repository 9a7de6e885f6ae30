// Constant memory of several kinds: a table with an initializer, a two-dimensional one copied
// whole, a struct, and an array filled in two pieces by an offset.
#include <cstdio>
#include <cuda_runtime.h>

struct Params {
  int rows, cols;
  short gain[3];
  char name[5];
};

__constant__ int stepX[8] = {1, 1, 0, -1, -1, -1, 0, 1};
__constant__ int stepY[8] = {0, 1, 1, 1, 0, -1, -1, -1};
__constant__ int weight[3][5];
__constant__ Params par;
__constant__ unsigned short lut[96];

__device__ int look(const int *img, int y, int x) {
  if (y < 0 || x < 0 || y >= par.rows || x >= par.cols)
    return 0;
  return img[y * par.cols + x];
}

__global__ void apply(const int *img, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= par.rows * par.cols)
    return;
  int y = i / par.cols, x = i % par.cols;
  int acc = 0;
  for (int d = 0; d < 8; d++)
    acc += look(img, y + stepY[d], x + stepX[d]);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 5; b++)
      acc += weight[a][b] * look(img, y + a - 1, x + b - 2) * par.gain[a];
  out[i] = acc + lut[(unsigned)img[i] % 96u] + par.name[i % 5];
}

int main() {
  const int rows = 13, cols = 21, n = rows * cols;
  int img[n], got[n], w[3][5];
  unsigned short l[96];
  Params p = {rows, cols, {2, -1, 3}, {'a', 'b', 'c', 'd', 'e'}};
  for (int i = 0; i < n; i++)
    img[i] = (i * 31) % 120;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 5; b++)
      w[a][b] = a * 5 - b * 2;
  for (int i = 0; i < 96; i++)
    l[i] = (unsigned short)(i * i);
  cudaMemcpyToSymbol(weight, w, sizeof w);
  cudaMemcpyToSymbol(par, &p, sizeof p);
  cudaMemcpyToSymbol(lut, l, 40 * sizeof(unsigned short));
  cudaMemcpyToSymbol(lut, l + 40, 56 * sizeof(unsigned short), 40 * sizeof(unsigned short));
  int *a, *b;
  cudaMalloc(&a, sizeof img);
  cudaMalloc(&b, sizeof got);
  cudaMemcpy(a, img, sizeof img, cudaMemcpyHostToDevice);
  apply<<<(n + 63) / 64, 64>>>(a, b);
  cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    int y = i / cols, x = i % cols, acc = l[img[i] % 96] + p.name[i % 5];
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -2; dx <= 2; dx++) {
        int yy = y + dy, xx = x + dx;
        if (yy < 0 || xx < 0 || yy >= rows || xx >= cols)
          continue;
        int v = img[yy * cols + xx];
        acc += w[dy + 1][dx + 2] * v * p.gain[dy + 1];
        if (dx >= -1 && dx <= 1 && (dx || dy))
          acc += v;
      }
    wrong += acc != got[i];
  }
  printf("constant_tables: %d wrong\n", wrong);
  return wrong != 0;
}
