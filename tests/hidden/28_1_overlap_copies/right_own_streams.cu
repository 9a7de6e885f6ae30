// In streams of its own.
#include <cuda_runtime.h>

enum { THREADS = 256, COUNT = 3 };

static __device__ float worked(float x) {
  return x * x + 1;
}

__global__ void work(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = worked(x[i]);
}

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int count) {
  (void)streams, (void)count;
  cudaStream_t own[COUNT];
  for (int i = 0; i < COUNT; i++)
    cudaStreamCreateWithFlags(&own[i], cudaStreamNonBlocking);
  int each = (n + COUNT - 1) / COUNT;
  for (int i = 0; i < COUNT && i * each < n; i++) {
    int begin = i * each, size = n - begin < each ? n - begin : each;
    cudaMemcpyAsync(room + begin, in + begin, size * sizeof(float), cudaMemcpyHostToDevice, own[i]);
    work<<<(size + THREADS - 1) / THREADS, THREADS, 0, own[i]>>>(room + begin, size);
    cudaMemcpyAsync(out + begin, room + begin, size * sizeof(float), cudaMemcpyDeviceToHost, own[i]);
  }
  for (int i = 0; i < COUNT; i++) {
    cudaStreamSynchronize(own[i]);
    cudaStreamDestroy(own[i]);
  }
}
