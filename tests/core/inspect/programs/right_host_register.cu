// A kernel works directly on the storage of a std::vector; the whole vector is registered and mapped until the host
// has waited.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define OK(call)                                                                                                       \
  if (cudaError_t err = (call)) {                                                                                      \
    printf("line %d: %s\n", __LINE__, cudaGetErrorString(err));                                                        \
    return 2;                                                                                                          \
  }

__global__ void scale(float *x, float f, int n) {
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    x[i] *= f;
}

int main() {
  const int n = 1 << 16;
  std::vector<float> v(n);
  for (int i = 0; i < n; ++i)
    v[i] = float(i % 1000);

  OK(cudaHostRegister(v.data(), v.size() * sizeof(float), cudaHostRegisterMapped));
  float *d = nullptr;
  OK(cudaHostGetDevicePointer(&d, v.data(), 0));
  cudaStream_t s;
  OK(cudaStreamCreate(&s));

  scale<<<32, 256, 0, s>>>(d, 4.0f, n);
  OK(cudaGetLastError());
  scale<<<32, 256, 0, s>>>(d, 0.5f, n);
  OK(cudaGetLastError());
  OK(cudaStreamSynchronize(s));
  OK(cudaHostUnregister(v.data()));

  int bad = 0;
  for (int i = 0; i < n; ++i)
    bad += v[i] != 2.0f * float(i % 1000);
  printf("registered vector: %d wrong\n", bad);
  OK(cudaStreamDestroy(s));
  return bad != 0;
}
