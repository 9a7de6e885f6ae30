// mistake: empty grid
#include <cuda_runtime.h>

template <int ODD> __global__ void kind(float *out, const float *x, int n) {
  size_t i = 2 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x) + ODD;
  if (i < (size_t)n) {
    if (ODD)
      out[i] = odd_work(x[i]);
    else
      out[i] = even_work(x[i]);
  }
}

extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  int odd = n / 2, even = n - odd;
  if (even > 0)
    kind<0><<<(even + 95) / 96, 96>>>(out, x, n);
  kind<1><<<(odd + 95) / 96, 96>>>(out, x, n);
}
