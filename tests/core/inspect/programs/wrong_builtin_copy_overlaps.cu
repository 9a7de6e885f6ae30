// finding: race-warp 10 10
// Records of 24 bytes are copied to places 12 bytes apart, with the compiler's own memcpy.
#include <cstdio>
#include <cuda_runtime.h>

#define N 16
#define RECORD 24

__global__ void pack(const char *in, char *out) {
  __builtin_memcpy(out + threadIdx.x * (RECORD / 2), in + threadIdx.x * RECORD, RECORD);
}

int main() {
  char h[N * RECORD], *in, *out;
  for (int i = 0; i < N * RECORD; i++)
    h[i] = (char)(i * 7);
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  pack<<<1, N>>>(in, out);
  cudaMemcpy(h, out, N * RECORD / 2, cudaMemcpyDeviceToHost);
  printf("%d\n", h[5]);
  cudaFree(in);
  cudaFree(out);
}
