// Cooperative groups and launches; blocks that wait for each other without one.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void sum(const int *x, int *out, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  int v = 0;
  for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size())
    v += x[i];
  v = cg::reduce(tile, v, cg::plus<int>());
  if (tile.thread_rank() == 0)
    atomicAdd(out, v);
  grid.sync();
  if (grid.thread_rank() == grid.size() - 1)
    out[1] = 2 * out[0];
}
__global__ void tiles(int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  out[threadIdx.x] =
      100 * (int)tile.meta_group_rank() + cg::inclusive_scan(tile, 1) + 10 * tile.shfl((int)threadIdx.x, 7) * 0;
  if (threadIdx.x % 3 == 0) {
    cg::coalesced_group some = cg::coalesced_threads();
    out[threadIdx.x] += 10000 * (int)some.size();
  }
}
template <int N> __global__ void wide(int *out) {
  __shared__ cg::block_tile_memory<256> room;
  cg::thread_block block = cg::this_thread_block(room);
  auto tile = cg::tiled_partition<N>(block);
  const int sum = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>()), third = tile.shfl((int)threadIdx.x, 3);
  cg::sync(tile);
  out[threadIdx.x] = sum + 100000 * third + 100000000 * tile.any(threadIdx.x == 200);
}
__global__ void chain(int *flags) { // the last block goes first
  if (threadIdx.x == 0) {
    const int b = (int)(gridDim.x - 1 - blockIdx.x);
    while (atomicAdd(&flags[b], 0) == 0) {
    }
    __threadfence();
    atomicExch(&flags[b + 1], 1);
  }
}
__global__ void no_grid(int *x) {
  cg::this_grid().sync();
  x[0] = 1;
}

int main() {
  int n = 1000, *x, *out, failed = 0;
  cudaMallocManaged(&x, n * sizeof *x);
  cudaMallocManaged(&out, 64 * sizeof *out);
  for (int i = 0; i < n; i++)
    x[i] = i;
  for (int i = 0; i < 64; i++)
    out[i] = 0;
  void *arguments[] = {&x, &out, &n};
  failed |= cudaLaunchCooperativeKernel((void *)sum, 4, 64, arguments) != cudaSuccess;
  failed |= cudaDeviceSynchronize() != cudaSuccess || out[0] != 499500 || out[1] != 999000;
  printf("grid sum %d, doubled %d\n", out[0], out[1]);
  failed |= cudaLaunchCooperativeKernel((void *)sum, 100000, 64, arguments) != cudaErrorCooperativeLaunchTooLarge;
  int *far;
  cudaMallocManaged(&far, 256 * sizeof *far);
  wide<64><<<3, 256>>>(far);
  failed |= cudaDeviceSynchronize() != cudaSuccess || far[0] != 302016 || far[255] != 119514304;
  printf("tiles of 64: %d %d\n", far[0], far[255]);
  wide<128><<<1, 160>>>(far);
  failed |= cudaDeviceSynchronize() != cudaSuccess || far[0] != 308128 || far[159] != 13104592;
  printf("tiles of 128: %d %d\n", far[0], far[159]);
  tiles<<<1, 32>>>(out);
  failed |= cudaDeviceSynchronize() != cudaSuccess || out[1] != 2 || out[9] != 110102 || out[31] != 308;
  printf("tiles %d %d %d\n", out[1], out[9], out[31]);
  for (int i = 0; i < 64; i++)
    out[i] = i == 0;
  chain<<<8, 256>>>(out);
  failed |= cudaDeviceSynchronize() != cudaSuccess || out[8] != 1;
  printf("chain of blocks: %d\n", out[8]);
  no_grid<<<2, 32>>>(x);
  failed |= cudaDeviceSynchronize() == cudaSuccess;
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
