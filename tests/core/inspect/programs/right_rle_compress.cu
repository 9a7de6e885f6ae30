// Run-length encoding: run-head flags, single-pass scan with decoupled look-back over blocks, scatter.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>

constexpr int BLOCK = 128;

// state word: high bits 00 = not ready, 01 = aggregate, 10 = inclusive prefix
constexpr unsigned AGG = 1u << 30, PRE = 2u << 30, VAL = (1u << 30) - 1;

__global__ void encode(const uint8_t *in, int n, unsigned *state, unsigned *ticket, uint8_t *symbols, int *starts,
                       int *numRuns) {
  __shared__ int s[BLOCK];
  __shared__ unsigned tileId, before;
  if (threadIdx.x == 0)
    tileId = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned tile = tileId;
  const int i = tile * BLOCK + threadIdx.x;
  const bool head = i < n && (i == 0 || in[i] != in[i - 1]);

  s[threadIdx.x] = head;
  __syncthreads();
  for (int d = 1; d < BLOCK; d *= 2) {
    int v = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += v;
    __syncthreads();
  }

  if (threadIdx.x == 0) {
    unsigned sum = s[BLOCK - 1], acc = 0;
    if (tile > 0) {
      atomicExch(&state[tile], AGG | sum);
      for (int t = (int)tile - 1; t >= 0;) {
        unsigned w = atomicAdd(&state[t], 0u);
        if (w & PRE) {
          acc += w & VAL;
          break;
        }
        if (w & AGG) {
          acc += w & VAL;
          --t;
        }
      }
    }
    atomicExch(&state[tile], PRE | (acc + sum));
    before = acc;
    if (tile == gridDim.x - 1)
      *numRuns = acc + sum;
  }
  __syncthreads();

  if (head) {
    int r = before + s[threadIdx.x] - 1;
    symbols[r] = in[i];
    starts[r] = i;
  }
}

__global__ void decode(const uint8_t *symbols, const int *starts, const int *numRuns, int n, uint8_t *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int lo = 0, hi = *numRuns - 1; // last run that starts at or before i
  while (lo < hi) {
    int mid = (lo + hi + 1) / 2;
    if (starts[mid] <= i)
      lo = mid;
    else
      hi = mid - 1;
  }
  out[i] = symbols[lo];
}

int main() {
  const int n = 3333;
  std::vector<uint8_t> h(n), back(n);
  int runs = 0;
  for (int i = 0; i < n; i++) {
    h[i] = (uint8_t)((i / (1 + i % 11 % 3)) / 7);
    runs += i == 0 || h[i] != h[i - 1];
  }
  const int blocks = (n + BLOCK - 1) / BLOCK;
  uint8_t *in, *sym, *out;
  int *starts, *numRuns;
  unsigned *state;
  cudaMalloc(&in, n);
  cudaMalloc(&sym, n);
  cudaMalloc(&out, n);
  cudaMalloc(&starts, n * sizeof(int));
  cudaMalloc(&numRuns, sizeof(int));
  cudaMalloc(&state, (blocks + 1) * sizeof(unsigned));
  cudaMemset(state, 0, (blocks + 1) * sizeof(unsigned)); // the last word is the ticket
  cudaMemcpy(in, h.data(), n, cudaMemcpyHostToDevice);
  encode<<<blocks, BLOCK>>>(in, n, state, state + blocks, sym, starts, numRuns);
  decode<<<blocks, BLOCK>>>(sym, starts, numRuns, n, out);
  int got = 0;
  cudaMemcpy(&got, numRuns, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(back.data(), out, n, cudaMemcpyDeviceToHost);
  for (void *p : {(void *)in, (void *)sym, (void *)out, (void *)starts, (void *)numRuns, (void *)state})
    cudaFree(p);
  std::printf("rle: %d runs of %d, round trip %s\n", got, runs, back == h ? "ok" : "BROKEN");
  return 0;
}
