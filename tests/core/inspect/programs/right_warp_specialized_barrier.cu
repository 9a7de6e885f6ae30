// Warp specialization with cuda::barrier: one producer warp fills a two-slot ring, three consumer warps use it.
#include <cstdio>
#include <vector>
#include <cuda/barrier>
#include <cooperative_groups.h>

#pragma nv_diag_suppress static_var_with_dynamic_init

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cg = cooperative_groups;

constexpr int SLOT = 96;     // elements per slot
constexpr int THREADS = 128; // 32 producers, 96 consumers

__device__ void produce(Barrier *ready, Barrier *filled, int (*ring)[SLOT], const int *in, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    const int s = r & 1;
    ready[s].arrive_and_wait();
    for (int i = threadIdx.x; i < SLOT; i += 32)
      ring[s][i] = in[r * SLOT + i];
    (void)filled[s].arrive();
  }
}

__device__ void consume(Barrier *ready, Barrier *filled, int (*ring)[SLOT], int *out, int rounds) {
  const int me = threadIdx.x - 32;
  (void)ready[0].arrive(); // both slots start out empty
  (void)ready[1].arrive();
  for (int r = 0; r < rounds; ++r) {
    const int s = r & 1;
    filled[s].arrive_and_wait();
    // each output mixes elements loaded by different producer lanes
    out[r * SLOT + me] = ring[s][me] + ring[s][(me + 1) % SLOT] + ring[s][SLOT - 1 - me];
    (void)ready[s].arrive();
  }
}

__global__ void mix(const int *in, int *out, int rounds) {
  __shared__ Barrier bars[4]; // ready[0..1], filled[0..1]
  __shared__ int ring[2][SLOT];
  auto block = cg::this_thread_block();
  if (block.thread_rank() < 4)
    init(bars + block.thread_rank(), block.size());
  block.sync();
  in += blockIdx.x * rounds * SLOT;
  out += blockIdx.x * rounds * SLOT;
  if (block.thread_rank() < 32)
    produce(bars, bars + 2, ring, in, rounds);
  else
    consume(bars, bars + 2, ring, out, rounds);
}

int main() {
  const int blocks = 3, rounds = 7, n = blocks * rounds * SLOT;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 2654435) % 1000;
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  mix<<<blocks, THREADS>>>(in, out, rounds);
  cudaMemcpy(r.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int c = 0; c < blocks * rounds; c++)
    for (int i = 0; i < SLOT; i++) {
      const int *p = &h[c * SLOT];
      wrong += r[c * SLOT + i] != p[i] + p[(i + 1) % SLOT] + p[SLOT - 1 - i];
    }
  cudaFree(in);
  cudaFree(out);
  printf("producer/consumer: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
