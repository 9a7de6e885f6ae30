// Managed arrays are advised and prefetched to the device and back, which orders nothing on the host; the stream is
// synchronized after the prefetch and before the host reads.
#include <cstdio>
#include <cuda_runtime.h>

static void prefetch(void *p, size_t bytes, int device, cudaStream_t s) {
#if CUDART_VERSION >= 13000
  cudaMemLocation where{};
  where.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  where.id = device == cudaCpuDeviceId ? 0 : device;
  cudaMemPrefetchAsync(p, bytes, where, 0, s);
#else
  cudaMemPrefetchAsync(p, bytes, device, s);
#endif
}

static void readMostly(void *p, size_t bytes, int device) {
#if CUDART_VERSION >= 13000
  cudaMemLocation where{};
  where.type = cudaMemLocationTypeDevice;
  where.id = device;
  cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, where);
#else
  cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, device);
#endif
}

__global__ void transpose(const int *in, int *out, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < w)
    out[x * w + y] = in[y * w + x];
}

int main() {
  const int w = 96;
  const size_t bytes = w * w * sizeof(int);
  int device = 0, *in, *out;
  cudaGetDevice(&device);
  cudaMallocManaged(&in, bytes);
  cudaMallocManaged(&out, bytes);
  for (int i = 0; i < w * w; ++i)
    in[i] = 3 * i;
  cudaStream_t s;
  cudaStreamCreate(&s);

  readMostly(in, bytes, device);
  prefetch(in, bytes, device, s);
  prefetch(out, bytes, device, s);
  transpose<<<dim3(w / 16, w / 16), dim3(16, 16), 0, s>>>(in, out, w);
  prefetch(out, bytes, cudaCpuDeviceId, s);
  cudaStreamSynchronize(s);

  int bad = 0;
  for (int y = 0; y < w; ++y)
    for (int x = 0; x < w; ++x)
      bad += out[y * w + x] != 3 * (x * w + y);
  printf("transpose: %d wrong\n", bad);
  cudaStreamDestroy(s);
  cudaFree(in);
  cudaFree(out);
  return bad != 0;
}
