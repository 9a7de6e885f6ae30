// __device__ and __constant__ globals changed between launches by symbol copies, by a memset through their address, by kernels.
#include <cstdio>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

struct Settings {
  int lo, hi;
  float scale[3];
};

__constant__ Settings settings;
__constant__ int weights[8] = {1, 2, 3, 4, 4, 3, 2, 1};
__device__ int bins[8];
__device__ int outside;
__device__ int *target = bins; // a device pointer with a static initializer

typedef int (*Rule)(int);
__device__ int plain(int v) {
  return v;
}
__device__ int mirrored(int v) {
  return settings.hi - 1 - (v - settings.lo);
}
__device__ Rule rules[2] = {plain, mirrored};

__global__ void classify(int n, int rule) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = (i * 5) % 37;
  if (v < settings.lo || v >= settings.hi) {
    atomicAdd(&outside, 1);
    return;
  }
  v = rules[rule](v);
  int k = (v - settings.lo) * 8 / (settings.hi - settings.lo);
  atomicAdd(target + k, weights[k] * (int)settings.scale[rule]);
}

int main() {
  const int n = 370;
  int bad = 0, zero = 0, total = 0;
  for (int r = 0; r < 4; r++) {
    Settings s = {r, 37 - 2 * r, {2.0f, 3.0f, 0.0f}};
    CK(cudaMemcpyToSymbol(settings, &s, sizeof s));
    if (r == 2) { // only one element of the table changes
      int w = 50;
      CK(cudaMemcpyToSymbol(weights, &w, sizeof w, 3 * sizeof(int)));
    }
    void *p;
    size_t bytes;
    CK(cudaGetSymbolAddress(&p, bins));
    CK(cudaGetSymbolSize(&bytes, bins));
    CK(cudaMemset(p, 0, bytes));
    CK(cudaMemcpyToSymbol(outside, &zero, sizeof zero));
    classify<<<3, 128>>>(n, r & 1);
    CK(cudaGetLastError());
    int got[8], out;
    CK(cudaMemcpyFromSymbol(got, bins, sizeof got));
    CK(cudaMemcpyFromSymbol(&out, outside, sizeof out));
    int want[8] = {}, wout = 0, w[8] = {1, 2, 3, r >= 2 ? 50 : 4, 4, 3, 2, 1};
    for (int i = 0; i < n; i++) {
      int v = (i * 5) % 37;
      if (v < s.lo || v >= s.hi) {
        wout++;
        continue;
      }
      if (r & 1)
        v = s.hi - 1 - (v - s.lo);
      int k = (v - s.lo) * 8 / (s.hi - s.lo);
      want[k] += w[k] * (int)s.scale[r & 1];
    }
    for (int k = 0; k < 8; k++) {
      bad += got[k] != want[k];
      total += got[k];
    }
    bad += out != wout;
  }
  printf("symbols: %s (%d)\n", bad ? "WRONG" : "ok", total);
  return bad != 0;
}
