// finding: race-grid 37 42
// The value is stored after the key has been claimed, a thread of another block that finds the key may read the value before
// it is there.
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

const int CAP = 512, EMPTY = -1;

struct Cache {
  int *keys;
  int *values;
};

__device__ int expensive(int k) {
  int v = k;
  for (int r = 0; r < 50; r++)
    v = (v * 75 + 74) % 65537 & 0x3fff;
  return v;
}

// looks the value up, computing and entering it if nobody has
__device__ int memo(Cache c, int k) {
  for (int s = k * 61 % CAP;; s = (s + 1) % CAP) {
    int was = atomicCAS(&c.keys[s], EMPTY, k);
    if (was == EMPTY) {
      int v = expensive(k);
      c.values[s] = v;
      __threadfence();
      return v;
    }
    if (was == k)
      return c.values[s];
  }
}

__global__ void evaluate(Cache c, const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = memo(c, in[i]);
}

__global__ void evaluatePlain(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = expensive(in[i]);
}

int main() {
  const int n = 1024, T = 64;
  std::vector<int> h(n), a(n), b(n);
  // a key comes once in a block, and in many blocks
  for (int i = 0; i < n; i++)
    h[i] = (i % T) * 5 + (i / T % 4) * 1000 + 7;
  Cache c;
  int *in, *out;
  CK(cudaMalloc(&c.keys, CAP * sizeof(int)));
  CK(cudaMalloc(&c.values, CAP * sizeof(int)));
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMemset(c.keys, 0xff, CAP * sizeof(int)));
  CK(cudaMemset(c.values, 0, CAP * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  evaluate<<<n / T, T>>>(c, in, out, n);
  CK(cudaMemcpy(a.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  evaluatePlain<<<n / T, T>>>(in, out, n);
  CK(cudaGetLastError());
  CK(cudaMemcpy(b.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  CK(cudaFree(c.keys));
  CK(cudaFree(c.values));
  CK(cudaFree(in));
  CK(cudaFree(out));
  printf("hash_value: %s\n", a == b ? "ok" : "WRONG");
  return a != b;
}
