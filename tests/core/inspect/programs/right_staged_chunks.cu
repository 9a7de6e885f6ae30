// Chunks through two pinned staging buffers and two device buffers: upload, work, download overlap; events guard the reuse.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void work(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * in[n - 1 - i];
}

struct Lane {
  int *stage, *back, *in, *out;
  int first, n;
  cudaEvent_t uploaded, computed, downloaded;
};

int main() {
  const int total = 2300, chunk = 256;
  std::vector<int> src(total), dst(total, -1);
  for (int i = 0; i < total; i++)
    src[i] = (i * 19) % 301;
  cudaStream_t up, run, down;
  for (cudaStream_t *q : {&up, &run, &down})
    CK(cudaStreamCreateWithFlags(q, cudaStreamNonBlocking));
  Lane lane[2];
  for (Lane &l : lane) {
    CK(cudaMallocHost(&l.stage, chunk * sizeof(int)));
    CK(cudaMallocHost(&l.back, chunk * sizeof(int)));
    CK(cudaMalloc(&l.in, chunk * sizeof(int)));
    CK(cudaMalloc(&l.out, chunk * sizeof(int)));
    for (cudaEvent_t *e : {&l.uploaded, &l.computed, &l.downloaded})
      CK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    l.n = 0;
  }
  auto collect = [&](Lane &l) { // waits for the results of the lane's last chunk and stores them
    if (l.n == 0)
      return cudaSuccess;
    cudaError_t e;
    while ((e = cudaEventQuery(l.downloaded)) == cudaErrorNotReady) {
    }
    if (e == cudaSuccess)
      std::copy(l.back, l.back + l.n, dst.begin() + l.first);
    l.n = 0;
    return e;
  };
  int k = 0;
  for (int first = 0; first < total; first += chunk, k ^= 1) {
    Lane &l = lane[k];
    CK(collect(l)); // then everything of this lane is free again
    l.first = first;
    l.n = std::min(chunk, total - first);
    std::copy(src.begin() + first, src.begin() + first + l.n, l.stage);
    CK(cudaMemcpyAsync(l.in, l.stage, l.n * sizeof(int), cudaMemcpyHostToDevice, up));
    CK(cudaEventRecord(l.uploaded, up));
    CK(cudaStreamWaitEvent(run, l.uploaded, 0));
    work<<<(l.n + 63) / 64, 64, 0, run>>>(l.in, l.out, l.n);
    CK(cudaEventRecord(l.computed, run));
    CK(cudaStreamWaitEvent(down, l.computed, 0));
    CK(cudaMemcpyAsync(l.back, l.out, l.n * sizeof(int), cudaMemcpyDeviceToHost, down));
    CK(cudaEventRecord(l.downloaded, down));
  }
  for (Lane &l : lane)
    CK(collect(l));
  int bad = 0;
  for (int i = 0; i < total; i++) {
    int first = i / chunk * chunk, n = std::min(chunk, total - first);
    bad += dst[i] != src[i] * src[first + n - 1 - (i - first)];
  }
  for (Lane &l : lane) {
    CK(cudaFreeHost(l.stage));
    CK(cudaFreeHost(l.back));
    CK(cudaFree(l.in));
    CK(cudaFree(l.out));
    for (cudaEvent_t e : {l.uploaded, l.computed, l.downloaded})
      CK(cudaEventDestroy(e));
  }
  for (cudaStream_t q : {up, run, down})
    CK(cudaStreamDestroy(q));
  printf("staged_chunks: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
