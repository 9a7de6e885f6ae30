// finding: misaligned 17
// A row has 30 floats (120 bytes), so the rows with an odd number do not start on 16 bytes.
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

template <class V> __device__ inline V loadAs(const float *p) {
  return *reinterpret_cast<const V *>(p);
}

__device__ inline float add(float4 v) {
  return v.x + v.y + v.z + v.w;
}
__device__ inline float add(float2 v) {
  return v.x + v.y;
}

// a warp per row: float4 as far as it goes, float2 for what is left
__global__ void rowSums(const float *m, float *sums, int rows, int cols) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  const float *p = m + row * cols;
  float s = 0;
  int k = 4 * lane;
  if (k + 4 <= cols)
    s = add(loadAs<float4>(p + k));
  else if (k + 2 <= cols)
    s = add(loadAs<float2>(p + k));
  for (int o = 16; o; o >>= 1)
    s += __shfl_down_sync(~0u, s, o);
  if (lane == 0)
    sums[row] = s;
}

int main() {
  const int rows = 50, cols = 30;
  std::vector<float> h(rows * cols), got(rows);
  for (int i = 0; i < rows * cols; i++)
    h[i] = (float)((i * 13) % 64);
  float *m, *sums;
  CK(cudaMalloc(&m, rows * cols * sizeof(float)));
  CK(cudaMalloc(&sums, rows * sizeof(float)));
  CK(cudaMemcpy(m, h.data(), rows * cols * sizeof(float), cudaMemcpyHostToDevice));
  rowSums<<<(rows + 3) / 4, 128>>>(m, sums, rows, cols);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), sums, rows * sizeof(float), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int r = 0; r < rows; r++) {
    float w = 0;
    for (int c = 0; c < cols; c++)
      w += h[r * cols + c];
    bad += got[r] != w;
  }
  CK(cudaFree(m));
  CK(cudaFree(sums));
  printf("float4_odd_rows: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
