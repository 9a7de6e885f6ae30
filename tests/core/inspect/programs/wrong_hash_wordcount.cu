// finding: race-block 35
// Slots are claimed by atomicCAS, but the count of a slot is incremented by a plain ++ by all threads with the same word.
// Word counting with an open-addressing hash table of 64-bit word hashes.
#include <cstdio>
#include <string>
#include <vector>
#include <map>
#include <cuda_runtime.h>

typedef unsigned long long u64;

struct Slot {
  u64 hash;
  int count;
};

__host__ __device__ u64 fnv1a(const char *s, int len) {
  u64 h = 14695981039346656037ULL;
  for (int i = 0; i < len; i++)
    h = (h ^ (unsigned char)s[i]) * 1099511628211ULL;
  return h ? h : 1;
}

class DeviceTable {
  Slot *slots;
  unsigned mask;

public:
  __host__ DeviceTable(Slot *s, unsigned capacity) : slots(s), mask(capacity - 1) {
  }
  __device__ void add(u64 hash) {
    for (unsigned p = (unsigned)hash & mask;; p = (p + 1) & mask) {
      u64 old = atomicCAS(&slots[p].hash, 0ULL, hash);
      if (old == 0ULL || old == hash) {
        slots[p].count++;
        return;
      }
    }
  }
};

__global__ void countWords(const char *text, const int2 *words, int n, DeviceTable table) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    table.add(fnv1a(text + words[i].x, words[i].y));
}

int main() {
  const char *vocabulary[] = {"grid", "block", "warp", "thread", "lane", "kernel", "stream", "event", "host"};
  std::string text;
  std::vector<int2> words;
  std::map<std::string, int> want;
  for (int i = 0; i < 900; i++) {
    std::string w = vocabulary[(i * i + i / 7) % 9];
    words.push_back(make_int2((int)text.size(), (int)w.size()));
    text += w + " ";
    want[w]++;
  }
  const unsigned capacity = 64;
  char *dText;
  int2 *dWords;
  Slot *dSlots, h[capacity];
  cudaMalloc(&dText, text.size());
  cudaMalloc(&dWords, words.size() * sizeof(int2));
  cudaMalloc(&dSlots, sizeof h);
  cudaMemcpy(dText, text.data(), text.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dWords, words.data(), words.size() * sizeof(int2), cudaMemcpyHostToDevice);
  cudaMemset(dSlots, 0, sizeof h);
  countWords<<<(int)(words.size() + 127) / 128, 128>>>(dText, dWords, (int)words.size(), DeviceTable(dSlots, capacity));
  cudaMemcpy(h, dSlots, sizeof h, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (auto &kv : want)
    for (auto &s : h)
      if (s.hash == fnv1a(kv.first.data(), (int)kv.first.size()))
        wrong += s.count != kv.second;
  cudaFree(dText);
  cudaFree(dWords);
  cudaFree(dSlots);
  printf("word count: %d words wrong\n", wrong);
  return 0;
}
