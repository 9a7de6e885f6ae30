// finding: race-block 34
// The lock is chosen from the key, not from the bucket, so two keys of one bucket may hold different locks.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int BUCKETS = 24, LOCKS = 8;

struct Bucket {
  int count;
  long long sum;
};

struct Table {
  Bucket *buckets;
  int *locks;

  __device__ void add(int key) {
    Bucket &b = buckets[key % BUCKETS];
    int *lock = &locks[(key / BUCKETS) % LOCKS];
    atomicAdd(&b.count, 1); // this needs no lock
    for (bool done = false; !done;) {
      if (atomicCAS(lock, 0, 1) == 0) {
        __threadfence();
        b.sum += key;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
      }
    }
  }
};

__global__ void insert(Table t, const int *keys, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    t.add(keys[i]);
}

int main() {
  const int n = 1000;
  std::vector<int> keys(n);
  std::vector<Bucket> got(BUCKETS), want(BUCKETS, Bucket{0, 0});
  for (int i = 0; i < n; i++) {
    keys[i] = (i * 997) % 3001;
    want[keys[i] % BUCKETS].count++;
    want[keys[i] % BUCKETS].sum += keys[i];
  }
  Table t;
  int *dk;
  CK(cudaMalloc(&t.buckets, BUCKETS * sizeof(Bucket)));
  CK(cudaMalloc(&t.locks, LOCKS * sizeof(int)));
  CK(cudaMalloc(&dk, n * sizeof(int)));
  CK(cudaMemset(t.buckets, 0, BUCKETS * sizeof(Bucket)));
  CK(cudaMemset(t.locks, 0, LOCKS * sizeof(int)));
  CK(cudaMemcpy(dk, keys.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  insert<<<6, 64>>>(t, dk, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), t.buckets, BUCKETS * sizeof(Bucket), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int k = 0; k < BUCKETS; k++)
    bad += got[k].count != want[k].count || got[k].sum != want[k].sum;
  CK(cudaFree(t.buckets));
  CK(cudaFree(t.locks));
  CK(cudaFree(dk));
  printf("striped_locks: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
