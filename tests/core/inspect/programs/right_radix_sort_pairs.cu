// LSD radix sort of key/value pairs, 4 bits per pass: count, scan, stable scatter by __match_any_sync
#include <algorithm>
#include <cstdio>
#include <cstdint>
#include <numeric>
#include <vector>

static const int BITS = 4, RADIX = 1 << BITS, NTHREADS = 128, NWARPS = NTHREADS / 32;

__global__ void countDigits(const uint32_t *keys, int n, int shift, unsigned *counts) {
  __shared__ unsigned c[RADIX];
  if (threadIdx.x < RADIX)
    c[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * NTHREADS + threadIdx.x;
  if (i < n)
    atomicAdd(&c[(keys[i] >> shift) & (RADIX - 1)], 1);
  __syncthreads();
  if (threadIdx.x < RADIX)
    counts[threadIdx.x * gridDim.x + blockIdx.x] = c[threadIdx.x];
}

// in-place exclusive scan of few values, one warp
__global__ void scanCounts(unsigned *counts, int m) {
  unsigned carry = 0;
  for (int base = 0; base < m; base += 32) {
    int i = base + threadIdx.x;
    unsigned own = i < m ? counts[i] : 0, v = own;
    for (int d = 1; d < 32; d <<= 1) {
      unsigned up = __shfl_up_sync(0xffffffff, v, d);
      if (threadIdx.x >= d)
        v += up;
    }
    if (i < m)
      counts[i] = carry + v - own;
    carry += __shfl_sync(0xffffffff, v, 31);
  }
}

__global__ void scatter(const uint32_t *kIn, const int *vIn, uint32_t *kOut, int *vOut, int n, int shift,
                        const unsigned *offsets) {
  __shared__ unsigned warpCount[NWARPS][RADIX + 1];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int i = threadIdx.x; i < NWARPS * (RADIX + 1); i += NTHREADS)
    (&warpCount[0][0])[i] = 0;
  __syncthreads();

  int i = blockIdx.x * NTHREADS + threadIdx.x;
  uint32_t key = i < n ? kIn[i] : 0;
  int digit = i < n ? (key >> shift) & (RADIX - 1) : RADIX; // RADIX: no element
  unsigned peers = __match_any_sync(0xffffffff, digit);
  unsigned rank = __popc(peers & ((1u << lane) - 1));
  if (rank == 0)
    warpCount[warp][digit] = __popc(peers);
  __syncthreads();
  if (i < n) {
    for (int w = 0; w < warp; ++w)
      rank += warpCount[w][digit];
    unsigned pos = offsets[digit * gridDim.x + blockIdx.x] + rank;
    kOut[pos] = key;
    vOut[pos] = vIn[i];
  }
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1333;
  int blocks = (n + NTHREADS - 1) / NTHREADS;
  std::vector<uint32_t> k(n);
  std::vector<int> v(n), order(n);
  uint32_t seed = 12345;
  for (int i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    k[i] = (seed >> 8) & 0xffff;
    if (i % 5 == 0)
      k[i] &= 0xff;
    v[i] = i;
  }
  uint32_t *dk[2];
  int *dv[2];
  unsigned *dc;
  for (int b = 0; b < 2; ++b) {
    cudaMalloc(&dk[b], n * sizeof(uint32_t));
    cudaMalloc(&dv[b], n * sizeof(int));
  }
  cudaMalloc(&dc, blocks * RADIX * sizeof(unsigned));
  cudaMemcpy(dk[0], k.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice);
  cudaMemcpy(dv[0], v.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int cur = 0;
  for (int shift = 0; shift < 16; shift += BITS, cur ^= 1) {
    countDigits<<<blocks, NTHREADS>>>(dk[cur], n, shift, dc);
    scanCounts<<<1, 32>>>(dc, blocks * RADIX);
    scatter<<<blocks, NTHREADS>>>(dk[cur], dv[cur], dk[cur ^ 1], dv[cur ^ 1], n, shift, dc);
  }
  std::vector<uint32_t> rk(n);
  std::vector<int> rv(n);
  cudaMemcpy(rk.data(), dk[cur], n * sizeof(uint32_t), cudaMemcpyDeviceToHost);
  cudaMemcpy(rv.data(), dv[cur], n * sizeof(int), cudaMemcpyDeviceToHost);

  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return k[a] < k[b]; });
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += rv[i] != order[i] || rk[i] != k[order[i]];
  printf("radix sort of %d pairs: %s\n", n, wrong ? "WRONG" : "sorted and stable");
  for (int b = 0; b < 2; ++b) {
    cudaFree(dk[b]);
    cudaFree(dv[b]);
  }
  cudaFree(dc);
  return wrong != 0;
}
