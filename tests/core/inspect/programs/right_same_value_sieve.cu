// Sieve of Eratosthenes in shared bytes: many threads store the same 1 into the same byte with
// no order between them, and neighbors store into other bytes of the same word. The flags are
// read only after the barrier. So is a found-flag to which several threads store `true`.
#include <cstdio>
#include <cuda_runtime.h>

#define LIMIT 1024
#define NT 64

__global__ void sieve(int *primes, int *hasTwin, int lo) {
  __shared__ unsigned char composite[LIMIT];
  __shared__ bool twin;
  int t = threadIdx.x;
  for (int i = t; i < LIMIT; i += NT)
    composite[i] = 0;
  if (t == 0)
    twin = false;
  __syncthreads();
  // every thread strikes out the multiples of its own number, prime or not
  int p = t + 2;
  if (p * p < LIMIT)
    for (int m = p * p; m < LIMIT; m += p)
      composite[m] = 1;
  __syncthreads();
  for (int i = t; i < LIMIT; i += NT) {
    bool prime = i >= 2 && !composite[i];
    primes[i] = prime;
    if (prime && i >= lo && i + 2 < LIMIT && !composite[i + 2])
      twin = true;
  }
  __syncthreads();
  if (t == NT - 1)
    *hasTwin = twin;
}

int main() {
  int got[LIMIT], tw = -1, wrong = 0, want = 0;
  const int lo = 900;
  int *d, *f;
  cudaMalloc(&d, sizeof got);
  cudaMalloc(&f, sizeof tw);
  sieve<<<1, NT>>>(d, f, lo);
  cudaError_t e = cudaGetLastError();
  if (e != cudaSuccess) {
    printf("launch: %s\n", cudaGetErrorString(e));
    return 3;
  }
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&tw, f, sizeof tw, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(f);
  bool ref[LIMIT];
  for (int i = 0; i < LIMIT; i++) {
    bool prime = i >= 2;
    for (int k = 2; k * k <= i; k++)
      if (i % k == 0)
        prime = false;
    ref[i] = prime;
    wrong += (got[i] != 0) != prime;
  }
  for (int i = lo; i + 2 < LIMIT; i++)
    if (ref[i] && ref[i + 2])
      want = 1;
  wrong += tw != want;
  printf("same_value_sieve: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 1 : 0;
}
