// Asynchronous copies to shared memory in three stages: two tiles are in flight while one is being worked on.
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

const int T = 64, STAGES = 3, TILE = 4 * T;

__global__ void neighbors(const int *in, long long *out, int tiles) {
  __shared__ __align__(16) int buf[STAGES][TILE];
  int t = threadIdx.x;
  const int *mine = in + (size_t)blockIdx.x * tiles * TILE;
  auto start = [&](int tile) {
    if (tile < tiles)
      __pipeline_memcpy_async(&buf[tile % STAGES][4 * t], mine + tile * TILE + 4 * t, 16);
    __pipeline_commit(); // an empty group where nothing is left: keeps the counting uniform
  };
  for (int k = 0; k < STAGES - 1; k++)
    start(k);
  long long acc = 0;
  for (int tile = 0; tile < tiles; tile++) {
    __pipeline_wait_prior(STAGES - 2); // my part of this tile has landed
    __syncthreads();                   // everybody's has, and the tile before is done with
    start(tile + STAGES - 1);
    const int *b = buf[tile % STAGES];
    for (int k = 0; k < 4; k++)
      acc += (long long)b[t + k * T] * b[(t + k * T + 7) % TILE];
  }
  out[blockIdx.x * T + t] = acc;
}

int main() {
  const int G = 4, tiles = 7, n = G * tiles * TILE;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 17) % 201 - 100;
  int *in;
  long long *out;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, G * T * sizeof(long long)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  neighbors<<<G, T>>>(in, out, tiles);
  CK(cudaGetLastError());
  std::vector<long long> got(G * T);
  CK(cudaMemcpy(got.data(), out, G * T * sizeof(long long), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int g = 0; g < G; g++)
    for (int t = 0; t < T; t++) {
      long long w = 0;
      for (int tile = 0; tile < tiles; tile++) {
        const int *b = &h[(g * tiles + tile) * TILE];
        for (int k = 0; k < 4; k++)
          w += (long long)b[t + k * T] * b[(t + k * T + 7) % TILE];
      }
      bad += w != got[g * T + t];
    }
  CK(cudaFree(in));
  CK(cudaFree(out));
  printf("cpasync_stages: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
