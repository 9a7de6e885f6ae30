// missing star: host synchronization in the loop
#include <cuda_runtime.h>

enum { THREADS = 256, LONGEST = 65536 };

static __device__ float worked(float x) {
  return x * x + 1;
}

__global__ void work(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = worked(x[i]);
}

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int count) {
  int chunk = (n + count - 1) / count;
  if (chunk > LONGEST)
    chunk = LONGEST;
  for (int first = 0, k = 0; first < n; first += chunk, k++) {
    int length = n - first < chunk ? n - first : chunk;
    cudaStream_t stream = streams[k % count];
    if (k >= count)
      cudaStreamSynchronize(stream); // is it free?
    size_t bytes = length * sizeof(float);
    cudaMemcpyAsync(room + first, in + first, bytes, cudaMemcpyHostToDevice, stream);
    work<<<(length + THREADS - 1) / THREADS, THREADS, 0, stream>>>(room + first, length);
    cudaMemcpyAsync(out + first, room + first, bytes, cudaMemcpyDeviceToHost, stream);
  }
  for (int k = 0; k < count; k++)
    cudaStreamSynchronize(streams[k]);
}
