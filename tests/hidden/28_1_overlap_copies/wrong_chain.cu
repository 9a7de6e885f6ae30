// mistake: needless dependency between chunks
// A stream for each chunk, which waits until the chunk before has come back.
#include <cuda_runtime.h>

__global__ void work(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = x[i] * x[i] + 1;
}

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int count) {
  const int each = (n + count - 1) / count;
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  for (int i = 0; i < count && i * each < n; i++) {
    const int begin = i * each, size = begin + each < n ? each : n - begin;
    if (i > 0)
      cudaStreamWaitEvent(streams[i], done, 0);
    cudaMemcpyAsync(room + begin, in + begin, size * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
    work<<<8, 128, 0, streams[i]>>>(room + begin, size);
    cudaMemcpyAsync(out + begin, room + begin, size * sizeof(float), cudaMemcpyDeviceToHost, streams[i]);
    cudaEventRecord(done, streams[i]);
  }
  cudaDeviceSynchronize();
  cudaEventDestroy(done);
}
