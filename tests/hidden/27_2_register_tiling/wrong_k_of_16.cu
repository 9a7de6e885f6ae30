// mistake: out-of-bounds access
enum { TILE = 64, STEP = 16, EACH = 8, THREADS = TILE / EACH * (TILE / EACH) };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float left[TILE][STEP];
  __shared__ float right[STEP][TILE];
  int t = threadIdx.x, x = t % (TILE / EACH), y = t / (TILE / EACH);
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
  float sums[EACH][EACH];
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++)
      sums[i][j] = 0;
  for (int step = 0; step < k; step += STEP) {
    for (int w = t; w < TILE * STEP; w += THREADS) {
      left[w / STEP][w % STEP] = a[(row + w / STEP) * k + step + w % STEP];
      right[w / TILE][w % TILE] = b[(step + w / TILE) * n + column + w % TILE];
    }
    __syncthreads(); // complete
    for (int s = 0; s < STEP; s++) {
      float down[EACH], across[EACH];
      for (int i = 0; i < EACH; i++) {
        down[i] = left[y * EACH + i][s];
        across[i] = right[s][x * EACH + i];
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
          sums[i][j] += down[i] * across[j];
    }
    __syncthreads(); // used
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++)
      c[(row + y * EACH + i) * n + column + x * EACH + j] = sums[i][j];
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), THREADS>>>(c, a, b, n, k);
}
