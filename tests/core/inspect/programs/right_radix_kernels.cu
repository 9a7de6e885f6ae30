// Stable radix sort of key/value pairs: count, scan and scatter kernels for each of four digits, buffers swapped.
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

const int CHUNK = 8, RADIX = 16, SCAN = 256;

__device__ inline int digit(uint2 kv, int shift) {
  return (kv.x >> shift) & (RADIX - 1);
}

__global__ void count(const uint2 *in, int n, int shift, int *counts, int chunks) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= chunks)
    return;
  int local[RADIX] = {};
  for (int i = c * CHUNK; i < min(n, (c + 1) * CHUNK); i++)
    local[digit(in[i], shift)]++;
  for (int d = 0; d < RADIX; d++)
    counts[d * chunks + c] = local[d];
}

__global__ void exclusiveScan(int *x, int n) // one block
{
  __shared__ int warpSum[SCAN / 32];
  int t = threadIdx.x, lane = t & 31, per = (n + SCAN - 1) / SCAN;
  int b = min(n, t * per), e = min(n, b + per), s = 0;
  for (int i = b; i < e; i++)
    s += x[i];
  int incl = s;
  for (int o = 1; o < 32; o <<= 1) {
    int v = __shfl_up_sync(~0u, incl, o);
    if (lane >= o)
      incl += v;
  }
  if (lane == 31)
    warpSum[t / 32] = incl;
  __syncthreads();
  int base = incl - s;
  for (int w = 0; w < t / 32; w++)
    base += warpSum[w];
  for (int i = b; i < e; i++) {
    int v = x[i];
    x[i] = base;
    base += v;
  }
}

__global__ void scatter(const uint2 *in, uint2 *out, int n, int shift, const int *at, int chunks) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= chunks)
    return;
  int pos[RADIX];
  for (int d = 0; d < RADIX; d++)
    pos[d] = at[d * chunks + c];
  for (int i = c * CHUNK; i < min(n, (c + 1) * CHUNK); i++) {
    uint2 kv = in[i];
    out[pos[digit(kv, shift)]++] = kv;
  }
}

int main() {
  const int n = 1999, chunks = (n + CHUNK - 1) / CHUNK, T = 64, G = (chunks + T - 1) / T;
  std::vector<uint2> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = make_uint2((i * 40503u) >> 3 & 0xfff, i);
  uint2 *a, *b;
  int *counts;
  CK(cudaMalloc(&a, n * sizeof(uint2)));
  CK(cudaMalloc(&b, n * sizeof(uint2)));
  CK(cudaMalloc(&counts, RADIX * chunks * sizeof(int)));
  CK(cudaMemcpy(a, h.data(), n * sizeof(uint2), cudaMemcpyHostToDevice));
  for (int shift = 0; shift < 16; shift += 4) {
    count<<<G, T>>>(a, n, shift, counts, chunks);
    exclusiveScan<<<1, SCAN>>>(counts, RADIX * chunks);
    scatter<<<G, T>>>(a, b, n, shift, counts, chunks);
    std::swap(a, b);
  }
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), a, n * sizeof(uint2), cudaMemcpyDeviceToHost));
  std::stable_sort(h.begin(), h.end(), [](uint2 p, uint2 q) { return p.x < q.x; });
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += h[i].x != got[i].x || h[i].y != got[i].y;
  CK(cudaFree(a));
  CK(cudaFree(b));
  CK(cudaFree(counts));
  printf("radix_kernels: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
