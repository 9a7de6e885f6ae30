// finding: race-block 25 27
// Thread 0 draws the next tile while slower warps may not have read the number of this one yet (a second barrier in the loop
// is missing).
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

const int T = 64;

struct Dispenser {
  int *counter;
  int *slot; // in shared memory

  __device__ int draw() const {
    if (threadIdx.x == 0)
      *slot = atomicAdd(counter, 1);
    __syncthreads();
    return *slot;
  }
};

__global__ void process(const int *in, int *out, int n, int each, int *counter) {
  __shared__ int slot;
  Dispenser d{counter, &slot};
  for (int r = 0; r < each; r++) { // every block does the same number of tiles, whichever they are
    int tile = d.draw(), i = tile * T + threadIdx.x;
    if (i < n) {
      int v = in[i], steps = 0;
      for (; v > 1; steps++)
        v = v % 2 ? v * 3 + 1 : v / 2;
      out[i] = steps;
    }
  }
}

int main() {
  const int n = 1300;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = 1 + (i * 17) % 3000;
  int *in, *out, *counter;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMalloc(&counter, sizeof(int)));
  CK(cudaMemset(out, 0xff, n * sizeof(int)));
  CK(cudaMemset(counter, 0, sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  const int G = 4, tiles = (n + T - 1) / T;
  process<<<G, T>>>(in, out, n, (tiles + G - 1) / G, counter);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++) {
    int steps = 0;
    for (int v = h[i]; v > 1; steps++)
      v = v % 2 ? v * 3 + 1 : v / 2;
    bad += got[i] != steps;
  }
  CK(cudaFree(in));
  CK(cudaFree(out));
  CK(cudaFree(counter));
  printf("tile_draw: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
