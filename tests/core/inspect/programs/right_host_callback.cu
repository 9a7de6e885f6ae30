// A host function in stream a reads and writes managed memory without any synchronize call; it runs in stream order,
// and stream b waits for an event recorded after it.
#include <cstdio>
#include <cuda_runtime.h>

struct Job {
  const int *data;
  int *scale;
  int n;
};

__global__ void produce(int *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] = (i * 13) % 500;
}

__global__ void apply(const int *data, const int *scale, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = data[i] * *scale;
}

static void CUDART_CB chooseScale(void *arg) {
  Job *job = static_cast<Job *>(arg);
  int top = 0;
  for (int i = 0; i < job->n; ++i)
    if (job->data[i] > top)
      top = job->data[i];
  *job->scale = 10000 / (top + 1);
}

int main() {
  const int n = 4000, grid = (n + 255) / 256;
  int *data, *scale, *out;
  cudaMallocManaged(&data, n * sizeof(int));
  cudaMallocManaged(&scale, sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  *scale = 0;
  Job job{data, scale, n};
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);

  produce<<<grid, 256, 0, a>>>(data, n);
  cudaLaunchHostFunc(a, chooseScale, &job);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready, 0);
  apply<<<grid, 256, 0, b>>>(data, scale, out, n);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);

  int bad = 0;
  for (int i = 0; i < n; ++i)
    bad += out[i] != ((i * 13) % 500) * 20;
  printf("callback: scale %d, %d wrong\n", *scale, bad);
  cudaEventDestroy(ready);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaFree(data);
  cudaFree(scale);
  cudaFree(out);
  return bad != 0;
}
