// mistake: needless dependency between chunks
// A stage for each kind of work, with one event behind all copies in and one behind all kernels.
#include <cuda_runtime.h>

__global__ void work(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = x[i] * x[i] + 1;
}

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int) {
  const int each = (n + 3) / 4;
  cudaEvent_t there, done;
  cudaEventCreateWithFlags(&there, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  for (int begin = 0; begin < n; begin += each)
    cudaMemcpyAsync(room + begin, in + begin, (begin + each < n ? each : n - begin) * sizeof(float),
                    cudaMemcpyHostToDevice, streams[0]);
  cudaEventRecord(there, streams[0]);
  cudaStreamWaitEvent(streams[1], there, 0);
  for (int begin = 0; begin < n; begin += each)
    work<<<8, 128, 0, streams[1]>>>(room + begin, begin + each < n ? each : n - begin);
  cudaEventRecord(done, streams[1]);
  cudaStreamWaitEvent(streams[2], done, 0);
  for (int begin = 0; begin < n; begin += each)
    cudaMemcpyAsync(out + begin, room + begin, (begin + each < n ? each : n - begin) * sizeof(float),
                    cudaMemcpyDeviceToHost, streams[2]);
  cudaStreamSynchronize(streams[2]);
  cudaEventDestroy(there);
  cudaEventDestroy(done);
}
