// finding: divergent 40 28
// The loop goes on while anything in the warp has changed, so the warps of a block meet the barrier a different number of
// times.
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

const int T = 96;

// distance of every cell of the block's row to the next mark, found by relaxing until nothing changes
__device__ void relax(int (&d)[2][T + 2], int &cur) {
  int t = threadIdx.x + 1;
  bool go;
  do {
    int v = d[cur][t], w = min(v, min(d[cur][t - 1], d[cur][t + 1]) + 1);
    d[cur ^ 1][t] = w;
    cur ^= 1;
    go = __any_sync(~0u, w != v);
    __syncthreads();
  } while (go);
}

__global__ void distances(const unsigned char *marks, int *out) {
  __shared__ int d[2][T + 2];
  int t = threadIdx.x, cur = 0;
  if (t < 2)
    d[t][0] = d[t][T + 1] = 1000;
  d[0][t + 1] = marks[blockIdx.x * T + t] ? 0 : 1000;
  __syncthreads();
  relax(d, cur);
  __syncthreads();
  out[blockIdx.x * T + t] = d[cur][T - t]; // mirrored
}

int main() {
  const int G = 4;
  std::vector<unsigned char> h(G * T, 0);
  for (int g = 0; g < G; g++) {
    h[g * T + 40 + g] = 1; // warps near the mark are done earlier than the others
    if (g == 2)
      for (int t = 64; t < T; t++)
        h[g * T + t] = 1;
  }
  unsigned char *m;
  int *out;
  CK(cudaMalloc(&m, G * T));
  CK(cudaMalloc(&out, G * T * sizeof(int)));
  CK(cudaMemcpy(m, h.data(), G * T, cudaMemcpyHostToDevice));
  distances<<<G, T>>>(m, out);
  CK(cudaGetLastError());
  std::vector<int> got(G * T);
  CK(cudaMemcpy(got.data(), out, G * T * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int g = 0; g < G; g++)
    for (int t = 0; t < T; t++) {
      int w = 1000;
      for (int k = 0; k < T; k++)
        if (h[g * T + k])
          w = abs(k - (T - 1 - t)) < w ? abs(k - (T - 1 - t)) : w;
      bad += got[g * T + t] != w;
    }
  CK(cudaFree(m));
  CK(cudaFree(out));
  printf("vote_loop: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
