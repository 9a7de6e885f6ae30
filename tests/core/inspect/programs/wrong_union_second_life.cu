// finding: race-block 24 28
// A thread stores the int of the second phase over the float that its left neighbor may not have read yet.
// One piece of shared memory used as floats, then as ints through a union, then as bytes
// through a cast, phase after phase.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define NT 128

union Scratch {
  float f[NT];
  int i[NT];
  struct {
    short lo, hi;
  } h[NT];
};

__global__ void phases(const float *in, int *maxOut, int *halfOut, int *byteOut) {
  __shared__ Scratch s;
  int t = threadIdx.x;
  s.f[t] = in[t];
  __syncthreads();
  float right = s.f[(t + 1) % NT];
  // second life: ordered bit patterns of the sums as ints, tree for the maximum
  float sum = in[t] + right;
  int bits = __float_as_int(sum);
  s.i[t] = bits >= 0 ? bits : bits ^ 0x7fffffff;
  __syncthreads();
  for (int d = NT / 2; d > 0; d /= 2) {
    if (t < d)
      s.i[t] = max(s.i[t], s.i[t + d]);
    __syncthreads();
  }
  if (t == 0)
    *maxOut = s.i[0]; // and thread 0 itself overwrites it below
  // third life: own word written as int, its halves read by the same thread at once
  s.i[t] = (t << 16) | (3 * t);
  halfOut[t] = s.h[t].lo + s.h[t].hi;
  __syncthreads();
  // fourth life: bytes, four times as many elements as threads
  unsigned char *b = reinterpret_cast<unsigned char *>(&s);
  for (int k = 0; k < 4; k++)
    b[k * NT + t] = (unsigned char)(k * 50 + t % 50);
  __syncthreads();
  int acc = 0;
  for (int k = 0; k < 4; k++)
    acc += b[t * 4 + k];
  byteOut[t] = acc;
}

int main() {
  float h[NT];
  int mx, half[NT], by[NT];
  for (int i = 0; i < NT; i++)
    h[i] = (float)((i * 37) % NT) * 0.5f - 20.f;
  float *d;
  int *dm, *dh, *db;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&dm, sizeof mx);
  cudaMalloc(&dh, sizeof half);
  cudaMalloc(&db, sizeof by);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  phases<<<1, NT>>>(d, dm, dh, db);
  cudaMemcpy(&mx, dm, sizeof mx, cudaMemcpyDeviceToHost);
  cudaMemcpy(half, dh, sizeof half, cudaMemcpyDeviceToHost);
  cudaMemcpy(by, db, sizeof by, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(dm);
  cudaFree(dh);
  cudaFree(db);
  float best = -1e30f, m;
  unsigned char flat[4 * NT];
  int wrong = 0;
  for (int i = 0; i < NT; i++) {
    float v = h[i] + h[(i + 1) % NT];
    if (v > best)
      best = v;
    wrong += half[i] != 4 * i;
    for (int k = 0; k < 4; k++)
      flat[k * NT + i] = (unsigned char)(k * 50 + i % 50);
  }
  memcpy(&m, &mx, 4);
  wrong += (m != best);
  for (int i = 0; i < NT; i++)
    wrong += by[i] != flat[4 * i] + flat[4 * i + 1] + flat[4 * i + 2] + flat[4 * i + 3];
  printf("union_second_life: wrong %d\n", wrong);
  return wrong != 0;
}
