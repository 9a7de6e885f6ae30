// finding: bounds-dynamic 34
// The size given at the launch leaves out the rounding up of the parts, so that the last two shorts lie beyond the end.
// Dynamic shared memory cut into arrays of several types, each rounded up to its alignment.
// The number of elements is odd.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>

__host__ __device__ inline size_t up(size_t v, size_t a) {
  return (v + a - 1) / a * a;
}

struct Layout {
  size_t ints, doubles, shorts, flags;
  __host__ __device__ explicit Layout(int n) {
    flags = 0; // n chars first, to spoil the alignment
    doubles = up(flags + n, sizeof(double));
    ints = up(doubles + n * sizeof(double), sizeof(int));
    shorts = up(ints + n * sizeof(int), sizeof(short));
  }
};

__global__ void cut(const int *in, double *outD, int *outI, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  Layout l(n);
  char *flag = reinterpret_cast<char *>(raw + l.flags);
  double *d = reinterpret_cast<double *>(raw + l.doubles);
  int *iv = reinterpret_cast<int *>(raw + l.ints);
  short *sv = reinterpret_cast<short *>(raw + l.shorts);
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    iv[k] = in[k];
    flag[k] = (in[k] & 1) ? 1 : 0;
    d[k] = 0.25 * in[k];
    sv[k] = (short)(n - 1 - k);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    int j = sv[k];
    outD[k] = d[j] + (flag[j] ? 100.0 : 0.0);
    outI[k] = iv[j] - iv[k];
  }
}

int main() {
  const int n = 77;
  int h[n], gi[n];
  double gd[n];
  for (int i = 0; i < n; i++)
    h[i] = (i * 19) % 41;
  int *in, *oi;
  double *od;
  cudaMalloc(&in, sizeof h);
  cudaMalloc(&oi, sizeof gi);
  cudaMalloc(&od, sizeof gd);
  cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
  size_t bytes = n * (sizeof(char) + sizeof(double) + sizeof(int) + sizeof(short));
  cut<<<1, 64, bytes>>>(in, od, oi, n);
  cudaMemcpy(gi, oi, sizeof gi, cudaMemcpyDeviceToHost);
  cudaMemcpy(gd, od, sizeof gd, cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(oi);
  cudaFree(od);
  int wrong = 0;
  for (int k = 0; k < n; k++) {
    int j = n - 1 - k;
    double w = 0.25 * h[j] + ((h[j] & 1) ? 100.0 : 0.0);
    if (gd[k] != w || gi[k] != h[j] - h[k])
      wrong++;
  }
  printf("dynamic_shared_short: %d wrong of %d\n", wrong, n);
  return wrong ? 1 : 0;
}
