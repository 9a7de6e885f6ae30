// finding: bounds-array 47
// The smaller part is pushed and the larger one done first, so lists with unlucky pivots push more ranges than the stack has
// places.
// Every thread sorts its own short list with a non-recursive quicksort: the list and the stack
// of open ranges are local arrays with computed indices.
#include <cstdio>
#include <cuda_runtime.h>

#define LEN 24
#define THREADS 80
#define DEPTH 6

struct Range {
  signed char lo, hi;
};

__device__ int partition(int *a, int lo, int hi) {
  int p = a[(lo + hi) >> 1], i = lo, j = hi;
  while (i <= j) {
    while (a[i] < p)
      i++;
    while (a[j] > p)
      j--;
    if (i <= j) {
      int x = a[i];
      a[i] = a[j];
      a[j] = x;
      i++;
      j--;
    }
  }
  return (i << 8) | (j & 0xff);
}

__global__ void sortLists(int *data, int lists) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= lists)
    return;
  int a[LEN];
  for (int k = 0; k < LEN; k++)
    a[k] = data[k * lists + id]; // column layout
  Range stack[DEPTH];
  int sp = 0;
  stack[sp].lo = 0;
  stack[sp++].hi = LEN - 1;
  while (sp > 0) {
    Range r = stack[--sp];
    int lo = r.lo, hi = r.hi;
    while (lo < hi) {
      int ij = partition(a, lo, hi);
      int i = ij >> 8, j = (signed char)(ij & 0xff);
      Range rest;
      if (j - lo > hi - i) {
        rest.lo = (signed char)i;
        rest.hi = (signed char)hi;
        hi = j;
      } else {
        rest.lo = (signed char)lo;
        rest.hi = (signed char)j;
        lo = i;
      }
      if (rest.lo < rest.hi)
        stack[sp++] = rest;
    }
  }
  for (int k = 0; k < LEN; k++)
    data[k * lists + id] = a[k];
}

int main() {
  const int lists = THREADS - 3;
  static int h[LEN * lists], g[LEN * lists];
  const int unlucky[LEN] = {4, 5, 32, 13, 35, 45, 16, 0, 16, 27, 16, 1, 47, 44, 24, 48, 35, 45, 32, 32, 11, 32, 4, 7};
  unsigned x = 99;
  for (int i = 0; i < LEN * lists; i++) {
    x = x * 1664525u + 1013904223u;
    h[i] = (int)((x >> 16) % 50);
  }
  for (int k = 0; k < LEN; k++) {
    h[k * lists] = k;
    h[k * lists + 1] = LEN - k;
    h[k * lists + 2] = unlucky[k];
  }
  int *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  sortLists<<<THREADS / 16, 16>>>(d, lists);
  cudaMemcpy(g, d, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(d);
  int wrong = 0;
  for (int l = 0; l < lists; l++) {
    int cnt[64] = {0};
    for (int k = 0; k < LEN; k++) {
      cnt[h[k * lists + l]]++;
      cnt[g[k * lists + l]]--;
    }
    for (int c = 0; c < 64; c++)
      wrong += cnt[c] != 0;
    for (int k = 1; k < LEN; k++)
      wrong += g[(k - 1) * lists + l] > g[k * lists + l];
  }
  printf("quicksort_stack: %d wrong\n", wrong);
  return wrong != 0;
}
