// finding: race-block 29 27
// A thread stores its new value while the thread d places above may not have read the old one yet.
// Inclusive scan of pairs under an associative, not commutative operation (affine maps), by
// doubling steps in a device function that works on shared memory in place.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 96
#define P 9973

struct Affine {
  int a, b;
}; // x -> a x + b (mod P)

__host__ __device__ inline Affine then(Affine f, Affine g) {
  Affine r;
  r.a = g.a * f.a % P;
  r.b = (g.a * f.b + g.b) % P;
  return r;
}

__device__ void scanInPlace(Affine *s, int n) {
  int t = threadIdx.x;
  for (int d = 1; d < n; d <<= 1) {
    Affine left = {1, 0};
    if (t >= d)
      left = s[t - d];
    Affine me = then(left, s[t]);
    s[t] = me;
    __syncthreads();
  }
}

__global__ void prefixMaps(const int *a, const int *b, int *out, int x0) {
  __shared__ Affine s[NT];
  int t = threadIdx.x, i = blockIdx.x * NT + t;
  s[t].a = a[i];
  s[t].b = b[i];
  __syncthreads();
  scanInPlace(s, NT);
  out[i] = (s[t].a * x0 + s[t].b) % P;
}

int main() {
  const int blocks = 2, n = blocks * NT, x0 = 5;
  int a[n], b[n], got[n];
  for (int i = 0; i < n; i++) {
    a[i] = (i * 37 + 2) % P;
    b[i] = (i * 101 + 7) % P;
  }
  int *da, *db, *dout;
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, sizeof b);
  cudaMalloc(&dout, sizeof got);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  prefixMaps<<<blocks, NT>>>(da, db, dout, x0);
  cudaMemcpy(got, dout, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dout);
  int wrong = 0;
  for (int k = 0; k < blocks; k++) {
    int x = x0;
    for (int t = 0; t < NT; t++) {
      x = (a[k * NT + t] * x + b[k * NT + t]) % P;
      wrong += got[k * NT + t] != x;
    }
  }
  printf("scan_in_place: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
