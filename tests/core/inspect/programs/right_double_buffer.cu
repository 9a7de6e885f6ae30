// The host consumes and refills a managed buffer without a device-wide wait while the other buffer's kernel runs; it
// waits for the event recorded in that buffer's own stream after its kernel.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void work(int *buf, int n, int batch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    buf[i] = buf[i] * 2 + batch;
}

static long long consume(const int *buf, int n) {
  long long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += buf[i];
  return sum;
}

int main() {
  const int n = 4096, batches = 9;
  int *buf[2];
  cudaStream_t st[2];
  cudaEvent_t done[2];
  for (int k = 0; k < 2; ++k) {
    cudaMallocManaged(&buf[k], n * sizeof(int));
    cudaStreamCreateWithFlags(&st[k], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming);
  }

  long long total = 0;
  for (int b = 0; b < batches; ++b) {
    int slot = b & 1;
    if (b >= 2) {
      cudaEventSynchronize(done[slot]);
      total += consume(buf[slot], n);
    }
    for (int i = 0; i < n; ++i)
      buf[slot][i] = i + b;
    work<<<n / 256, 256, 0, st[slot]>>>(buf[slot], n, b);
    cudaEventRecord(done[slot], st[slot]);
  }
  for (int k = 0; k < 2; ++k) {
    cudaStreamSynchronize(st[k]);
    total += consume(buf[k], n);
  }

  long long want = 0;
  for (int b = 0; b < batches; ++b)
    for (int i = 0; i < n; ++i)
      want += 2 * (i + b) + b;
  printf("double buffer: %lld, expected %lld\n", total, want);
  for (int k = 0; k < 2; ++k) {
    cudaEventDestroy(done[k]);
    cudaStreamDestroy(st[k]);
    cudaFree(buf[k]);
  }
  return total != want;
}
