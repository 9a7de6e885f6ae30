// compile error: immintrin is not allowed in a performance challenge
#include <cuda_runtime.h>
#include <immintrin.h>

__attribute__((target("avx2"))) static float peek(const float *x, size_t i) {
  return _mm_cvtss_f32(_mm256_i64gather_ps(x, _mm256_set1_epi64x((long long)i), 4));
}

__global__ void naive(float *out, const float *x, int rows, int columns) {
  size_t n = (size_t)rows * columns, i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    float own = x[i], right;
    right = peek(x, i % rows * columns + i / rows);
    out[i] = own != own ? own : right;
  }
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  size_t n = (size_t)rows * columns;
  naive<<<(unsigned)((n + 255) / 256), 256>>>(out, x, rows, columns);
}
