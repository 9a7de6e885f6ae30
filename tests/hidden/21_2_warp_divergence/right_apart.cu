// missing star: uncoalesced access
#include <cuda_runtime.h>

__global__ void two_kinds(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, pairs = (n + 1) / 2, part = (pairs + 15) / 16;
  int at = 2 * (i % 16 * part + i / 16);
  if (i / 16 >= part)
    return;
  if (at < n)
    out[at] = even_work(x[at]);
  if (at + 1 < n)
    out[at + 1] = odd_work(x[at + 1]);
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  int threads = 16 * (((n + 1) / 2 + 15) / 16);
  two_kinds<<<(threads + 255) / 256, 256>>>(out, x, n);
}
