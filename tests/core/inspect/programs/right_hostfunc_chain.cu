// Device, host callback, device again, all in one stream: the callback works on pinned memory between two copies.
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

struct Job {
  int *buf;
  int n;
  int calls;
  long long seen;
};

void CUDART_CB onHost(void *p) {
  Job *j = (Job *)p;
  j->calls++;
  for (int i = 0; i < j->n; i++) {
    j->seen += j->buf[i];
    j->buf[i] = -j->buf[i];
  }
}

__global__ void iota(int *x, int n, int start) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = start + i;
}

__global__ void accumulate(int *sum, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? x[i] : 0;
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, o);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(sum, v);
}

int main() {
  const int n = 300, rounds = 3;
  int *x, *sum, *pin;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMalloc(&sum, sizeof(int)));
  CK(cudaHostAlloc(&pin, n * sizeof(int), cudaHostAllocDefault));
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  Job job{pin, n, 0, 0};
  CK(cudaMemsetAsync(sum, 0, sizeof(int), s));
  for (int r = 0; r < rounds; r++) {
    iota<<<3, 128, 0, s>>>(x, n, r * 10);
    CK(cudaMemcpyAsync(pin, x, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    CK(cudaLaunchHostFunc(s, onHost, &job));
    CK(cudaMemcpyAsync(x, pin, n * sizeof(int), cudaMemcpyHostToDevice, s));
    accumulate<<<3, 128, 0, s>>>(sum, x, n);
  }
  int got = 0;
  CK(cudaMemcpyAsync(&got, sum, sizeof got, cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  long long want = 0;
  for (int r = 0; r < rounds; r++)
    for (int i = 0; i < n; i++)
      want += r * 10 + i;
  int ok = job.calls == rounds && job.seen == want && got == -(int)want;
  CK(cudaStreamDestroy(s));
  CK(cudaFree(x));
  CK(cudaFree(sum));
  CK(cudaFreeHost(pin));
  printf("hostfunc_chain: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
