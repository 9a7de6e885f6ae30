// finding: race-warp 23
// Four neighboring threads add to the same 32-bit word of counters without an atomic, each for its own byte.
// Histogram with one byte counter per bin and thread, no atomics: a thread counts in the byte of
// its own column. Before a counter can overflow, the counters are added up and cleared.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 64
#define BINS 32
#define ROUND 250 // at most this many elements per thread between two sums

__global__ void histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned char h[BINS][NT];
  int t = threadIdx.x;
  unsigned total = 0; // of bin t, in threads below BINS
  unsigned *words = reinterpret_cast<unsigned *>(&h[0][0]);
  for (int start = 0; start < n; start += NT * ROUND) {
    for (int k = t; k < BINS * NT / 4; k += NT)
      words[k] = 0;
    __syncthreads();
    int end = min(n, start + NT * ROUND);
    for (int i = start + t; i < end; i += NT)
      words[((in[i] >> 3) * NT + t) / 4] += 1u << (8 * (t & 3));
    __syncthreads();
    if (t < BINS)
      for (int k = 0; k < NT; k++)
        total += h[t][(k + t) % NT];
    __syncthreads();
  }
  if (t < BINS)
    out[t] = total;
}

int main() {
  const int n = 20000;
  static unsigned char h[n];
  unsigned want[BINS] = {0}, got[BINS];
  for (int i = 0; i < n; i++) {
    h[i] = (i % 3) ? (unsigned char)(i * 7 / 5) : 200;
    want[h[i] >> 3]++;
  }
  unsigned char *d;
  unsigned *o;
  cudaMalloc(&d, n);
  cudaMalloc(&o, sizeof got);
  cudaMemcpy(d, h, n, cudaMemcpyHostToDevice);
  histogram<<<1, NT>>>(d, o, n);
  cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(o);
  int wrong = 0;
  for (int b = 0; b < BINS; b++)
    wrong += want[b] != got[b];
  printf("word_of_counters: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 1 : 0;
}
