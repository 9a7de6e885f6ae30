// Longest common subsequence, tile by tile in one launch: a tile waits for the flags of its upper and left neighbors.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int S = 32; // tile side, and threads per block

__device__ void await(volatile int *flag) {
  while (*flag == 0)
    __nanosleep(30);
  __threadfence();
}

// dp has a border of zeros in row and column 0
__global__ void lcs(const char *a, const char *b, int *dp, int pitch, int tiles, int *ticket, volatile int *flags) {
  __shared__ int order;
  __shared__ char as[S], bs[S];
  int t = threadIdx.x;
  if (t == 0)
    order = atomicAdd(ticket, 1);
  __syncthreads();
  // tickets go along the anti-diagonals, so what a tile waits for has been drawn before
  int d = 0, k = order;
  for (;; d++) {
    int len = d < tiles ? d + 1 : 2 * tiles - 1 - d;
    if (k < len)
      break;
    k -= len;
  }
  int ty = (d < tiles ? 0 : d - tiles + 1) + k, tx = d - ty;
  as[t] = a[ty * S + t];
  bs[t] = b[tx * S + t];
  if (t == 0) {
    if (ty > 0)
      await(&flags[(ty - 1) * tiles + tx]);
    if (tx > 0)
      await(&flags[ty * tiles + tx - 1]);
  }
  __syncthreads();
  int y = ty * S + t + 1;
  for (int step = 0; step < 2 * S - 1; step++) {
    int j = step - t;
    if (j >= 0 && j < S) {
      int x = tx * S + j + 1;
      int v = as[t] == bs[j] ? dp[(y - 1) * pitch + x - 1] + 1 : max(dp[(y - 1) * pitch + x], dp[y * pitch + x - 1]);
      dp[y * pitch + x] = v;
    }
    __syncwarp(); // the block is one warp
  }
  __syncthreads();
  if (t == 0) {
    __threadfence();
    flags[ty * tiles + tx] = 1;
  }
}

int main() {
  const int tiles = 5, n = tiles * S, pitch = n + 1;
  std::vector<char> a(n), b(n);
  for (int i = 0; i < n; i++) {
    a[i] = 'a' + (i * i) % 7;
    b[i] = 'a' + (i * 3 + i / 5) % 7;
  }
  std::vector<int> want((n + 1) * pitch, 0), got((n + 1) * pitch);
  for (int y = 1; y <= n; y++)
    for (int x = 1; x <= n; x++)
      want[y * pitch + x] = a[y - 1] == b[x - 1] ? want[(y - 1) * pitch + x - 1] + 1
                                                 : std::max(want[(y - 1) * pitch + x], want[y * pitch + x - 1]);
  char *da, *db;
  int *dp, *words;
  CK(cudaMalloc(&da, n));
  CK(cudaMalloc(&db, n));
  CK(cudaMalloc(&dp, want.size() * sizeof(int)));
  CK(cudaMalloc(&words, (1 + tiles * tiles) * sizeof(int)));
  CK(cudaMemcpy(da, a.data(), n, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(db, b.data(), n, cudaMemcpyHostToDevice));
  CK(cudaMemset(dp, 0, pitch * sizeof(int))); // the first row, then the first column: the rest is computed
  CK(cudaMemset2D(dp, pitch * sizeof(int), 0, sizeof(int), n + 1));
  CK(cudaMemset(words, 0, (1 + tiles * tiles) * sizeof(int)));
  lcs<<<tiles * tiles, S>>>(da, db, dp, pitch, tiles, words, words + 1);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), dp, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int ok = got == want;
  CK(cudaFree(da));
  CK(cudaFree(db));
  CK(cudaFree(dp));
  CK(cudaFree(words));
  printf("lcs_wavefront: %s (%d)\n", ok ? "ok" : "WRONG", got.back());
  return !ok;
}
