// Decoupled look-back with state and value packed in one 64-bit word, and a whole warp looking back at 32 tiles at once.
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

typedef unsigned long long u64;
const int T = 64;
enum : unsigned { NONE = 0, PARTIAL = 1, FULL = 2 };

__device__ unsigned drawn;

__device__ inline u64 pack(unsigned state, int v) {
  return (u64)state << 32 | (unsigned)v;
}

// called by the first warp of the block; the words are written whole, so no fence is needed for the value in them
__device__ int lookBack(volatile u64 *words, int tile, int total) {
  int lane = threadIdx.x;
  if (lane == 0)
    words[tile] = pack(tile == 0 ? FULL : PARTIAL, total);
  int before = 0;
  for (int last = tile - 1; last >= 0; last -= 32) {
    int p = last - lane;
    u64 w;
    do {
      w = p >= 0 ? words[p] : pack(FULL, 0);
    } while (__any_sync(~0u, w >> 32 == NONE));
    unsigned full = __ballot_sync(~0u, w >> 32 == FULL);
    int stop = full ? __ffs(full) - 1 : 31; // the nearest tile whose prefix is known
    int v = lane <= stop ? (int)(unsigned)w : 0;
    for (int o = 16; o; o >>= 1)
      v += __shfl_xor_sync(~0u, v, o);
    before += v;
    if (full)
      break;
  }
  if (lane == 0 && tile > 0)
    words[tile] = pack(FULL, before + total);
  return before;
}

__global__ void exclusive(const int *in, int *out, int n, u64 *words) {
  __shared__ int warpSum[T / 32], tileShared, base;
  int t = threadIdx.x, lane = t & 31, w = t / 32;
  if (t == 0)
    tileShared = atomicAdd(&drawn, 1u);
  __syncthreads();
  int tile = tileShared, i = tile * T + t, v = i < n ? in[i] : 0, incl = v;
  for (int o = 1; o < 32; o <<= 1) {
    int u = __shfl_up_sync(~0u, incl, o);
    if (lane >= o)
      incl += u;
  }
  if (lane == 31)
    warpSum[w] = incl;
  __syncthreads();
  if (w == 0) {
    int total = 0;
    for (int k = 0; k < T / 32; k++)
      total += warpSum[k];
    int b = lookBack(words, tile, total);
    if (lane == 0)
      base = b;
  }
  __syncthreads();
  int at = base + incl - v;
  for (int k = 0; k < w; k++)
    at += warpSum[k];
  if (i < n)
    out[i] = at;
}

int main() {
  const int n = 6500, tiles = (n + T - 1) / T;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 53) % 23 - 11;
  int *in, *out;
  u64 *words;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMalloc(&words, tiles * sizeof(u64)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  int bad = 0;
  for (int r = 0; r < 2; r++) {
    unsigned zero = 0;
    CK(cudaMemcpyToSymbol(drawn, &zero, sizeof zero));
    CK(cudaMemset(words, 0, tiles * sizeof(u64)));
    exclusive<<<tiles, T>>>(in, out, n, words);
    CK(cudaGetLastError());
    CK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
    int acc = 0;
    for (int i = 0; i < n; i++) {
      bad += got[i] != acc;
      acc += h[i];
    }
  }
  CK(cudaFree(in));
  CK(cudaFree(out));
  CK(cudaFree(words));
  printf("lookback_packed: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
