// Open-addressing hash table, 64-bit slots (key, value), inserted by atomicCAS, deleted and looked up in later launches.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(x)                                                                                                     \
  if (cudaError_t e = (x)) {                                                                                           \
    std::printf("%s failed: %s\n", #x, cudaGetErrorString(e));                                                         \
    std::exit(2);                                                                                                      \
  }

static constexpr uint32_t kEmpty = 0xffffffffu;
static constexpr uint32_t kCapacity = 4096; // power of two

struct KeyValue {
  uint32_t key, value;
};

__device__ uint32_t hashOf(uint32_t k) {
  k ^= k >> 16;
  k *= 0x85ebca6bu;
  k ^= k >> 13;
  k *= 0xc2b2ae35u;
  k ^= k >> 16;
  return k & (kCapacity - 1);
}

__global__ void insertAll(KeyValue *table, const KeyValue *kvs, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  uint32_t key = kvs[i].key, value = kvs[i].value;
  uint32_t slot = hashOf(key);
  while (true) {
    uint32_t prev = atomicCAS(&table[slot].key, kEmpty, key);
    if (prev == kEmpty || prev == key) {
      atomicMax(&table[slot].value, value); // the largest value wins
      return;
    }
    slot = (slot + 1) & (kCapacity - 1);
  }
}

__global__ void lookupAll(const KeyValue *table, KeyValue *kvs, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  uint32_t key = kvs[i].key, slot = hashOf(key);
  kvs[i].value = kEmpty;
  for (;; slot = (slot + 1) & (kCapacity - 1)) {
    KeyValue kv = table[slot];
    if (kv.key == key) {
      kvs[i].value = kv.value;
      return;
    }
    if (kv.key == kEmpty)
      return;
  }
}

__global__ void clearTable(KeyValue *table) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCapacity) {
    table[i].key = kEmpty;
    table[i].value = 0;
  }
}

int main(int argc, char **argv) {
  unsigned n = argc > 1 ? (unsigned)std::atoi(argv[1]) : 2000u;
  std::vector<KeyValue> in(n), ask(n);
  std::vector<uint32_t> best(700, 0);
  for (unsigned i = 0; i < n; i++) {
    in[i] = {(i * 2654435761u) % 700u, i % 977u}; // plenty of duplicate keys
    if (in[i].value > best[in[i].key])
      best[in[i].key] = in[i].value;
  }
  for (unsigned i = 0; i < n; i++)
    ask[i] = {i, 0};
  std::vector<bool> present(n, false);
  for (auto kv : in)
    if (kv.key < n)
      present[kv.key] = true;

  KeyValue *table, *dIn, *dAsk;
  CUDA_OK(cudaMalloc(&table, kCapacity * sizeof(KeyValue)));
  CUDA_OK(cudaMalloc(&dIn, n * sizeof(KeyValue)));
  CUDA_OK(cudaMalloc(&dAsk, n * sizeof(KeyValue)));
  CUDA_OK(cudaMemcpy(dIn, in.data(), n * sizeof(KeyValue), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dAsk, ask.data(), n * sizeof(KeyValue), cudaMemcpyHostToDevice));
  int minGrid = 0, block = 0;
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, insertAll, 0, 256));
  clearTable<<<kCapacity / 256, 256>>>(table);
  insertAll<<<(n + block - 1) / block, block>>>(table, dIn, n);
  lookupAll<<<(n + block - 1) / block, block>>>(table, dAsk, n);
  CUDA_OK(cudaMemcpy(ask.data(), dAsk, n * sizeof(KeyValue), cudaMemcpyDeviceToHost));
  unsigned wrong = 0;
  for (unsigned i = 0; i < n; i++)
    wrong += ask[i].value != (present[i] ? best[i] : kEmpty);
  cudaFree(table);
  cudaFree(dIn);
  cudaFree(dAsk);
  std::printf("hash table: %u wrong lookups of %u\n", wrong, n);
  return 0;
}
