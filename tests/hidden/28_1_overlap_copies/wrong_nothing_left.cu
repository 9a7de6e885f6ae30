// mistake: empty grid
// Shares rounded up end before the last stream: nothing is left for it, or less.
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
  int chunks = n < count ? n : count;
  int each = (n + chunks - 1) / chunks;
  for (int i = 0; i < chunks; i++) {
    int first = i * each, own = n - first < each ? n - first : each;
    cudaMemcpyAsync(&room[first], &in[first], own * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
    work<<<(own + THREADS - 1) / THREADS, THREADS, 0, streams[i]>>>(&room[first], own);
    cudaMemcpyAsync(&out[first], &room[first], own * sizeof(float), cudaMemcpyDeviceToHost, streams[i]);
  }
  for (int i = 0; i < chunks; i++)
    cudaStreamSynchronize(streams[i]);
}
