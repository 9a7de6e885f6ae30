// mistake: device memory used by the host
#include <cuda_runtime.h>

struct Job {
  float *out;
  const float *x;
  int rows, columns;
};
static Job job;

static void compute(void *data) {
  const Job *j = (const Job *)data;
  for (int r = 0; r < j->rows; r++)
    for (int c = 0; c < j->columns; c++)
      j->out[(size_t)c * j->rows + r] = j->x[(size_t)r * j->columns + c];
}

__global__ void copy(float *out, const float *x, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = x[i];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  size_t n = (size_t)rows * columns;
  copy<<<(unsigned int)((n + 255) / 256), 256>>>(out, x, n);
  job = Job{out, x, rows, columns};
  cudaLaunchHostFunc(0, compute, &job);
  cudaDeviceSynchronize();
}
