// finding: race-host 12 18
// The preparing thread is joined only after the
// kernel that reads its batch was launched.
#include <cstdio>
#include <thread>
#include <cuda_runtime.h>

constexpr int N = 4096, BATCHES = 7;

static void prepare(int *batch, int number) {
  for (int i = 0; i < N; ++i)
    batch[i] = (i * number) % 101;
}

__global__ void total(const int *batch, unsigned long long *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N)
    atomicAdd(sum, (unsigned long long)batch[i]);
}

int main() {
  int *batch[2];
  unsigned long long *sums;
  cudaMallocManaged(&batch[0], N * sizeof(int));
  cudaMallocManaged(&batch[1], N * sizeof(int));
  cudaMallocManaged(&sums, BATCHES * sizeof(*sums));
  for (int b = 0; b < BATCHES; ++b)
    sums[b] = 0;
  cudaStream_t s;
  cudaStreamCreate(&s);

  std::thread worker(prepare, batch[0], 1);
  for (int b = 0; b < BATCHES; ++b) {
    int cur = b % 2;
    total<<<N / 128, 128, 0, s>>>(batch[cur], sums + b);
    worker.join();
    worker = std::thread(prepare, batch[1 - cur], b + 2);
    cudaStreamSynchronize(s);
  }
  worker.join();

  int bad = 0;
  for (int b = 0; b < BATCHES; ++b) {
    unsigned long long want = 0;
    for (int i = 0; i < N; ++i)
      want += (i * (b + 1)) % 101;
    bad += sums[b] != want;
  }
  printf("prepare thread: %d wrong sums\n", bad);
  cudaStreamDestroy(s);
  cudaFree(sums);
  cudaFree(batch[0]);
  cudaFree(batch[1]);
  return bad != 0;
}
