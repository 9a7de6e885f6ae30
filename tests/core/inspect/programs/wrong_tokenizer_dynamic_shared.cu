// finding: bounds-dynamic 33
// The launch reserves room for the histogram and the characters but forgets the array of classes, which lies outside.
// Classify the characters of a source text: block histogram of character classes, positions of class changes counted.
#include <cstdio>
#include <cstring>
#include <string>
#include <cuda_runtime.h>

enum CharClass { BLANK, DIGIT, LETTER, PUNCT, CLASSES };

__host__ __device__ int classify(char c) {
  if (c == ' ' || c == '\n' || c == '\t')
    return BLANK;
  if (c >= '0' && c <= '9')
    return DIGIT;
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
    return LETTER;
  return PUNCT;
}

__global__ void lex(const char *text, int n, int *histogram, int *tokens) {
  extern __shared__ int smem[];
  int *hist = smem;                              // CLASSES
  char *chars = (char *)(hist + CLASSES);        // blockDim.x + 1
  char *cls = chars + blockDim.x + 1;            // blockDim.x + 1
  const int first = blockIdx.x * blockDim.x - 1; // one character to the left of the tile

  if (threadIdx.x < CLASSES)
    hist[threadIdx.x] = 0;
  for (int k = threadIdx.x; k < blockDim.x + 1; k += blockDim.x) {
    int i = first + k;
    chars[k] = i >= 0 && i < n ? text[i] : ' ';
    cls[k] = (char)classify(chars[k]);
  }
  __syncthreads();

  const int i = first + 1 + threadIdx.x;
  if (i < n) {
    int mine = cls[threadIdx.x + 1];
    atomicAdd(&hist[mine], 1);
    if (mine != BLANK && (mine == PUNCT || mine != cls[threadIdx.x]))
      atomicAdd(tokens, 1);
  }
  __syncthreads();
  if (threadIdx.x < CLASSES)
    atomicAdd(&histogram[threadIdx.x], hist[threadIdx.x]);
}

int main() {
  std::string src;
  for (int i = 0; i < 60; i++)
    src += "int value" + std::to_string(i * 31) + " = f(x, " + std::to_string(i) + ") * 2;\n";
  const int n = (int)src.size(), block = 128;
  int want[CLASSES] = {0}, got[CLASSES], wantTokens = 0, gotTokens = 0;
  for (int i = 0, prev = BLANK; i < n; i++) {
    int c = classify(src[i]);
    want[c]++;
    wantTokens += c != BLANK && (c == PUNCT || c != prev);
    prev = c;
  }
  char *dText;
  int *dHist, *dTokens;
  cudaMalloc(&dText, n);
  cudaMalloc(&dHist, sizeof got);
  cudaMalloc(&dTokens, sizeof(int));
  cudaMemcpy(dText, src.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(dHist, 0, sizeof got);
  cudaMemset(dTokens, 0, sizeof(int));
  size_t shared = CLASSES * sizeof(int) + (block + 1) * sizeof(char);
  lex<<<(n + block - 1) / block, block, shared>>>(dText, n, dHist, dTokens);
  cudaMemcpy(got, dHist, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&gotTokens, dTokens, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(dText);
  cudaFree(dHist);
  cudaFree(dTokens);
  std::printf("%d tokens (%d), histogram %s\n", gotTokens, wantTokens,
              memcmp(want, got, sizeof got) ? "differs" : "agrees");
  return 0;
}
