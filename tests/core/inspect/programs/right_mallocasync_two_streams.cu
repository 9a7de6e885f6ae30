// Stream-ordered allocations made in one stream, used in another, freed in the first after an event; memory is reused in order.
#include <cstdio>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void produce(int *x, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = i * k;
}

__global__ void consume(const int *x, int n, int *total) {
  __shared__ int s;
  if (threadIdx.x == 0)
    s = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&s, x[i] & 255);
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(total, s);
}

int main() {
  const int rounds = 6;
  cudaStream_t a, b;
  CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t ready, done;
  CK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  int *total;
  CK(cudaMallocAsync((void **)&total, sizeof(int), b));
  CK(cudaMemsetAsync(total, 0, sizeof(int), b));
  for (int r = 0; r < rounds; r++) {
    int n = 200 + 37 * r;
    int *tmp, *scratch;
    CK(cudaMallocAsync((void **)&tmp, n * sizeof(int), a));
    CK(cudaMallocAsync((void **)&scratch, n * sizeof(int), a));
    produce<<<(n + 63) / 64, 64, 0, a>>>(scratch, n, r + 1);
    CK(cudaMemcpyAsync(tmp, scratch, n * sizeof(int), cudaMemcpyDeviceToDevice, a));
    CK(cudaFreeAsync(scratch, a)); // only used in a: no event needed
    CK(cudaEventRecord(ready, a));
    CK(cudaStreamWaitEvent(b, ready, 0));
    consume<<<(n + 63) / 64, 64, 0, b>>>(tmp, n, total);
    if (r & 1) {
      CK(cudaFreeAsync(tmp, b)); // freed where it was used last
    } else {
      CK(cudaEventRecord(done, b));
      CK(cudaStreamWaitEvent(a, done, 0));
      CK(cudaFreeAsync(tmp, a)); // freed where it came from, after the user
    }
  }
  int got = 0, want = 0;
  CK(cudaMemcpyAsync(&got, total, sizeof got, cudaMemcpyDeviceToHost, b));
  CK(cudaFreeAsync(total, b));
  CK(cudaStreamSynchronize(b));
  CK(cudaStreamSynchronize(a));
  for (int r = 0; r < rounds; r++)
    for (int i = 0; i < 200 + 37 * r; i++)
      want += (i * (r + 1)) & 255;
  CK(cudaEventDestroy(ready));
  CK(cudaEventDestroy(done));
  CK(cudaStreamDestroy(a));
  CK(cudaStreamDestroy(b));
  printf("mallocasync_two_streams: %s\n", got == want ? "ok" : "WRONG");
  return got != want;
}
