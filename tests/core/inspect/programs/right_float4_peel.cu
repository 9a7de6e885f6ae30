// Vector access to a range that starts anywhere: a scalar head up to 16 bytes, float4 in the middle, a scalar tail.
#include <cstdio>
#include <cstdint>
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

__device__ inline float f(float v) {
  return 2.0f * v + 1.0f;
}

__device__ inline float4 f(float4 v) {
  return make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
}

__global__ void apply(float *p, int n) {
  int head = (int)((16 - (reinterpret_cast<uintptr_t>(p) & 15)) & 15) / sizeof(float);
  if (head > n)
    head = n;
  int vecs = (n - head) / 4, tailAt = head + 4 * vecs;
  int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  float4 *v = reinterpret_cast<float4 *>(p + head);
  for (int k = i; k < vecs; k += all)
    v[k] = f(v[k]);
  if (i < head)
    p[i] = f(p[i]);
  if (i < n - tailAt)
    p[tailAt + i] = f(p[tailAt + i]);
}

int main() {
  const int n = 1200;
  std::vector<float> h(n), want(n);
  for (int i = 0; i < n; i++)
    h[i] = want[i] = (float)((i * 11) % 64);
  float *d;
  CK(cudaMalloc(&d, n * sizeof(float)));
  CK(cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  struct {
    int at, len;
  } ranges[] = {{0, 1200}, {1, 1000}, {2, 3}, {3, 1197}, {7, 1}, {5, 512}, {1199, 1}, {9, 2}};
  for (auto r : ranges) {
    apply<<<2, 96>>>(d + r.at, r.len);
    CK(cudaGetLastError());
    for (int i = r.at; i < r.at + r.len; i++)
      want[i] = 2 * want[i] + 1;
  }
  CK(cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += h[i] != want[i];
  CK(cudaFree(d));
  printf("float4_peel: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
