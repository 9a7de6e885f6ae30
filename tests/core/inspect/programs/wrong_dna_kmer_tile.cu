// finding: uninitialized-shared 24
// Only m - 2 of the m - 1 halo characters are loaded, the last positions of a block compare against a character never written.
// Count matches of a short motif in a DNA sequence, tile in shared memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define BLOCK 128
#define MAX_MOTIF 16

#define CUDA_CALL(x)                                                                                                   \
  do {                                                                                                                 \
    if ((x) != cudaSuccess) {                                                                                          \
      printf("Error at %s:%d\n", __FILE__, __LINE__);                                                                  \
      return EXIT_FAILURE;                                                                                             \
    }                                                                                                                  \
  } while (0)

__constant__ char motif[MAX_MOTIF];

__device__ int matches(const char *s, int m) {
  for (int k = 0; k < m; k++)
    if (s[k] != motif[k])
      return 0;
  return 1;
}

__global__ void countMotif(const char *seq, int n, int m, unsigned *count) {
  __shared__ char tile[BLOCK + MAX_MOTIF];
  int g = blockIdx.x * BLOCK + threadIdx.x;

  tile[threadIdx.x] = g < n ? seq[g] : 'N';
  if (threadIdx.x < m - 2) {
    int h = g + BLOCK;
    tile[BLOCK + threadIdx.x] = h < n ? seq[h] : 'N';
  }
  __syncthreads();

  int found = matches(&tile[threadIdx.x], m);
  int inBlock = __syncthreads_count(found);
  if (threadIdx.x == 0 && inBlock > 0)
    atomicAdd(count, (unsigned)inBlock);
}

int main(int argc, char **argv) {
  const char *pat = argc > 1 ? argv[1] : "AAAA";
  int m = (int)strlen(pat), n = 2000;
  unsigned got = 0, want = 0;
  if (m < 2 || m > MAX_MOTIF)
    return EXIT_FAILURE;
  char *h = (char *)malloc(n);
  for (int i = 0; i < n; i++)
    h[i] = i % 128 > 118 || i % 128 < 6 ? 'A' : "ACGT"[(i * i / 3) & 3];
  for (int i = 0; i + m <= n; i++)
    want += memcmp(h + i, pat, m) == 0;
  char *d;
  unsigned *dCount;
  CUDA_CALL(cudaMalloc((void **)&d, n));
  CUDA_CALL(cudaMalloc((void **)&dCount, sizeof(unsigned)));
  CUDA_CALL(cudaMemcpy(d, h, n, cudaMemcpyHostToDevice));
  CUDA_CALL(cudaMemset(dCount, 0, sizeof(unsigned)));
  CUDA_CALL(cudaMemcpyToSymbol(motif, pat, m));
  countMotif<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d, n, m, dCount);
  CUDA_CALL(cudaGetLastError());
  CUDA_CALL(cudaMemcpy(&got, dCount, sizeof(unsigned), cudaMemcpyDeviceToHost));
  CUDA_CALL(cudaFree(d));
  CUDA_CALL(cudaFree(dCount));
  free(h);
  printf("%s: %u matches, expected %u\n", pat, got, want);
  return EXIT_SUCCESS;
}
