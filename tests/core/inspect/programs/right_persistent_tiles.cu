// Persistent blocks draw tiles of different cost from an atomic counter until none are left.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int TILE = 32, T = 128;

struct Scheduler {
  int next, done;
};

__device__ int escape(int px, int py, int size) {
  // integers only, 12 bits of fraction
  int cx = (px * 3 << 12) / size - (2 << 12), cy = (py * 3 << 12) / size - (3 << 11), x = 0, y = 0, k = 0;
  while (k < 60 && ((x * x + y * y) >> 12) < (4 << 12)) {
    int nx = ((x * x - y * y) >> 12) + cx;
    y = ((2 * x * y) >> 12) + cy;
    x = nx;
    k++;
  }
  return k;
}

__global__ void render(Scheduler *s, int *image, int size, int *perBlock) {
  __shared__ int tile;
  int across = (size + TILE - 1) / TILE, tiles = across * across, mine = 0;
  while (true) {
    if (threadIdx.x == 0)
      tile = atomicAdd(&s->next, 1);
    __syncthreads();
    int k = tile;
    __syncthreads(); // all have read before thread 0 draws again
    if (k >= tiles)
      break;
    int x0 = k % across * TILE, y0 = k / across * TILE;
    for (int p = threadIdx.x; p < TILE * TILE; p += T) {
      int x = x0 + p % TILE, y = y0 + p / TILE;
      if (x < size && y < size)
        image[y * size + x] = escape(x, y, size);
    }
    mine++;
  }
  if (threadIdx.x == 0) {
    perBlock[blockIdx.x] = mine;
    atomicAdd(&s->done, mine);
  }
}

__global__ void check(const int *image, int size, int *wrong) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size * size && image[i] != escape(i % size, i / size, size))
    atomicAdd(wrong, 1);
}

int main() {
  const int size = 100, blocks = 5, tiles = ((size + TILE - 1) / TILE) * ((size + TILE - 1) / TILE);
  Scheduler *s;
  int *image, *per, *wrong;
  CK(cudaMalloc(&s, sizeof *s));
  CK(cudaMalloc(&image, size * size * sizeof(int)));
  CK(cudaMalloc(&per, blocks * sizeof(int)));
  CK(cudaMalloc(&wrong, sizeof(int)));
  CK(cudaMemset(s, 0, sizeof *s));
  CK(cudaMemset(wrong, 0, sizeof(int)));
  render<<<blocks, T>>>(s, image, size, per);
  check<<<(size * size + 255) / 256, 256>>>(image, size, wrong);
  CK(cudaGetLastError());
  Scheduler hs;
  int w, hp[blocks], sum = 0;
  CK(cudaMemcpy(&hs, s, sizeof hs, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(&w, wrong, sizeof w, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(hp, per, sizeof hp, cudaMemcpyDeviceToHost));
  for (int v : hp)
    sum += v;
  int ok = hs.done == tiles && hs.next == tiles + blocks && w == 0 && sum == tiles;
  CK(cudaFree(s));
  CK(cudaFree(image));
  CK(cudaFree(per));
  CK(cudaFree(wrong));
  printf("persistent_tiles: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
