// Per-bucket spin locks taken by single threads of the same warp: the try-lock with a done flag cannot live-lock.
#include <cstdio>
#include <climits>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int BUCKETS = 13;

struct Bucket {
  int lock;
  int count;
  long long sum;
  int lo, hi;
};

template <class F> __device__ void withLock(int *lock, F body) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      body();
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

__global__ void tally(Bucket *b, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = in[i];
  Bucket *mine = b + (v % BUCKETS);
  withLock(&mine->lock, [=]() {
    mine->count++;
    mine->sum += v;
    if (v < mine->lo)
      mine->lo = v;
    if (v > mine->hi)
      mine->hi = v;
  });
}

int main() {
  const int n = 1500;
  int h[n];
  Bucket want[BUCKETS], got[BUCKETS];
  for (auto &b : want)
    b = {0, 0, 0, INT_MAX, INT_MIN};
  Bucket *d;
  int *in;
  CK(cudaMalloc(&d, sizeof want));
  CK(cudaMalloc(&in, sizeof h));
  CK(cudaMemcpy(d, want, sizeof want, cudaMemcpyHostToDevice));
  for (int i = 0; i < n; i++) {
    h[i] = (i * 2654435761u) >> 18;
    Bucket &b = want[h[i] % BUCKETS];
    b.count++;
    b.sum += h[i];
    if (h[i] < b.lo)
      b.lo = h[i];
    if (h[i] > b.hi)
      b.hi = h[i];
  }
  CK(cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice));
  tally<<<(n + 63) / 64, 64>>>(d, in, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int k = 0; k < BUCKETS; k++)
    bad += got[k].lock != 0 || got[k].count != want[k].count || got[k].sum != want[k].sum || got[k].lo != want[k].lo ||
           got[k].hi != want[k].hi;
  CK(cudaFree(d));
  CK(cudaFree(in));
  printf("bucket_locks: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
