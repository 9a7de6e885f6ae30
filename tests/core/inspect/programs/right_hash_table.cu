// Open addressing hash table: keys are claimed by atomicCAS, counts added by atomicAdd; looked up and erased in later launches.
#include <cstdio>
#include <map>
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

const unsigned EMPTY = 0xffffffffu, CAP = 1024;

struct Slot {
  unsigned key, count;
};

__host__ __device__ inline unsigned mix(unsigned k) {
  k ^= k >> 16;
  k *= 0x85ebca6bu;
  k ^= k >> 13;
  return k & (CAP - 1);
}

__global__ void insertAll(Slot *table, const unsigned *keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned k = keys[i];
  for (unsigned s = mix(k);; s = (s + 1) & (CAP - 1)) {
    unsigned was = atomicCAS(&table[s].key, EMPTY, k);
    if (was == EMPTY || was == k) {
      atomicAdd(&table[s].count, 1u);
      return;
    }
  }
}

__device__ const Slot *find(const Slot *table, unsigned k) {
  for (unsigned s = mix(k); table[s].key != EMPTY; s = (s + 1) & (CAP - 1))
    if (table[s].key == k)
      return &table[s];
  return nullptr;
}

__global__ void lookup(const Slot *table, const unsigned *keys, unsigned *answer, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Slot *s = find(table, keys[i]);
  answer[i] = s ? s->count : 0;
}

int main() {
  const int n = 1500, ask = 900;
  std::vector<unsigned> keys(n), q(ask), got(ask);
  std::map<unsigned, unsigned> want;
  for (int i = 0; i < n; i++) {
    keys[i] = (unsigned)(i % 700) * 977u + 3;
    want[keys[i]]++;
  }
  for (int i = 0; i < ask; i++)
    q[i] = (unsigned)i * 977u + 3;
  Slot *table;
  unsigned *dk, *dq, *da;
  CK(cudaMalloc(&table, CAP * sizeof(Slot)));
  CK(cudaMalloc(&dk, n * sizeof(unsigned)));
  CK(cudaMalloc(&dq, ask * sizeof(unsigned)));
  CK(cudaMalloc(&da, ask * sizeof(unsigned)));
  // the keys to EMPTY, the counts to 0: two strided fills of the same array of structs
  CK(cudaMemset2D(&table->key, sizeof(Slot), 0xff, sizeof(unsigned), CAP));
  CK(cudaMemset2D(&table->count, sizeof(Slot), 0, sizeof(unsigned), CAP));
  CK(cudaMemcpy(dk, keys.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dq, q.data(), ask * sizeof(unsigned), cudaMemcpyHostToDevice));
  insertAll<<<(n + 95) / 96, 96>>>(table, dk, n);
  lookup<<<(ask + 95) / 96, 96>>>(table, dq, da, ask);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), da, ask * sizeof(unsigned), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < ask; i++)
    bad += got[i] != (want.count(q[i]) ? want[q[i]] : 0);
  CK(cudaFree(table));
  CK(cudaFree(dk));
  CK(cudaFree(dq));
  CK(cudaFree(da));
  printf("hash_table: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
