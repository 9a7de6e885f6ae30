// finding: race-block 32 46
// Thread (0,0) clears the flag for the next generation while other threads may not have read it yet.
// Game of life on a torus that fits into one block's shared memory. A thread owns a column strip;
// two boards change places after every generation, with one barrier. Stops early by a flag.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define W 24
#define H 20
#define TY 4

typedef unsigned char Board[H][W];

__device__ int around(const Board &b, int y, int x) {
  int up = y ? y - 1 : H - 1, down = y + 1 < H ? y + 1 : 0;
  int l = x ? x - 1 : W - 1, r = x + 1 < W ? x + 1 : 0;
  return b[up][l] + b[up][x] + b[up][r] + b[y][l] + b[y][r] + b[down][l] + b[down][x] + b[down][r];
}

__global__ void life(unsigned char *cells, int *generations, int limit) {
  __shared__ Board board[2];
  __shared__ int changed;
  int x = threadIdx.x;
  for (int y = threadIdx.y; y < H; y += TY)
    board[0][y][x] = cells[y * W + x];
  __syncthreads();
  int g = 0, now = 0;
  while (g < limit) {
    bool mine = false;
    if (x == 0 && threadIdx.y == 0)
      changed = 0;
    __syncthreads();
    for (int y = threadIdx.y; y < H; y += TY) {
      int n = around(board[now], y, x);
      unsigned char c = board[now][y][x];
      unsigned char d = (n == 3 || (c && n == 2)) ? 1 : 0;
      board[now ^ 1][y][x] = d;
      mine |= c != d;
    }
    if (mine)
      changed = 1;
    __syncthreads();
    now ^= 1;
    g++;
    if (!changed)
      break;
  }
  for (int y = threadIdx.y; y < H; y += TY)
    cells[y * W + x] = board[now][y][x];
  if (x == 0 && threadIdx.y == 0)
    *generations = g;
}

int main() {
  Board a, b, got;
  memset(a, 0, sizeof a);
  // a glider, which never comes to rest, and a block, which does not move
  a[1][2] = a[2][3] = a[3][1] = a[3][2] = a[3][3] = 1;
  a[10][15] = a[10][16] = a[11][15] = a[11][16] = 1;
  const int limit = 37;
  unsigned char *d;
  int *dg, gens = 0;
  cudaMalloc(&d, sizeof a);
  cudaMalloc(&dg, sizeof gens);
  cudaMemcpy(d, a, sizeof a, cudaMemcpyHostToDevice);
  life<<<1, dim3(W, TY)>>>(d, dg, limit);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&gens, dg, sizeof gens, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(dg);
  for (int g = 0; g < limit; g++) {
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        int n = -a[y][x];
        for (int dy = H - 1; dy <= H + 1; dy++)
          for (int dx = W - 1; dx <= W + 1; dx++)
            n += a[(y + dy) % H][(x + dx) % W];
        b[y][x] = n == 3 || (a[y][x] && n == 2);
      }
    memcpy(a, b, sizeof a);
  }
  bool ok = gens == limit && memcmp(a, got, sizeof a) == 0;
  printf("life_changed_flag: %s\n", ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}
