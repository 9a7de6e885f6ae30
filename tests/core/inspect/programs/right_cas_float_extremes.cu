// Minimum and maximum of floats by atomicCAS loops on shared memory, and the place of the
// maximum in a packed 64-bit word; the first look at the word, before the loop, is a plain read
// by way of the atomic itself. After the barrier the results are read plainly.
#include <cstdio>
#include <cuda_runtime.h>

typedef unsigned long long u64;

__device__ float atomicMaxF(float *p, float v) {
  int *w = reinterpret_cast<int *>(p);
  int old = atomicAdd(w, 0);
  while (__int_as_float(old) < v) {
    int seen = old;
    old = atomicCAS(w, seen, __float_as_int(v));
    if (old == seen)
      break;
  }
  return __int_as_float(old);
}

__device__ void atomicMinF(float *p, float v) {
  unsigned *w = (unsigned *)p, old = atomicOr(w, 0u), seen;
  do {
    seen = old;
    if (!(v < __uint_as_float(seen)))
      return;
    old = atomicCAS(w, seen, __float_as_uint(v));
  } while (old != seen);
}

__global__ void extremes(const float *in, float *lo, float *hi, int *where, int n) {
  __shared__ float mn, mx;
  __shared__ u64 best;
  if (threadIdx.x == 0) {
    mn = in[0];
    mx = -3.0e38f;
    best = 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = in[i];
    atomicMaxF(&mx, v);
    atomicMinF(&mn, v);
    int b = __float_as_int(v);
    unsigned key = b < 0 ? ~(unsigned)b : (unsigned)b | 0x80000000u;
    u64 cand = ((u64)key << 32) | (unsigned)(n - i);
    atomicMax(&best, cand);
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) {
    *lo = mn;
    *hi = mx;
    *where = n - (int)(unsigned)(best & 0xffffffffu);
  }
}

int main() {
  const int n = 700;
  float h[n], lo, hi, wlo = 1e30f, whi = -1e30f;
  int at, wat = -1;
  for (int i = 0; i < n; i++) {
    h[i] = (float)((i * 389) % 701) * 0.75f - 260.0f;
    if (h[i] < wlo)
      wlo = h[i];
    if (h[i] > whi) {
      whi = h[i];
      wat = i;
    }
  }
  float *d, *dl, *dh;
  int *dw;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&dl, sizeof lo);
  cudaMalloc(&dh, sizeof hi);
  cudaMalloc(&dw, sizeof at);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  extremes<<<1, 96>>>(d, dl, dh, dw, n);
  cudaMemcpy(&lo, dl, sizeof lo, cudaMemcpyDeviceToHost);
  cudaMemcpy(&hi, dh, sizeof hi, cudaMemcpyDeviceToHost);
  cudaMemcpy(&at, dw, sizeof at, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(dl);
  cudaFree(dh);
  cudaFree(dw);
  bool ok = lo == wlo && hi == whi && at == wat;
  printf("cas_float_extremes: %s\n", ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}
