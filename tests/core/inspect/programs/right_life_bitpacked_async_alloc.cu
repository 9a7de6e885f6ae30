// Game of life, 32 cells per word, periodic; every generation lives in a fresh stream-ordered allocation.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

namespace life {

const int WORDS = 3, ROWS = 50, COLS = WORDS * 32;

__host__ __device__ inline int wrap(int v, int m) {
  return v < 0 ? v + m : v >= m ? v - m : v;
}

__device__ inline bool alive(const unsigned *g, int y, int x) {
  y = wrap(y, ROWS);
  x = wrap(x, COLS);
  return g[y * WORDS + x / 32] >> (x % 32) & 1u;
}

__global__ void generation(const unsigned *cur, unsigned *next) {
  // one warp per word, one lane per cell
  int word = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (word >= WORDS * ROWS)
    return; // whole warps only
  int y = word / WORDS, x = word % WORDS * 32 + lane;
  int nb = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy)
        nb += alive(cur, y + dy, x + dx);
  bool live = nb == 3 || (nb == 2 && alive(cur, y, x));
  unsigned bits = __ballot_sync(0xffffffffu, live);
  if (lane == 0)
    next[word] = bits;
}

} // namespace life

int main() {
  using namespace life;
  const int n = WORDS * ROWS, gens = 8;
  std::vector<unsigned> h(n);
  unsigned s = 99;
  for (auto &w : h) {
    s = s * 1664525u + 1013904223u;
    w = s ^ (s >> 11);
  }
  std::vector<char> a(ROWS * COLS), b(ROWS * COLS);
  for (int y = 0; y < ROWS; y++)
    for (int x = 0; x < COLS; x++)
      a[y * COLS + x] = h[y * WORDS + x / 32] >> (x % 32) & 1;
  for (int g = 0; g < gens; g++, a.swap(b))
    for (int y = 0; y < ROWS; y++)
      for (int x = 0; x < COLS; x++) {
        int nb = 0;
        for (int k = 0; k < 9; k++)
          if (k != 4)
            nb += a[wrap(y + k / 3 - 1, ROWS) * COLS + wrap(x + k % 3 - 1, COLS)];
        b[y * COLS + x] = nb == 3 || (nb == 2 && a[y * COLS + x]);
      }

  cudaStream_t st;
  cudaStreamCreate(&st);
  unsigned *cur = nullptr;
  cudaMallocAsync(&cur, n * sizeof(unsigned), st);
  cudaMemcpyAsync(cur, h.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice, st);
  for (int g = 0; g < gens; g++) {
    unsigned *next = nullptr;
    cudaMallocAsync(&next, n * sizeof(unsigned), st);
    generation<<<(n * 32 + 127) / 128, 128, 0, st>>>(cur, next);
    cudaFreeAsync(cur, st);
    cur = next;
  }
  cudaMemcpyAsync(h.data(), cur, n * sizeof(unsigned), cudaMemcpyDeviceToHost, st);
  cudaFreeAsync(cur, st);
  cudaStreamSynchronize(st);
  cudaStreamDestroy(st);
  int wrong = 0, pop = 0;
  for (int i = 0; i < ROWS * COLS; i++) {
    pop += a[i];
    wrong += a[i] != (char)(h[i / COLS * WORDS + i % COLS / 32] >> (i % 32) & 1);
  }
  std::printf("life: population %d, %d cells wrong\n", pop, wrong);
  return 0;
}
