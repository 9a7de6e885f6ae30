// The host refills a pinned slot while three streams are busy, and waits only for the copy of three batches ago; the
// slot's kernel reads the device copy, not the pinned slot.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

constexpr int SLOTS = 3, BATCHES = 12, N = 2048;

__global__ void digest(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N)
    out[i] = in[i] ^ (in[i] << 1);
}

static int sample(int batch, int i) {
  return batch * 4099 + i * 3;
}

int main() {
  int *pinned[SLOTS], *dev[SLOTS], *out;
  cudaStream_t st[SLOTS];
  for (int k = 0; k < SLOTS; ++k) {
    cudaHostAlloc(&pinned[k], N * sizeof(int), cudaHostAllocDefault);
    cudaMalloc(&dev[k], N * sizeof(int));
    cudaStreamCreateWithFlags(&st[k], cudaStreamNonBlocking);
  }
  cudaMallocManaged(&out, BATCHES * N * sizeof(int));
  std::vector<cudaEvent_t> copied(BATCHES);
  for (auto &e : copied)
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);

  for (int b = 0; b < BATCHES; ++b) {
    int slot = b % SLOTS;
    int last = b - SLOTS;
    if (last >= 0)
      cudaEventSynchronize(copied[last]);
    for (int i = 0; i < N; ++i)
      pinned[slot][i] = sample(b, i);
    cudaMemcpyAsync(dev[slot], pinned[slot], N * sizeof(int), cudaMemcpyHostToDevice, st[slot]);
    cudaEventRecord(copied[b], st[slot]);
    digest<<<N / 256, 256, 0, st[slot]>>>(dev[slot], out + b * N);
  }
  for (int k = 0; k < SLOTS; ++k)
    cudaStreamSynchronize(st[k]);

  int bad = 0;
  for (int b = 0; b < BATCHES; ++b)
    for (int i = 0; i < N; ++i) {
      int v = sample(b, i);
      bad += out[b * N + i] != (v ^ (v << 1));
    }
  printf("triple buffer: %d wrong\n", bad);
  for (auto &e : copied)
    cudaEventDestroy(e);
  for (int k = 0; k < SLOTS; ++k) {
    cudaStreamDestroy(st[k]);
    cudaFree(dev[k]);
    cudaFreeHost(pinned[k]);
  }
  cudaFree(out);
  return bad != 0;
}
