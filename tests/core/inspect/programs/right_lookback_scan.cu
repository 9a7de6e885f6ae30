// Inclusive prefix sum in one pass: tiles are handed out by an atomic counter, each looks back over its predecessors.
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

enum { EMPTY = 0, AGGREGATE = 1, PREFIX = 2 };
const int B = 64;

struct Descriptors {
  unsigned *next;
  volatile int *state;
  volatile int *aggregate;
  volatile int *inclusive;
};

__device__ int lookBack(const Descriptors &d, int tile, int total) {
  if (tile == 0) {
    d.inclusive[0] = total;
    __threadfence();
    d.state[0] = PREFIX;
    return 0;
  }
  d.aggregate[tile] = total;
  __threadfence();
  d.state[tile] = AGGREGATE;
  int before = 0;
  for (int p = tile - 1;;) {
    int s = d.state[p];
    if (s == EMPTY)
      continue;
    __threadfence();
    if (s == PREFIX) {
      before += d.inclusive[p];
      break;
    }
    before += d.aggregate[p];
    --p;
  }
  d.inclusive[tile] = before + total;
  __threadfence();
  d.state[tile] = PREFIX;
  return before;
}

__global__ void scan(const int *in, int *out, int n, Descriptors d) {
  __shared__ int s[2][B];
  __shared__ int tile, base;
  int t = threadIdx.x;
  if (t == 0)
    tile = atomicAdd(d.next, 1u);
  __syncthreads();
  int i = tile * B + t, cur = 0;
  s[0][t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int w = 1; w < B; w <<= 1, cur ^= 1) { // two buffers, one barrier a round
    s[cur ^ 1][t] = s[cur][t] + (t >= w ? s[cur][t - w] : 0);
    __syncthreads();
  }
  if (t == B - 1)
    base = lookBack(d, tile, s[cur][t]);
  __syncthreads();
  if (i < n)
    out[i] = base + s[cur][t];
}

int main() {
  const int n = 5000, tiles = (n + B - 1) / B;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 31) % 17 - 5;
  int *in, *out, *words;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMalloc(&words, (1 + 3 * tiles) * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(words, 0, (1 + tiles) * sizeof(int))); // counter and states only; the values need no clearing
  Descriptors d{(unsigned *)words, words + 1, words + 1 + tiles, words + 1 + 2 * tiles};
  scan<<<tiles, B>>>(in, out, n, d);
  CK(cudaGetLastError());
  CK(cudaMemcpy(r.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0, acc = 0;
  for (int i = 0; i < n; i++) {
    acc += h[i];
    bad += r[i] != acc;
  }
  CK(cudaFree(in));
  CK(cudaFree(out));
  CK(cudaFree(words));
  printf("lookback_scan: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
