// cooperative_groups::memcpy_async by the block for a table and by each warp's tile for its own row; waits by group.
#include <cstdio>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int ROW = 96, WARPS = 4, TABLE = 50;

__global__ void translate(const int *rows, const int *table, int *out, int n) {
  extern __shared__ __align__(16) int mem[];
  int *lut = mem, *all = mem + 52; // 52: the rows start on 16 bytes
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int *row = all + warp.meta_group_rank() * ROW;
  cg::memcpy_async(block, lut, table, TABLE * sizeof(int));
  cg::wait(block); // waits and syncs the block
  for (int r = blockIdx.x * WARPS + warp.meta_group_rank(); r < n; r += gridDim.x * WARPS) {
    cg::memcpy_async(warp, row, rows + (size_t)r * ROW, ROW * sizeof(int));
    cg::wait(warp);
    int acc = 0;
    for (int k = warp.thread_rank(); k < ROW; k += 32)
      acc += lut[row[ROW - 1 - k] % TABLE] * (k + 1);
    for (int o = 16; o; o /= 2)
      acc += warp.shfl_down(acc, o);
    if (warp.thread_rank() == 0)
      out[r] = acc;
    warp.sync(); // before the row is overwritten
  }
}

int main() {
  const int n = 37;
  std::vector<int> rows(n * ROW), table(TABLE), got(n);
  for (int i = 0; i < n * ROW; i++)
    rows[i] = (i * 29) % 1000;
  for (int i = 0; i < TABLE; i++)
    table[i] = (i * i) % 77;
  int *dr, *dt, *out;
  CK(cudaMalloc(&dr, rows.size() * sizeof(int)));
  CK(cudaMalloc(&dt, TABLE * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMemcpy(dr, rows.data(), rows.size() * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dt, table.data(), TABLE * sizeof(int), cudaMemcpyHostToDevice));
  translate<<<3, 32 * WARPS, (52 + WARPS * ROW) * sizeof(int)>>>(dr, dt, out, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int r = 0; r < n; r++) {
    int w = 0;
    for (int k = 0; k < ROW; k++)
      w += table[rows[r * ROW + ROW - 1 - k] % TABLE] * (k + 1);
    bad += w != got[r];
  }
  CK(cudaFree(dr));
  CK(cudaFree(dt));
  CK(cudaFree(out));
  printf("cg_memcpy_async: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
