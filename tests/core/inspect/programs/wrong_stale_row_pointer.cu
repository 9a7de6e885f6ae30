// finding: freed 50
// A row is moved to a larger buffer and the old one freed, but the table on the device still holds the old pointer.
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

struct Row {
  int *data;
  int n;
};

struct Rows {
  std::vector<Row> host;
  Row *device = nullptr;

  cudaError_t upload() {
    return cudaMemcpy(device, host.data(), host.size() * sizeof(Row), cudaMemcpyHostToDevice);
  }

  cudaError_t grow(int r, int more) {
    Row &row = host[r];
    int *fresh;
    cudaError_t e = cudaMalloc(&fresh, (row.n + more) * sizeof(int));
    if (e)
      return e;
    cudaMemcpy(fresh, row.data, row.n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaMemset(fresh + row.n, 0, more * sizeof(int));
    e = cudaFree(row.data);
    row.data = fresh;
    row.n += more;
    if (e || r == (int)host.size() - 1)
      return e;
    return cudaMemcpy(device + r, &row, sizeof(Row), cudaMemcpyHostToDevice);
  }
};

__global__ void increment(Row *rows, int count) {
  for (int r = blockIdx.x; r < count; r += gridDim.x) {
    Row row = rows[r];
    for (int i = threadIdx.x; i < row.n; i += blockDim.x)
      row.data[i] += r + i;
  }
}

int main() {
  const int count = 7;
  Rows t;
  CK(cudaMalloc(&t.device, count * sizeof(Row)));
  for (int r = 0; r < count; r++) {
    Row row{nullptr, 20 + 5 * r};
    CK(cudaMalloc(&row.data, row.n * sizeof(int)));
    CK(cudaMemset(row.data, 0, row.n * sizeof(int)));
    t.host.push_back(row);
  }
  CK(t.upload());
  increment<<<3, 32>>>(t.device, count);
  for (int r = 0; r < count; r += 3)
    CK(t.grow(r, 10)); // the rows 0, 3 and 6
  increment<<<3, 32>>>(t.device, count);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  int bad = 0;
  for (int r = 0; r < count; r++) {
    std::vector<int> h(t.host[r].n);
    CK(cudaMemcpy(h.data(), t.host[r].data, h.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < (int)h.size(); i++)
      bad += h[i] != (r + i) * (i < 20 + 5 * r ? 2 : 1);
    CK(cudaFree(t.host[r].data));
  }
  CK(cudaFree(t.device));
  printf("stale_row_pointer: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
