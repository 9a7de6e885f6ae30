// Mandelbrot set with dynamic parallelism: tiles whose border is uniform are filled, the others refined by child grids.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define SIZE 128
#define TILE 32
#define MAX_DWELL 64

__host__ __device__ int dwell(int px, int py) {
  float cr = -2.0f + 2.5f * px / SIZE, ci = -1.25f + 2.5f * py / SIZE;
  float zr = 0, zi = 0;
  int d = 0;
  while (d < MAX_DWELL && zr * zr + zi * zi < 4.0f) {
    float t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    d++;
  }
  return d;
}

__global__ void fillTile(int *img, int x0, int y0, int value) {
  img[(y0 + threadIdx.y + blockIdx.y * blockDim.y) * SIZE + x0 + threadIdx.x + blockIdx.x * blockDim.x] = value;
}

__global__ void refineTile(int *img, int x0, int y0) {
  int x = x0 + threadIdx.x + blockIdx.x * blockDim.x, y = y0 + threadIdx.y + blockIdx.y * blockDim.y;
  img[y * SIZE + x] = dwell(x, y);
}

/* one block per tile; the threads walk the border of the tile */
__global__ void mandel(int *img, int *uniformTiles) {
  __shared__ int lo, hi;
  int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
  if (threadIdx.x == 0) {
    lo = MAX_DWELL;
    hi = 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 4 * TILE; i += blockDim.x) {
    int side = i / TILE, k = i % TILE;
    int x = side == 0 ? 0 : side == 1 ? TILE - 1 : k;
    int y = side == 2 ? 0 : side == 3 ? TILE - 1 : k;
    int d = dwell(x0 + x, y0 + y);
    atomicMin(&lo, d);
    atomicMax(&hi, d);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    dim3 b(16, 16), g(TILE / 16, TILE / 16);
    if (lo == hi) {
      atomicAdd(uniformTiles, 1);
      fillTile<<<g, b>>>(img, x0, y0, lo);
    } else {
      refineTile<<<g, b>>>(img, x0, y0);
    }
  }
}

int main(void) {
  int *img, *uniform, u = 0, diff = 0;
  int *h = (int *)malloc(SIZE * SIZE * sizeof(int));
  cudaMalloc(&img, SIZE * SIZE * sizeof(int));
  cudaMalloc(&uniform, sizeof(int));
  cudaMemset(uniform, 0, sizeof(int));
  mandel<<<dim3(SIZE / TILE, SIZE / TILE), 64>>>(img, uniform);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) {
    printf("%s\n", cudaGetErrorString(e));
    return 1;
  }
  cudaMemcpy(h, img, SIZE * SIZE * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&u, uniform, sizeof(int), cudaMemcpyDeviceToHost);
  for (int y = 0; y < SIZE; y++)
    for (int x = 0; x < SIZE; x++)
      diff += h[y * SIZE + x] != dwell(x, y);
  cudaFree(img);
  cudaFree(uniform);
  free(h);
  /* rounding (fma) moves some pixels at the rim */
  printf("mandelbrot: %d uniform tiles, %d pixels differ %s\n", u, diff, diff < SIZE * SIZE / 50 ? "ok" : "too many");
  return 0;
}
