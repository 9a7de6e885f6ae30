// Count and locate all occurrences of a pattern in a text; the text tile is staged in dynamic shared memory.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

constexpr int kMaxPattern = 32;
__constant__ char c_pattern[kMaxPattern];

__global__ void search(const char *text, int n, int m, int *positions, int *count) {
  extern __shared__ char tile[]; // blockDim.x + m - 1 characters
  const int start = blockIdx.x * blockDim.x;
  const int need = min((int)blockDim.x + m - 1, n - start);
  for (int i = threadIdx.x; i < need; i += blockDim.x)
    tile[i] = text[start + i];
  __syncthreads();

  const int pos = start + threadIdx.x;
  if (pos + m > n)
    return;
  bool hit = true;
  for (int j = 0; j < m && hit; ++j)
    hit = tile[threadIdx.x + j] == c_pattern[j];
  if (hit)
    positions[atomicAdd(count, 1)] = pos;
}

int main(int argc, char **argv) {
  std::string pattern = argc > 1 ? argv[1] : "abra";
  if (pattern.empty() || pattern.size() > kMaxPattern)
    return 1;
  std::string text;
  for (int i = 0; i < 300; i++)
    text += i % 3 ? "abracadabra" : "simsalabim";
  text += "abr";
  const int n = (int)text.size(), m = (int)pattern.size();

  char *dText;
  int *dPos, *dCount;
  cudaMalloc(&dText, n);
  cudaMalloc(&dPos, n * sizeof(int));
  cudaMalloc(&dCount, sizeof(int));
  cudaMemcpy(dText, text.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(dCount, 0, sizeof(int));
  cudaMemcpyToSymbol(c_pattern, pattern.data(), m);

  const int block = 128;
  search<<<(n + block - 1) / block, block, block + m - 1>>>(dText, n, m, dPos, dCount);

  int count = 0;
  cudaMemcpy(&count, dCount, sizeof(int), cudaMemcpyDeviceToHost);
  std::vector<int> got(count), want;
  if (count)
    cudaMemcpy(got.data(), dPos, count * sizeof(int), cudaMemcpyDeviceToHost);
  std::sort(got.begin(), got.end());
  for (size_t p = text.find(pattern); p != std::string::npos; p = text.find(pattern, p + 1))
    want.push_back((int)p);
  cudaFree(dText);
  cudaFree(dPos);
  cudaFree(dCount);
  std::printf("%d matches of \"%s\": %s\n", count, pattern.c_str(), got == want ? "right" : "wrong");
  return got == want ? 0 : 1;
}
