// finding: race-block 33
// Several threads of different warps may find a match and store different positions into the same shared word without an
// atomic.
// Searches a text for a word, one block per line. A thread that finds the word at its place stores
// the place; the line's result is read after the barrier.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define WIDTH 96
#define MAXWORD 8

__constant__ char word[MAXWORD];

__device__ bool matches(const char *line, int at, int len) {
  if (at + len > WIDTH)
    return false;
  for (int k = 0; k < len; k++)
    if (line[at + k] != word[k])
      return false;
  return true;
}

__global__ void search(const char *text, int *where, int len) {
  __shared__ char line[WIDTH];
  __shared__ int found;
  int t = threadIdx.x;
  line[t] = text[blockIdx.x * WIDTH + t];
  if (t == 0)
    found = -1;
  __syncthreads();
  if (matches(line, t, len))
    found = t;
  __syncthreads();
  if (t == WIDTH - 1)
    where[blockIdx.x] = found;
}

int main() {
  const int lines = 4;
  char text[lines * WIDTH];
  const char *w = "warp";
  int got[lines], want[lines] = {3, -1, 92, 40}, wrong = 0;
  for (int i = 0; i < lines * WIDTH; i++)
    text[i] = (char)('a' + (i * 7) % 26);
  memcpy(text + 3, w, 4);
  memcpy(text + 2 * WIDTH + 92, w, 4);
  memcpy(text + 3 * WIDTH + 40, w, 4);
  memcpy(text + 3 * WIDTH + 71, w, 4);
  char *d;
  int *r;
  cudaMalloc(&d, sizeof text);
  cudaMalloc(&r, sizeof got);
  cudaMemcpy(d, text, sizeof text, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(word, w, 4);
  search<<<lines, WIDTH>>>(d, r, 4);
  cudaMemcpy(got, r, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(r);
  for (int l = 0; l < lines; l++)
    wrong += got[l] != want[l];
  printf("first_match_index: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
