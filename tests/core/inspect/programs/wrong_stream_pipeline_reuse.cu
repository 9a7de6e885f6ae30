// finding: race-stream 19 70
// The kernel of chunk c writes the output buffer again without waiting until the copy stream has drained chunk c - 2 from it.
// Gamma correction of an image in strips: compute stream and copy stream, two output buffers.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA(x)                                                                                                        \
  if (cudaError_t err = (x)) {                                                                                         \
    std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(err));                                               \
    std::exit(1);                                                                                                      \
  }

constexpr int STRIP = 2048, STRIPS = 6;

__global__ void invertStrip(const unsigned char *in, unsigned char *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = 255 - in[i];
}

struct Stream {
  cudaStream_t s;
  Stream() {
    CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~Stream() {
    cudaStreamDestroy(s);
  }
  operator cudaStream_t() const {
    return s;
  }
};

struct Event {
  cudaEvent_t e;
  Event() {
    CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~Event() {
    cudaEventDestroy(e);
  }
  operator cudaEvent_t() const {
    return e;
  }
};

int main() {
  const int n = STRIP * STRIPS;
  unsigned char *hIn, *hOut, *dIn, *dOut[2];
  CUDA(cudaMallocHost(&hIn, n));
  CUDA(cudaMallocHost(&hOut, n));
  CUDA(cudaMalloc(&dIn, n));
  CUDA(cudaMalloc(&dOut[0], STRIP));
  CUDA(cudaMalloc(&dOut[1], STRIP));
  for (int i = 0; i < n; i++)
    hIn[i] = (unsigned char)(i * 3 + i / 100);
  CUDA(cudaMemcpy(dIn, hIn, n, cudaMemcpyHostToDevice));
  CUDA(cudaDeviceSynchronize());
  int wrong = 0;
  {
    Stream compute, copy;
    Event done[2];
    for (int c = 0; c < STRIPS; ++c) {
      const int b = c % 2;
      invertStrip<<<4, 128, 0, compute>>>(dIn + c * STRIP, dOut[b], STRIP);
      CUDA(cudaGetLastError());
      CUDA(cudaEventRecord(done[b], compute));
      CUDA(cudaStreamWaitEvent(copy, done[b], 0));
      CUDA(cudaMemcpyAsync(hOut + c * STRIP, dOut[b], STRIP, cudaMemcpyDeviceToHost, copy));
    }
    CUDA(cudaStreamSynchronize(copy));
    for (int i = 0; i < n; i++)
      wrong += hOut[i] != 255 - hIn[i];
  }
  CUDA(cudaFree(dIn));
  CUDA(cudaFree(dOut[0]));
  CUDA(cudaFree(dOut[1]));
  CUDA(cudaFreeHost(hIn));
  CUDA(cudaFreeHost(hOut));
  std::printf("strips: %d bytes wrong\n", wrong);
  return 0;
}
