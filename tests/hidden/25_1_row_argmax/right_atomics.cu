// missing star: several launches
// A value and its column in one 64-bit key, and atomicMax over the keys: larger values, and of equal ones lower columns, have larger keys.
#include <cuda_runtime.h>

typedef unsigned long long Key;

static __device__ Key key_of(float value, int column) {
  unsigned bits = __float_as_uint(value + 0.0f); // -0 becomes 0
  bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (Key)bits << 32 | (0xffffffffu - (unsigned)column);
}

__global__ void find(Key *keys, const float *x, int rows, int columns) {
  int row = blockIdx.x;
  Key most = 0;
  for (int k = threadIdx.x; k < columns; k += blockDim.x) {
    Key own = key_of(x[row * columns + k], k);
    most = own > most ? own : most;
  }
  atomicMax(&keys[row], most);
}

__global__ void unpack(float *best, int *at, const Key *keys, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  at[row] = (int)(0xffffffffu - (unsigned)keys[row]);
  best[row] = x[row * columns + at[row]];
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  Key *keys;
  if (rows == 0)
    return;
  cudaMalloc(&keys, rows * sizeof *keys);
  cudaMemsetAsync(keys, 0, rows * sizeof *keys);
  find<<<rows, 64>>>(keys, x, rows, columns);
  unpack<<<(rows + 63) / 64, 64>>>(best, at, keys, x, rows, columns);
  cudaFree(keys);
}
