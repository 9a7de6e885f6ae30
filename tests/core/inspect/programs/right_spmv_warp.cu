// Sparse matrix times vector, three ways: a warp per row, a thread per row, and COO with atomics; all must agree.
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

struct Csr {
  int rows;
  const int *start, *col;
  const long long *val;
};

__global__ void perWarp(Csr m, const long long *x, long long *y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= m.rows)
    return; // whole warps leave, no barrier in the kernel
  long long s = 0;
  for (int k = m.start[row] + lane; k < m.start[row + 1]; k += 32)
    s += m.val[k] * x[m.col[k]];
  for (int o = 16; o; o >>= 1)
    s += __shfl_down_sync(~0u, s, o);
  if (lane == 0)
    y[row] = s;
}

__global__ void perThread(Csr m, const long long *x, long long *y) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < m.rows; row += gridDim.x * blockDim.x) {
    long long s = 0;
    for (int k = m.start[row], e = m.start[row + 1]; k < e; k++)
      s += m.val[k] * x[m.col[k]];
    y[row] = s;
  }
}

__global__ void coo(const int *row, const int *col, const long long *val, int nnz, const long long *x, long long *y) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < nnz)
    atomicAdd((unsigned long long *)&y[row[k]], (unsigned long long)(val[k] * x[col[k]]));
}

template <class T> T *upload(const std::vector<T> &v) {
  T *d = nullptr;
  if (cudaMalloc(&d, v.size() * sizeof(T)) == cudaSuccess)
    cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  const int rows = 203, cols = 150;
  std::vector<int> start(1, 0), row, col;
  std::vector<long long> val, x(cols), want(rows, 0), got(rows);
  for (int c = 0; c < cols; c++)
    x[c] = c * 3 - 100;
  for (int r = 0; r < rows; r++) {
    int len = r % 50 == 7 ? cols : (r * 13) % 9; // some rows are empty, some full
    for (int k = 0; k < len; k++) {
      int c = len == cols ? k : (r + 17 * k) % cols;
      row.push_back(r);
      col.push_back(c);
      val.push_back(r - 2 * k);
      want[r] += val.back() * x[c];
    }
    start.push_back(col.size());
  }
  int nnz = col.size(), *ds = upload(start), *dr = upload(row), *dc = upload(col);
  long long *dv = upload(val), *dx = upload(x), *y;
  CK(cudaMalloc(&y, rows * sizeof(long long)));
  Csr m{rows, ds, dc, dv};
  int bad = 0;
  for (int way = 0; way < 3; way++) {
    if (way == 0)
      perWarp<<<(rows * 32 + 127) / 128, 128>>>(m, dx, y);
    if (way == 1)
      perThread<<<2, 32>>>(m, dx, y);
    if (way == 2) {
      CK(cudaMemset(y, 0, rows * sizeof(long long)));
      coo<<<(nnz + 127) / 128, 128>>>(dr, dc, dv, nnz, dx, y);
    }
    CK(cudaGetLastError());
    CK(cudaMemcpy(got.data(), y, rows * sizeof(long long), cudaMemcpyDeviceToHost));
    for (int r = 0; r < rows; r++)
      bad += got[r] != want[r];
  }
  CK(cudaFree(ds));
  CK(cudaFree(dr));
  CK(cudaFree(dc));
  CK(cudaFree(dv));
  CK(cudaFree(dx));
  CK(cudaFree(y));
  printf("spmv_warp: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
