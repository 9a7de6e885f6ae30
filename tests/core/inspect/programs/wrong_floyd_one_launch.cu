// finding: race-grid 25 23
// The loop over k is in the kernel, its barrier orders the threads of one block only, the blocks run through the rounds on
// their own.
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

const int N = 48, FAR = 1 << 20;

__global__ void shortest(int *d) {
  int x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
  for (int k = 0; k < N; k++) {
    int have = d[y * N + x];
    int via = d[y * N + k] + d[k * N + x];
    if (via < have)
      d[y * N + x] = via;
    __syncthreads();
  }
}

int main() {
  std::vector<int> h(N * N, FAR), w, got(N * N);
  for (int i = 0; i < N; i++) {
    h[i * N + i] = 0;
    for (int k = 1; k <= 4; k++)
      h[i * N + (i * (k + 1) + 3 * k) % N] = 1 + (i * k * 7) % 23;
  }
  for (int i = 0; i < N; i++)
    h[i * N + i] = 0;
  w = h;
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        if (w[i * N + k] + w[k * N + j] < w[i * N + j])
          w[i * N + j] = w[i * N + k] + w[k * N + j];
  int *d;
  CK(cudaMalloc(&d, N * N * sizeof(int)));
  CK(cudaMemcpy(d, h.data(), N * N * sizeof(int), cudaMemcpyHostToDevice));
  shortest<<<N / 4, dim3(N, 4)>>>(d);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), d, N * N * sizeof(int), cudaMemcpyDeviceToHost));
  int ok = got == w;
  CK(cudaFree(d));
  printf("floyd_one_launch: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
