// 5x5 Gaussian blur of a gray image, tile with halo in shared memory, weights in constant memory
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define TILE 16
#define RADIUS 2
#define TW (TILE + 2 * RADIUS)

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t e_ = (call);                                                                                           \
    if (e_ != cudaSuccess) {                                                                                           \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));                                       \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

__constant__ int c_w[5][5];

__global__ void blur(const unsigned char *in, unsigned char *out, int w, int h) {
  __shared__ unsigned char tile[TW][TW];
  int x0 = blockIdx.x * TILE - RADIUS;
  int y0 = blockIdx.y * TILE - RADIUS;

  for (int i = threadIdx.y * TILE + threadIdx.x; i < TW * TW; i += TILE * TILE) {
    int ty = i / TW, tx = i % TW;
    int gx = min(max(x0 + tx, 0), w - 1);
    int gy = min(max(y0 + ty, 0), h - 1);
    tile[ty][tx] = in[gy * w + gx];
  }
  __syncthreads();

  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  if (x >= w || y >= h)
    return;

  int sum = 0;
  for (int dy = 0; dy < 5; dy++)
    for (int dx = 0; dx < 5; dx++)
      sum += c_w[dy][dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
  out[y * w + x] = (unsigned char)((sum + 128) >> 8);
}

static int clampi(int v, int lo, int hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

int main(int argc, char **argv) {
  int w = argc > 1 ? atoi(argv[1]) : 70;
  int h = argc > 2 ? atoi(argv[2]) : 45;
  int b[5] = {1, 4, 6, 4, 1}, k[5][5];
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++)
      k[i][j] = b[i] * b[j];
  CHECK(cudaMemcpyToSymbol(c_w, k, sizeof(k)));

  size_t n = (size_t)w * h;
  unsigned char *img = (unsigned char *)malloc(n), *res = (unsigned char *)malloc(n);
  for (size_t i = 0; i < n; i++)
    img[i] = (unsigned char)((i * 37 + i / 11) & 255);

  unsigned char *d_in, *d_out;
  CHECK(cudaMalloc(&d_in, n));
  CHECK(cudaMalloc(&d_out, n));
  CHECK(cudaMemcpy(d_in, img, n, cudaMemcpyHostToDevice));
  dim3 block(TILE, TILE), grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE);
  blur<<<grid, block>>>(d_in, d_out, w, h);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(res, d_out, n, cudaMemcpyDeviceToHost));

  int bad = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int s = 0;
      for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++)
          s += k[dy + 2][dx + 2] * img[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)];
      if (res[y * w + x] != ((s + 128) >> 8))
        bad++;
    }
  printf("blur %dx%d: %d wrong\n", w, h, bad);
  CHECK(cudaFree(d_in));
  CHECK(cudaFree(d_out));
  free(img);
  free(res);
  return bad != 0;
}
