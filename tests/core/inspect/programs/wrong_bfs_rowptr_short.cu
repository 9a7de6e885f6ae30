// finding: bounds-global 14
// The row pointer array is allocated for n entries although the last vertex reads entry n.
// Level-by-level BFS over a CSR graph, topology-driven; several threads write the same level and the same flag (benign).
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

using std::vector;

__global__ void bfs_kernel(const int *row, const int *col, const int *level, int *next, int n, int depth, bool *more) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n && level[v] == depth) {
    int begin = row[v];
    int end = row[v + 1];
    for (int e = begin; e < end; ++e) {
      if (level[col[e]] == -1) {
        next[col[e]] = depth + 1;
        *more = true;
      }
    }
  }
}

template <typename T> T *toDevice(const T *src, size_t count) {
  T *d = nullptr;
  cudaMalloc(&d, count * sizeof(T));
  cudaMemcpy(d, src, count * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  // binary tree plus ring
  const int n = 384;
  vector<int> row(1, 0), col;
  for (int v = 0; v < n; v++) {
    if (2 * v + 1 < n)
      col.push_back(2 * v + 1);
    if (2 * v + 2 < n)
      col.push_back(2 * v + 2);
    if (v)
      col.push_back((v - 1) / 2);
    col.push_back((v + 1) % n);
    row.push_back((int)col.size());
  }
  vector<int> ref(n, -1), frontier(1, 0);
  ref[0] = 0;
  for (size_t h = 0; h < frontier.size(); h++)
    for (int e = row[frontier[h]]; e < row[frontier[h] + 1]; e++)
      if (ref[col[e]] < 0) {
        ref[col[e]] = ref[frontier[h]] + 1;
        frontier.push_back(col[e]);
      }

  vector<int> level(n, -1);
  level[0] = 0;
  int *dRow = toDevice(row.data(), n);
  int *dCol = toDevice(col.data(), col.size());
  int *dLevel = toDevice(level.data(), level.size());
  int *dNext = toDevice(level.data(), level.size());
  bool *dMore, more = true;
  cudaMalloc(&dMore, sizeof(bool));
  for (int depth = 0; more && depth < n; ++depth) {
    more = false;
    cudaMemcpy(dMore, &more, sizeof(bool), cudaMemcpyHostToDevice);
    bfs_kernel<<<(n + 127) / 128, 128>>>(dRow, dCol, dLevel, dNext, n, depth, dMore);
    cudaMemcpy(dLevel, dNext, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaMemcpy(&more, dMore, sizeof(bool), cudaMemcpyDeviceToHost);
  }
  cudaMemcpy(level.data(), dLevel, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(dRow);
  cudaFree(dCol);
  cudaFree(dLevel);
  cudaFree(dNext);
  cudaFree(dMore);
  std::cout << "BFS levels " << (level == ref ? "agree" : "DISAGREE") << std::endl;
  return 0;
}
