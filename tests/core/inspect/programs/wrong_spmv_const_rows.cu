// finding: bounds-array 26
// The row starts have no entry after the last row, whose end is read all the same.
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

const int ROWS = 160, COLS = 64;
__constant__ int rowStart[ROWS];
__constant__ int entries;

struct Entry {
  short col;
  short val;
};

__device__ inline int rowEnd(int row) {
  return rowStart[row + 1];
}

__global__ void spmv(const Entry *m, const int *x, int *y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, sub = threadIdx.x % 8;
  int s = 0;
  if (row < ROWS) {
    for (int k = rowStart[row] + sub, e = rowEnd(row); k < e && k < entries; k += 8)
      s += m[k].val * x[m[k].col];
  }
  for (int o = 4; o; o >>= 1)
    s += __shfl_down_sync(~0u, s, o, 8);
  if (row < ROWS && sub == 0)
    y[row] = s;
}

int main() {
  std::vector<int> start, x(COLS), want(ROWS, 0), got(ROWS);
  std::vector<Entry> m;
  for (int c = 0; c < COLS; c++)
    x[c] = 5 * c - 100;
  for (int r = 0; r < ROWS; r++) {
    start.push_back(m.size());
    for (int k = 0; k < 1 + (r * 5) % 12; k++) {
      Entry e = {(short)((r * 3 + k * 5) % COLS), (short)(r - k * 9)};
      m.push_back(e);
      want[r] += e.val * x[e.col];
    }
  }
  int nnz = m.size(), *dx, *dy;
  Entry *dm;
  CK(cudaMalloc(&dm, nnz * sizeof(Entry)));
  CK(cudaMalloc(&dx, COLS * sizeof(int)));
  CK(cudaMalloc(&dy, ROWS * sizeof(int)));
  CK(cudaMemcpy(dm, m.data(), nnz * sizeof(Entry), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dx, x.data(), COLS * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemcpyToSymbol(rowStart, start.data(), ROWS * sizeof(int)));
  CK(cudaMemcpyToSymbol(entries, &nnz, sizeof nnz));
  spmv<<<(ROWS * 8 + 95) / 96, 96>>>(dm, dx, dy);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), dy, ROWS * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int r = 0; r < ROWS; r++)
    bad += got[r] != want[r];
  CK(cudaFree(dm));
  CK(cudaFree(dx));
  CK(cudaFree(dy));
  printf("spmv_const_rows: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
