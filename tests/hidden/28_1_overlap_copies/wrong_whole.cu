// mistake: data race
// also: missing synchronization between streams
#include <cuda_runtime.h>

enum { THREADS = 256 };

static __device__ float worked(float x) {
  return x * x + 1;
}

__global__ void work(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = worked(x[i]);
}

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int count) {
  int each = (n + count - 1) / count;
  for (int i = 0; i < count && i * each < n; i++) {
    int begin = i * each, size = n - begin < each ? n - begin : each;
    cudaMemcpyAsync(room + begin, in + begin, (n - begin) * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
    work<<<(size + THREADS - 1) / THREADS, THREADS, 0, streams[i]>>>(room + begin, size);
    cudaMemcpyAsync(out + begin, room + begin, size * sizeof(float), cudaMemcpyDeviceToHost, streams[i]);
  }
  for (int i = 0; i < count; i++)
    cudaStreamSynchronize(streams[i]);
}
