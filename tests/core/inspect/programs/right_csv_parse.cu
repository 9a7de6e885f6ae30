// Parse a small CSV of integers: find line starts with a block scan of newline flags, then one thread per line.
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define BS 256
#define MAXLINES 512

#define GPU(call)                                                                                                      \
  do {                                                                                                                 \
    cudaError_t rc = call;                                                                                             \
    if (rc != cudaSuccess) {                                                                                           \
      printf("error %d (%s) at line %d\n", rc, cudaGetErrorString(rc), __LINE__);                                      \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

__device__ int blockExclusiveScan(int v, int *total) {
  __shared__ int warpSums[BS / 32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int x = v;
  for (int d = 1; d < 32; d <<= 1) {
    int y = __shfl_up_sync(0xffffffff, x, d);
    if (lane >= d)
      x += y;
  }
  if (lane == 31)
    warpSums[warp] = x;
  __syncthreads();
  if (warp == 0) {
    int s = lane < BS / 32 ? warpSums[lane] : 0;
    for (int d = 1; d < BS / 32; d <<= 1) {
      int y = __shfl_up_sync(0xffffffff, s, d);
      if (lane >= d)
        s += y;
    }
    if (lane < BS / 32)
      warpSums[lane] = s;
  }
  __syncthreads();
  int before = warp ? warpSums[warp - 1] : 0;
  *total = warpSums[BS / 32 - 1];
  __syncthreads(); /* warpSums is used again by the next call */
  return before + x - v;
}

/* single block; walks the file in chunks of BS characters */
__global__ void findLines(const char *txt, int n, int *starts, int *numLines) {
  int base = 1;
  if (threadIdx.x == 0)
    starts[0] = 0;
  for (int off = 0; off < n; off += BS) {
    int i = off + threadIdx.x;
    int nl = i < n - 1 && txt[i] == '\n';
    int total;
    int slot = blockExclusiveScan(nl, &total);
    if (nl)
      starts[base + slot] = i + 1;
    base += total;
  }
  if (threadIdx.x == 0) {
    starts[base] = n;
    *numLines = base;
  }
}

__device__ const char *readInt(const char *p, int *out) {
  int sign = 1, v = 0;
  if (*p == '-') {
    sign = -1;
    p++;
  }
  while (*p >= '0' && *p <= '9')
    v = v * 10 + (*p++ - '0');
  *out = sign * v;
  return p;
}

__global__ void sumLines(const char *txt, const int *starts, const int *numLines, long long *sums) {
  int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= *numLines)
    return;
  const char *p = txt + starts[line], *end = txt + starts[line + 1];
  long long s = 0;
  while (p < end) {
    int v;
    p = readInt(p, &v);
    s += v;
    p++; /* comma or newline */
  }
  sums[line] = s;
}

int main(void) {
  static char text[8192];
  static long long want[MAXLINES], got[MAXLINES];
  int n = 0, lines = 200, gotLines = 0, wrong = 0;
  for (int l = 0; l < lines; l++) {
    for (int c = 0; c <= l % 4; c++) {
      int v = (l * 37 + c * 101) % 900 - 300;
      n += sprintf(text + n, c == l % 4 ? "%d\n" : "%d,", v);
      want[l] += v;
    }
  }
  char *dText;
  int *dStarts, *dNum;
  long long *dSums;
  GPU(cudaMalloc(&dText, n));
  GPU(cudaMalloc(&dStarts, (MAXLINES + 1) * sizeof(int)));
  GPU(cudaMalloc(&dNum, sizeof(int)));
  GPU(cudaMalloc(&dSums, MAXLINES * sizeof(long long)));
  GPU(cudaMemcpy(dText, text, n, cudaMemcpyHostToDevice));
  findLines<<<1, BS>>>(dText, n, dStarts, dNum);
  sumLines<<<MAXLINES / 64, 64>>>(dText, dStarts, dNum, dSums);
  GPU(cudaMemcpy(&gotLines, dNum, sizeof(int), cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(got, dSums, gotLines * sizeof(long long), cudaMemcpyDeviceToHost));
  for (int l = 0; l < lines; l++)
    wrong += got[l] != want[l];
  GPU(cudaFree(dText));
  GPU(cudaFree(dStarts));
  GPU(cudaFree(dNum));
  GPU(cudaFree(dSums));
  printf("csv: %d lines, %d wrong\n", gotLines, wrong);
  return wrong || gotLines != lines;
}
