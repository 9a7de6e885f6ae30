// Floyd-Warshall of small graphs in shared memory, in place. In round k row k and column k are
// read by all and written by nobody, since d[k][k] is 0 and only improvements are stored; so one
// barrier per round is enough.
#include <cstdio>
#include <cuda_runtime.h>

#define N 22
#define INF 1000000

__global__ void floyd(int *dist, int *via) {
  __shared__ int d[N][N + 1];
  __shared__ signed char mid[N][N];
  int i = threadIdx.y, j = threadIdx.x;
  int *g = dist + blockIdx.x * N * N;
  d[i][j] = g[i * N + j];
  mid[i][j] = -1;
  __syncthreads();
  for (int k = 0; k < N; k++) {
    int c = d[i][k] + d[k][j];
    if (c < d[i][j]) {
      d[i][j] = c;
      mid[i][j] = (signed char)k;
    }
    __syncthreads();
  }
  g[i * N + j] = d[i][j];
  via[blockIdx.x * N * N + i * N + j] = mid[i][j];
}

int main() {
  const int graphs = 2;
  static int h[graphs][N][N], g[graphs][N][N], v[graphs][N][N];
  for (int b = 0; b < graphs; b++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        int e = (i * 31 + j * 17 + b * 5) % 23;
        h[b][i][j] = i == j ? 0 : (e < 5 ? e + 1 : INF);
      }
  int *dd, *dv;
  cudaMalloc(&dd, sizeof h);
  cudaMalloc(&dv, sizeof v);
  cudaMemcpy(dd, h, sizeof h, cudaMemcpyHostToDevice);
  floyd<<<graphs, dim3(N, N)>>>(dd, dv);
  cudaMemcpy(g, dd, sizeof g, cudaMemcpyDeviceToHost);
  cudaMemcpy(v, dv, sizeof v, cudaMemcpyDeviceToHost);
  cudaFree(dd);
  cudaFree(dv);
  int wrong = 0;
  for (int b = 0; b < graphs; b++) {
    for (int k = 0; k < N; k++)
      for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
          if (h[b][i][k] + h[b][k][j] < h[b][i][j])
            h[b][i][j] = h[b][i][k] + h[b][k][j];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        wrong += h[b][i][j] != g[b][i][j];
        int m = v[b][i][j];
        if (m >= 0)
          wrong += g[b][i][m] + g[b][m][j] != g[b][i][j];
      }
  }
  printf("floyd_in_place: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
