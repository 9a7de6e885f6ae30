// The host reads the plain payload of managed mailboxes while the kernel may still run; the system-scope release
// store after the block barrier and the host's acquire loads order it.
#include <cstdio>
#include <cuda/atomic>
#include <cuda_runtime.h>

constexpr int BOXES = 6, WORDS = 128;

struct Mailbox {
  int payload[WORDS];
  int ready;
};

using SystemRef = cuda::atomic_ref<int, cuda::thread_scope_system>;

__global__ void send(Mailbox *boxes) {
  Mailbox &box = boxes[blockIdx.x];
  int word = int(threadIdx.x) * 3 + int(blockIdx.x) * 1000;
  box.payload[threadIdx.x] = word;
  __syncthreads();
  if (threadIdx.x == 0) {
    SystemRef ready(box.ready);
    ready.store(1, cuda::memory_order_release);
  }
}

int main() {
  Mailbox *boxes;
  if (cudaMallocManaged(&boxes, BOXES * sizeof(Mailbox)) != cudaSuccess)
    return 2;
  for (int b = 0; b < BOXES; ++b) {
    for (int w = 0; w < WORDS; ++w)
      boxes[b].payload[w] = -1;
    boxes[b].ready = 0;
  }

  send<<<BOXES, WORDS>>>(boxes);

  int bad = 0;
  for (int b = BOXES - 1; b >= 0; --b) {
    SystemRef ready(boxes[b].ready);
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    for (int w = 0; w < WORDS; ++w)
      bad += boxes[b].payload[w] != w * 3 + b * 1000;
  }
  cudaDeviceSynchronize();
  printf("mailboxes: %d wrong words\n", bad);
  cudaFree(boxes);
  return bad != 0;
}
