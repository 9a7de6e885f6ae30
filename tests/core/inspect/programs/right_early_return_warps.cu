// One warp per row. After the block's only barrier the warps without a row leave; the others go
// on with __syncwarp and shuffles alone, on a piece of shared memory that is theirs.
#include <cstdio>
#include <cuda_runtime.h>

#define WARPS 6
#define FULL 0xffffffffu

__global__ void rowRanks(const int *m, const int *shift, int *out, int rows) {
  __shared__ int sh;
  __shared__ int line[WARPS][32];
  int lane = threadIdx.x, warp = threadIdx.y;
  if (lane == 0 && warp == WARPS - 1)
    sh = shift[blockIdx.x];
  __syncthreads();
  int row = blockIdx.x * WARPS + warp;
  if (row >= rows)
    return;

  int v = m[row * 32 + lane];
  line[warp][(lane + sh) & 31] = v;
  __syncwarp();
  int mine = line[warp][lane];
  int rank = 0;
  for (int k = 0; k < 32; k++) {
    int o = __shfl_sync(FULL, mine, k);
    rank += (o < mine) || (o == mine && k < lane);
  }
  __syncwarp();
  line[warp][rank] = mine;
  __syncwarp();
  if (lane >= 30)
    return; // no more warp operations
  out[row * 32 + lane] = line[warp][lane + 2] - line[warp][lane];
}

int main() {
  const int rows = 3 * WARPS - 4, blocks = 3;
  static int h[rows * 32], g[rows * 32];
  int shift[blocks] = {5, 0, 31};
  for (int i = 0; i < rows * 32; i++)
    h[i] = (i * 57 + i / 5) % 211;
  int *a, *s, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&s, sizeof shift);
  cudaMalloc(&b, sizeof g);
  cudaMemset(b, 0, sizeof g);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(s, shift, sizeof shift, cudaMemcpyHostToDevice);
  rowRanks<<<blocks, dim3(32, WARPS)>>>(a, s, b, rows);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(s);
  cudaFree(b);
  int wrong = 0;
  for (int r = 0; r < rows; r++) {
    int *p = h + r * 32;
    for (int i = 1; i < 32; i++)
      for (int j = i; j > 0 && p[j - 1] > p[j]; j--) {
        int x = p[j];
        p[j] = p[j - 1];
        p[j - 1] = x;
      }
    for (int i = 0; i < 30; i++)
      wrong += g[r * 32 + i] != p[i + 2] - p[i];
    wrong += g[r * 32 + 30] != 0 || g[r * 32 + 31] != 0;
  }
  printf("early_return_warps: %d wrong\n", wrong);
  return wrong != 0;
}
