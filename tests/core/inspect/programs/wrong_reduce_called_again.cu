// finding: race-block 26 35
// The function returns without a barrier after the read of s[0], and the next call overwrites it at once.
// One block reduction used with a function pointer from a device table, with functors and with
// lambdas made in the kernel. The scratch is passed by reference.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 128

typedef int (*BinOp)(int, int);

__device__ int opAdd(int a, int b) {
  return a + b;
}
__device__ int opMax(int a, int b) {
  return a > b ? a : b;
}
__device__ int opXor(int a, int b) {
  return a ^ b;
}

__device__ BinOp table[3] = {opAdd, opMax, opXor};

template <typename T, int S, typename Op> __device__ T reduceAll(T (&s)[S], T v, Op op) {
  int t = threadIdx.x;
  s[t] = v;
  __syncthreads();
  for (int n = S; n > 1;) {
    int half = (n + 1) / 2;
    if (t < n / 2)
      s[t] = op(s[t], s[t + half]);
    n = half;
    __syncthreads();
  }
  return s[0];
}

struct Gcd {
  __device__ int operator()(int a, int b) const {
    while (b) {
      int r = a % b;
      a = b;
      b = r;
    }
    return a;
  }
};

__global__ void many(const int *in, int *out, int which) {
  __shared__ int si[NT];
  __shared__ float sf[NT];
  int t = threadIdx.x, v = in[t];
  BinOp f = table[which];
  int a = reduceAll(si, v, f);
  int g = reduceAll(si, 12 * (v + 1), Gcd());
  int limit = a & 0xff;
  int c = reduceAll(si, v, [limit](int x, int y) {
    int dx = abs(x - limit), dy = abs(y - limit);
    return dx != dy ? (dx < dy ? x : y) : (x < y ? x : y);
  });
  float q = reduceAll(sf, 0.5f * (float)v, [](float x, float y) { return x < y ? x : y; });
  if (t == which) {
    out[0] = a;
    out[1] = g;
    out[2] = c;
    out[3] = (int)(2.0f * q);
  }
}

int main() {
  int h[NT], got[4], wrong = 0;
  for (int i = 0; i < NT; i++)
    h[i] = (i * 53 + 29) % 257;
  int *d, *o;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&o, sizeof got);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  for (int which = 0; which < 3; which++) {
    many<<<1, NT>>>(d, o, which);
    cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost);
    int a = h[0], g = 12 * (h[0] + 1), mn = h[0], c = h[0];
    for (int i = 1; i < NT; i++) {
      a = which == 0 ? a + h[i] : which == 1 ? (a > h[i] ? a : h[i]) : a ^ h[i];
      int x = 12 * (h[i] + 1);
      while (x) {
        int r = g % x;
        g = x;
        x = r;
      }
      mn = mn < h[i] ? mn : h[i];
    }
    int lim = a & 0xff;
    for (int i = 1; i < NT; i++) {
      int dx = c > lim ? c - lim : lim - c, dy = h[i] > lim ? h[i] - lim : lim - h[i];
      if (dy < dx || (dy == dx && h[i] < c))
        c = h[i];
    }
    wrong += got[0] != a || got[1] != g || got[2] != c || got[3] != mn;
  }
  cudaFree(d);
  cudaFree(o);
  printf("reduce_called_again: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
