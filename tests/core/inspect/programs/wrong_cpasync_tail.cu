// finding: race-async 36 20
// No group is committed when nothing is left to load, so in the last round wait_prior(1) leaves the last tile in flight.
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

const int T = 64;

__device__ inline void load(int *to, const int *from) {
  __pipeline_memcpy_async(to, from, sizeof(int));
}

__global__ void correlate(const int *in, int *out, int tiles) {
  __shared__ int buf[2][T];
  const int *mine = in + blockIdx.x * tiles * T;
  int t = threadIdx.x, acc = 0;
  load(&buf[0][t], mine + t);
  __pipeline_commit();
  for (int k = 0; k < tiles; k++) {
    if (k + 1 < tiles) {
      load(&buf[(k + 1) & 1][t], mine + (k + 1) * T + t);
      __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    acc += buf[k & 1][t] * buf[k & 1][(t * 5 + k) % T];
    __syncthreads();
  }
  out[blockIdx.x * T + t] = acc;
}

int main() {
  const int G = 5, tiles = 6, n = G * tiles * T;
  std::vector<int> h(n), got(G * T);
  for (int i = 0; i < n; i++)
    h[i] = (i * 7) % 89 - 40;
  int *in, *out;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, G * T * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  correlate<<<G, T>>>(in, out, tiles);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), out, G * T * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int g = 0; g < G; g++)
    for (int t = 0; t < T; t++) {
      int w = 0;
      for (int k = 0; k < tiles; k++) {
        const int *b = &h[(g * tiles + k) * T];
        w += b[t] * b[(t * 5 + k) % T];
      }
      bad += w != got[g * T + t];
    }
  CK(cudaFree(in));
  CK(cudaFree(out));
  printf("cpasync_tail: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
