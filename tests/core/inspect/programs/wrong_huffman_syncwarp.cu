// finding: race-warp 21 19
// The warp-level scan in shared memory separates its reads from the writes that follow, but has no __syncwarp between a
// round's writes and the next round's reads.
// Lengths of variable-length codes -> bit positions; one warp per chunk of 32 symbols.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define WARPS 4
#define CHUNK 32

__constant__ unsigned char codeLength[16] = {1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10, 10};

/* inclusive scan of one value per lane in the warp's own part of shared memory */
__device__ unsigned warpScan(unsigned *s, unsigned v, int lane) {
  s[lane] = v;
  __syncwarp();
  for (int d = 1; d < 32; d *= 2) {
    unsigned left = lane >= d ? s[lane - d] : 0;
    __syncwarp();
    s[lane] += left;
  }
  return s[lane];
}

__global__ void bitOffsets(const unsigned char *symbols, int n, unsigned *offset, unsigned *chunkBits) {
  __shared__ unsigned scratch[WARPS][CHUNK];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int chunk = blockIdx.x * WARPS + warp;
  if (chunk * CHUNK >= n)
    return; /* the whole warp leaves, no block barrier follows */
  const int i = chunk * CHUNK + lane;
  unsigned len = i < n ? codeLength[symbols[i]] : 0;
  unsigned incl = warpScan(scratch[warp], len, lane);
  if (i < n)
    offset[i] = incl - len;
  if (lane == 31)
    chunkBits[chunk] = incl;
}

int main(int argc, char **argv) {
  static const unsigned char lens[16] = {1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10, 10};
  int n = argc > 1 ? atoi(argv[1]) : 1500;
  int chunks = (n + CHUNK - 1) / CHUNK, wrong = 0;
  unsigned char *sym = (unsigned char *)malloc(n);
  unsigned *off = (unsigned *)malloc(n * sizeof(unsigned)), *bits = (unsigned *)malloc(chunks * sizeof(unsigned));
  for (int i = 0; i < n; i++)
    sym[i] = (unsigned char)((i * i + 3 * i) % 16);

  unsigned char *dSym;
  unsigned *dOff, *dBits;
  cudaMalloc((void **)&dSym, n);
  cudaMalloc((void **)&dOff, n * sizeof(unsigned));
  cudaMalloc((void **)&dBits, chunks * sizeof(unsigned));
  cudaMemcpy(dSym, sym, n, cudaMemcpyHostToDevice);
  bitOffsets<<<(chunks + WARPS - 1) / WARPS, WARPS * 32>>>(dSym, n, dOff, dBits);
  cudaMemcpy(off, dOff, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  cudaMemcpy(bits, dBits, chunks * sizeof(unsigned), cudaMemcpyDeviceToHost);
  for (int c = 0; c < chunks; c++) {
    unsigned pos = 0;
    for (int i = c * CHUNK; i < n && i < (c + 1) * CHUNK; i++) {
      wrong += off[i] != pos;
      pos += lens[sym[i]];
    }
    wrong += bits[c] != pos;
  }
  cudaFree(dSym);
  cudaFree(dOff);
  cudaFree(dBits);
  free(sym);
  free(off);
  free(bits);
  printf("bit offsets: %d wrong\n", wrong);
  return 0;
}
