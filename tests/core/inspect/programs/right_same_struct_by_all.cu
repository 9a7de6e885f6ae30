// All threads of a block store the same struct, and the same float4: equal writes, which are only noted.
#include <cstdio>
#include <cuda_runtime.h>

struct Limits {
  int first, last;
  double step;
  char unit[12];
};

__global__ void measure(const Limits *in, Limits *out, float4 *corner) {
  *out = *in;
  *corner = make_float4(1, 2, 3, 4);
}

int main() {
  Limits limits = {3, 40, 0.125, "cm"}, back;
  Limits *in, *out;
  float4 *corner;
  cudaMalloc(&in, sizeof limits);
  cudaMalloc(&out, sizeof limits);
  cudaMalloc(&corner, sizeof *corner);
  cudaMemcpy(in, &limits, sizeof limits, cudaMemcpyHostToDevice);
  measure<<<2, 96>>>(in, out, corner);
  cudaMemcpy(&back, out, sizeof back, cudaMemcpyDeviceToHost);
  printf("%d to %d in steps of %g %s\n", back.first, back.last, back.step, back.unit);
  cudaFree(in);
  cudaFree(out);
  cudaFree(corner);
}
