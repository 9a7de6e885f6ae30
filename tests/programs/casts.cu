// Memory that is written as one type and read as another, as kernels do it: vectors that carry any 16 bytes, a number's bits.
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T> __global__ void carry(T *out, const T *in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, each = 16 / sizeof(T);
  uint4 from = reinterpret_cast<const uint4 *>(in)[i], to;
#pragma unroll
  for (int k = 0; k < each; k++) {
    const float x = (float)reinterpret_cast<const T *>(&from)[k];
    reinterpret_cast<T *>(&to)[k] = (T)(x + 1.0f);
  }
  reinterpret_cast<uint4 *>(out)[i] = to;
}

// Without a word about vectors: the sign of each number, by its bits.
__global__ void negate(float *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float y = x[i] + 1.0f;
  *(unsigned int *)&y ^= 0x80000000u;
  x[i] = y - 1.0f;
}

__global__ void swap_words(double *x) {
  double y = x[threadIdx.x];
  int *words = (int *)&y;
  const int first = words[0];
  words[0] = words[1];
  words[1] = first;
  x[threadIdx.x] = y;
}

// Shared numbers, four at a time, behind one that is not aligned to that.
__global__ void fours(float *out, const float *in) {
  __shared__ char first;
  __shared__ float tile[128];
  __shared__ char second;
  __shared__ float other[128];
  if (threadIdx.x == 0)
    first = second = (size_t)tile % 16 == 0 && (size_t)other % 16 == 0;
  tile[threadIdx.x] = in[threadIdx.x];
  other[threadIdx.x] = 1.0f;
  __syncthreads();
  if (threadIdx.x < 32) {
    const float4 x = *(const float4 *)&tile[4 * threadIdx.x], y = *(const float4 *)&other[4 * threadIdx.x];
    *(float4 *)&out[4 * threadIdx.x] = make_float4(x.x + y.x * first, x.y + y.y, x.z + y.z * second, x.w + y.w);
  }
}

template <class T> static int carries() {
  enum { N = 1024 };
  T *in, *out;
  int wrong = 0;
  cudaMallocManaged(&in, N * sizeof(T));
  cudaMallocManaged(&out, N * sizeof(T));
  for (int i = 0; i < N; i++)
    in[i] = (T)(float)(i % 64);
  carry<<<N * sizeof(T) / 16 / 32, 32>>>(out, in);
  cudaDeviceSynchronize();
  for (int i = 0; i < N; i++)
    wrong += (float)out[i] != i % 64 + 1;
  cudaFree(in);
  cudaFree(out);
  return wrong;
}

int main() {
  float *x, *f;
  double *d;
  int wrong = carries<float>() + carries<__half>() + carries<__nv_bfloat16>() + carries<int>();
  cudaMallocManaged(&x, 256 * sizeof *x);
  cudaMallocManaged(&d, 32 * sizeof *d);
  for (int i = 0; i < 256; i++)
    x[i] = (float)i;
  for (int i = 0; i < 32; i++)
    d[i] = i / 3.0;
  negate<<<2, 128>>>(x, 256);
  for (int times = 0; times < 2; times++)
    swap_words<<<1, 32>>>(d);
  cudaMallocManaged(&f, 128 * sizeof *f);
  fours<<<1, 128>>>(f, x + 128);
  wrong += cudaDeviceSynchronize() != cudaSuccess;
  for (int i = 0; i < 128; i++)
    wrong += f[i] != x[128 + i] + 1.0f;
  for (int i = 0; i < 256; i++)
    wrong += x[i] != -(i + 1.0f) - 1.0f;
  for (int i = 0; i < 32; i++)
    wrong += d[i] != i / 3.0;
  puts(wrong ? "FAIL" : "PASS");
  return wrong != 0;
}
