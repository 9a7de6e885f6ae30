// finding: bounds-array 31
// The tile has no second halo column, so the threads at the right edge read index TX+1 of a row of TX+1 places, which lies in
// the next row.
// 3x3 box filter with a shared tile that has halo rows, columns and corners. All threads help
// to fill the tile with a linear loop; borders of the picture are clamped.
#include <cstdio>
#include <cuda_runtime.h>

#define TX 16
#define TY 8

__device__ inline int clampTo(int v, int hi) {
  return v < 0 ? 0 : (v > hi ? hi : v);
}

__global__ void box(const unsigned char *in, unsigned short *out, int w, int h) {
  __shared__ unsigned char tile[TY + 2][TX + 1];
  int tid = threadIdx.y * TX + threadIdx.x;
  int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
  for (int i = tid; i < (TY + 2) * (TX + 1); i += TX * TY) {
    int ty = i / (TX + 1), tx = i % (TX + 1);
    int gx = clampTo(x0 + tx - 1, w - 1), gy = clampTo(y0 + ty - 1, h - 1);
    tile[ty][tx] = in[gy * w + gx];
  }
  __syncthreads();
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x < w && y < h) {
    int s = 0;
    for (int dy = 0; dy < 3; dy++)
      for (int dx = 0; dx < 3; dx++)
        s += tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * w + x] = (unsigned short)s;
  }
}

int main() {
  const int w = 51, h = 27;
  static unsigned char img[w * h];
  static unsigned short got[w * h];
  for (int i = 0; i < w * h; i++)
    img[i] = (unsigned char)((i * 73) ^ (i >> 3));
  unsigned char *di;
  unsigned short *dr;
  cudaMalloc(&di, sizeof img);
  cudaMalloc(&dr, sizeof got);
  cudaMemcpy(di, img, sizeof img, cudaMemcpyHostToDevice);
  dim3 block(TX, TY), grid((w + TX - 1) / TX, (h + TY - 1) / TY);
  box<<<grid, block>>>(di, dr, w, h);
  cudaMemcpy(got, dr, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(di);
  cudaFree(dr);
  int wrong = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int s = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          int yy = y + dy < 0 ? 0 : y + dy >= h ? h - 1 : y + dy;
          int xx = x + dx < 0 ? 0 : x + dx >= w ? w - 1 : x + dx;
          s += img[yy * w + xx];
        }
      if (s != got[y * w + x])
        wrong++;
    }
  printf("stencil_tile_width: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 1 : 0;
}
