// Pairs of blocks with a ring of four slots between them: counters by one thread each, data by the whole block.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int T = 32 * 2, SLOTS = 4, PAIRS = 3;

struct Ring {
  volatile int head; // items written so far, by the producer
  volatile int tail; // items read so far, by the consumer
  int slot[SLOTS][T];
};

__device__ void produce(Ring *r, int pair, int items) {
  for (int k = 0; k < items; k++) {
    if (threadIdx.x == 0) {
      while (k - r->tail >= SLOTS)
        __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    r->slot[k % SLOTS][threadIdx.x] = k * 1000 + pair * 100 + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      r->head = k + 1;
    }
  }
}

__device__ void consume(Ring *r, int *out, int items) {
  int acc = 0;
  for (int k = 0; k < items; k++) {
    if (threadIdx.x == 0) {
      while (r->head <= k)
        __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    acc += r->slot[k % SLOTS][T - 1 - threadIdx.x] * (k + 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      r->tail = k + 1;
    }
  }
  out[threadIdx.x] = acc;
}

__global__ void pipe(Ring *rings, int *out, int items) {
  int pair = blockIdx.x / 2;
  if (blockIdx.x % 2 == 0)
    produce(&rings[pair], pair, items);
  else
    consume(&rings[pair], out + pair * T, items);
}

int main() {
  int items = 11;
  Ring *rings;
  int *out;
  CK(cudaMalloc(&rings, PAIRS * sizeof(Ring)));
  CK(cudaMalloc(&out, PAIRS * T * sizeof(int)));
  for (int p = 0; p < PAIRS; p++)
    CK(cudaMemset(rings + p, 0, 2 * sizeof(int))); // the counters, not the slots
  void *args[] = {&rings, &out, &items};
  CK(cudaLaunchCooperativeKernel((const void *)pipe, dim3(2 * PAIRS), dim3(T), args, 0, nullptr));
  std::vector<int> got(PAIRS * T);
  CK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int p = 0; p < PAIRS; p++)
    for (int t = 0; t < T; t++) {
      int w = 0;
      for (int k = 0; k < items; k++)
        w += (k * 1000 + p * 100 + T - 1 - t) * (k + 1);
      bad += w != got[p * T + t];
    }
  CK(cudaFree(rings));
  CK(cudaFree(out));
  printf("ring_between_blocks: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
