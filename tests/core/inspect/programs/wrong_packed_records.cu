// finding: misaligned 38
// The pieces of the byte buffer are rounded up to 4 bytes, the doubles in them need 8.
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

struct Header {
  int id, count;
}; // followed by count doubles, then by id % 3 ints

__host__ __device__ inline int sizeOf(int id) {
  int bytes = sizeof(Header) + (1 + id % 4) * sizeof(double) + (id % 3) * sizeof(int);
  return (bytes + 3) / 4 * 4;
}

__device__ double *body(Header *h) {
  return reinterpret_cast<double *>(h + 1);
}

__global__ void build(unsigned char *buf, const int *at, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Header *h = reinterpret_cast<Header *>(buf + at[i]);
  h->id = i;
  h->count = 1 + i % 4;
  double *d = body(h);
  for (int k = 0; k < h->count; k++)
    d[k] = i + k / 8.0;
  int *extra = reinterpret_cast<int *>(d + h->count);
  for (int k = 0; k < i % 3; k++)
    extra[k] = i - k;
}

int main() {
  const int n = 100;
  std::vector<int> at(n);
  int bytes = 0;
  for (int i = 0; i < n; i++) {
    at[i] = bytes;
    bytes += sizeOf(i);
  }
  unsigned char *buf;
  int *da;
  CK(cudaMalloc(&buf, bytes));
  CK(cudaMalloc(&da, n * sizeof(int)));
  CK(cudaMemcpy(da, at.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  build<<<(n + 31) / 32, 32>>>(buf, da, n);
  CK(cudaGetLastError());
  std::vector<unsigned char> h(bytes);
  CK(cudaMemcpy(h.data(), buf, bytes, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++) {
    int id;
    __builtin_memcpy(&id, &h[at[i]], sizeof id);
    bad += id != i;
    for (int k = 0; k < 1 + i % 4; k++) {
      double d;
      __builtin_memcpy(&d, &h[at[i] + sizeof(Header) + k * sizeof d], sizeof d);
      bad += d != i + k / 8.0;
    }
  }
  CK(cudaFree(buf));
  CK(cudaFree(da));
  printf("packed_records: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
