// Linear systems modulo a prime, one per block, by Gauss-Jordan in shared memory. The pivot row
// is looked for by atomicMin, and every shared scalar is read before the barrier behind which
// the next round writes it again.
#include <cstdio>
#include <cuda_runtime.h>

#define N 16
#define P 10007

__device__ int power(int b, int e) {
  int r = 1;
  for (b %= P; e; e >>= 1) {
    if (e & 1)
      r = r * b % P;
    b = b * b % P;
  }
  return r;
}

__global__ void solve(const int *sys, int *sol) {
  __shared__ int a[N][N + 1];
  __shared__ int pivot;
  int r = threadIdx.y, c = threadIdx.x; // N rows, N + 1 columns
  a[r][c] = sys[(blockIdx.x * N + r) * (N + 1) + c];
  for (int k = 0; k < N; k++) {
    if (r == 0 && c == 0)
      pivot = N;
    __syncthreads();
    if (c == k && r >= k && a[r][k] != 0)
      atomicMin(&pivot, r);
    __syncthreads();
    int p = pivot;
    if (p == N)
      break; // singular: the same for all threads
    int top = a[p][c], old = a[k][c];
    int inv = power(a[p][k], P - 2);
    __syncthreads();
    if (r == 0) {
      a[p][c] = old;
      a[k][c] = top * inv % P;
    } // in this order, as p may be k
    __syncthreads();
    int f = a[r][k], u = a[k][c];
    __syncthreads();
    if (r != k)
      a[r][c] = ((a[r][c] - f * u) % P + P) % P;
  }
  if (c == N)
    sol[blockIdx.x * N + r] = a[r][N]; // its own element
}

int main() {
  const int blocks = 3;
  static int h[blocks][N][N + 1];
  int x[blocks][N], g[blocks][N], wrong = 0;
  unsigned s = 7;
  for (int b = 0; b < blocks; b++) {
    for (int i = 0; i < N; i++)
      x[b][i] = (i * 531 + b * 77) % P;
    for (int r = 0; r < N; r++) {
      long long sum = 0;
      for (int c = 0; c < N; c++) {
        s = s * 1103515245u + 12345u;
        h[b][r][c] = (int)((s >> 8) % P);
        if (b == 1 && c <= r + 1 && r < 8 && c < 4)
          h[b][r][c] = c == (r + 1) % 4 ? 1 + r : 0;
        sum += (long long)h[b][r][c] * x[b][c];
      }
      h[b][r][N] = (int)(sum % P);
    }
  }
  int *da, *ds;
  cudaMalloc(&da, sizeof h);
  cudaMalloc(&ds, sizeof g);
  cudaMemcpy(da, h, sizeof h, cudaMemcpyHostToDevice);
  solve<<<blocks, dim3(N + 1, N)>>>(da, ds);
  cudaMemcpy(g, ds, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(da);
  cudaFree(ds);
  for (int b = 0; b < blocks; b++)
    for (int i = 0; i < N; i++)
      wrong += g[b][i] != x[b][i];
  printf("gauss_mod_p: %d wrong\n", wrong);
  return wrong != 0;
}
