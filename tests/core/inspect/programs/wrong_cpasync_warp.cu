// finding: race-warp 29 25
// Each lane waits for its own asynchronous copies only; without __syncwarp the copies of the other lanes may not have landed.
#include <cstdio>
#include <vector>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int ROW = 128, WARPS = 3;

template <int N> struct WarpStage {
  int4 data[N / 4];

  __device__ void fetch(const int *row) {
    const int4 *src = reinterpret_cast<const int4 *>(row);
    for (int k = threadIdx.x % 32; k < N / 4; k += 32)
      __pipeline_memcpy_async(&data[k], &src[k], sizeof(int4));
    __pipeline_commit();
  }
  __device__ int operator[](int k) const {
    return reinterpret_cast<const int *>(data)[k];
  }
};

__global__ void reverseRows(const int *in, int *out, int rows) {
  __shared__ WarpStage<ROW> stage[WARPS];
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  WarpStage<ROW> &mine = stage[w];
  for (int r = blockIdx.x * WARPS + w; r < rows; r += gridDim.x * WARPS) {
    mine.fetch(in + r * ROW);
    __pipeline_wait_prior(0);
    for (int k = lane; k < ROW; k += 32)
      out[r * ROW + k] = mine[ROW - 1 - k];
    __syncwarp(); // before the stage is filled again
  }
}

int main() {
  const int rows = 26, n = rows * ROW;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = i * 3 + 1;
  int *in, *out;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  reverseRows<<<4, 32 * WARPS>>>(in, out, rows);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < ROW; k++)
      bad += got[r * ROW + k] != h[r * ROW + ROW - 1 - k];
  CK(cudaFree(in));
  CK(cudaFree(out));
  printf("cpasync_warp: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
