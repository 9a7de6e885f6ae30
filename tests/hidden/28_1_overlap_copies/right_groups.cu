// missing star: host synchronization in the loop
// Chunks of a fixed size in groups, two streams, and a wait after each group.
#include <cuda_runtime.h>

enum { CHUNK = 300, THREADS = 128 };

__global__ void work(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * x[i] + 1;
}

static void one_chunk(float *out, const float *in, float *scratch, int n, cudaStream_t stream) {
  cudaMemcpyAsync(scratch, in, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  work<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(scratch, n);
  cudaMemcpyAsync(out, scratch, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
}

extern "C" void pipeline_on_device(float *out, const float *in, float *scratch, int n, cudaStream_t *streams,
                                   int count) {
  const int chunk = n < 2 * CHUNK ? (n + 1) / 2 : n < 100 * CHUNK ? CHUNK : n / 50;
  for (int first = 0; first < n; first += 2 * chunk) {
    for (int i = 0; i < 2 && first + i * chunk < n; i++) {
      const int begin = first + i * chunk;
      one_chunk(out + begin, in + begin, scratch + begin, n - begin < chunk ? n - begin : chunk, streams[i]);
    }
    for (int i = 0; i < count; i++)
      cudaStreamSynchronize(streams[i]);
  }
}
