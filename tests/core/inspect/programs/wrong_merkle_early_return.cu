// finding: divergent 38
// In the last block the threads without a leaf return before the barriers of the tree loop.
// Merkle tree roots: one root per block of 128 leaves (the last block has fewer), 32-bit mixing hash.
#include <cstdint>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

using Hash = uint32_t;
constexpr int LEAVES = 128;

__host__ __device__ inline Hash mix(Hash h) {
  h ^= h >> 15;
  h *= 0x2c1b3c6du;
  h ^= h >> 12;
  h *= 0x297a2d39u;
  return h ^ (h >> 15);
}

__host__ __device__ inline Hash combine(Hash l, Hash r) {
  return mix(l * 31u + r + 0x9e3779b9u);
}

__host__ __device__ Hash leafHash(const uint32_t *words, int count) {
  Hash h = 0x811c9dc5u;
  for (int i = 0; i < count; ++i)
    h = mix(h ^ words[i]);
  return h;
}

template <int N> __global__ void merkle(const uint32_t *data, int wordsPerLeaf, int leaves, Hash *roots) {
  __shared__ Hash node[N];
  const int leaf = blockIdx.x * N + threadIdx.x;
  node[threadIdx.x] = leaf < leaves ? leafHash(data + leaf * wordsPerLeaf, wordsPerLeaf) : 0u;
  if (leaf >= leaves)
    return;
  for (int width = N / 2; width > 0; width /= 2) {
    __syncthreads();
    Hash h = 0;
    if (threadIdx.x < width)
      h = combine(node[2 * threadIdx.x], node[2 * threadIdx.x + 1]);
    __syncthreads();
    if (threadIdx.x < width)
      node[threadIdx.x] = h;
  }
  if (threadIdx.x == 0)
    roots[blockIdx.x] = node[0];
}

static Hash hostRoot(std::vector<Hash> level) {
  while (level.size() > 1) {
    std::vector<Hash> up;
    for (size_t i = 0; i < level.size(); i += 2)
      up.push_back(combine(level[i], level[i + 1]));
    level.swap(up);
  }
  return level[0];
}

int main() {
  const int leaves = 475, wordsPerLeaf = 6, blocks = (leaves + LEAVES - 1) / LEAVES;
  std::vector<uint32_t> data(leaves * wordsPerLeaf);
  for (size_t i = 0; i < data.size(); i++)
    data[i] = mix((uint32_t)i);
  uint32_t *dData;
  Hash *dRoots;
  cudaMalloc(&dData, data.size() * sizeof(uint32_t));
  cudaMalloc(&dRoots, blocks * sizeof(Hash));
  cudaMemcpy(dData, data.data(), data.size() * sizeof(uint32_t), cudaMemcpyHostToDevice);
  merkle<LEAVES><<<blocks, LEAVES>>>(dData, wordsPerLeaf, leaves, dRoots);
  std::vector<Hash> roots(blocks);
  cudaMemcpy(roots.data(), dRoots, blocks * sizeof(Hash), cudaMemcpyDeviceToHost);
  cudaFree(dData);
  cudaFree(dRoots);
  int wrong = 0;
  for (int b = 0; b < blocks; b++) {
    std::vector<Hash> level(LEAVES, 0u);
    for (int i = 0; i < LEAVES && b * LEAVES + i < leaves; i++)
      level[i] = leafHash(&data[(b * LEAVES + i) * wordsPerLeaf], wordsPerLeaf);
    wrong += roots[b] != hostRoot(level);
  }
  std::printf("merkle: %d of %d roots wrong\n", wrong, blocks);
  return 0;
}
