// finding: race-stream 22 51
// The event is recorded before the copy of the frame is enqueued, so the stream of the filter does not wait for the copy.
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define W 64
#define H 32
#define FRAMES 4
#define OK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e = (x);                                                                                               \
    if (e != cudaSuccess) {                                                                                            \
      printf("%s -> %s\n", #x, cudaGetErrorString(e));                                                                 \
      exit(2);                                                                                                         \
    }                                                                                                                  \
  } while (0)

__global__ void gammaCorrect(const unsigned char *in, unsigned char *out, int n, float gamma) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = (unsigned char)(255.0f * powf(in[i] / 255.0f, gamma) + 0.5f);
}

int main(void) {
  const int n = W * H;
  unsigned char *h_in, *h_out, *d_in[2], *d_out[2];
  OK(cudaMallocHost((void **)&h_in, n * FRAMES));
  OK(cudaMallocHost((void **)&h_out, n * FRAMES));
  for (int i = 0; i < n * FRAMES; i++)
    h_in[i] = (unsigned char)((i * 7 + i / n * 50) & 255);

  cudaStream_t up, work;
  cudaEvent_t ready[2], done[2];
  OK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  for (int b = 0; b < 2; b++) {
    OK(cudaMalloc((void **)&d_in[b], n));
    OK(cudaMalloc((void **)&d_out[b], n));
    OK(cudaMemset(d_in[b], 0, n));
    OK(cudaEventCreateWithFlags(&ready[b], cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&done[b], cudaEventDisableTiming));
  }
  OK(cudaDeviceSynchronize());

  for (int f = 0; f < FRAMES; f++) {
    int b = f & 1;
    if (f >= 2)
      OK(cudaStreamWaitEvent(up, done[b], 0)); // the buffer is free again
    OK(cudaEventRecord(ready[b], up));
    OK(cudaMemcpyAsync(d_in[b], h_in + f * n, n, cudaMemcpyHostToDevice, up));
    OK(cudaStreamWaitEvent(work, ready[b], 0));
    gammaCorrect<<<(n + 127) / 128, 128, 0, work>>>(d_in[b], d_out[b], n, 0.5f);
    OK(cudaEventRecord(done[b], work));
    OK(cudaMemcpyAsync(h_out + f * n, d_out[b], n, cudaMemcpyDeviceToHost, work));
  }
  OK(cudaStreamSynchronize(work));
  OK(cudaStreamSynchronize(up));

  int wrong = 0;
  for (int i = 0; i < n * FRAMES; i++) {
    int ref = (int)(255.0f * powf(h_in[i] / 255.0f, 0.5f) + 0.5f);
    if (abs(ref - h_out[i]) > 1)
      wrong++;
  }
  printf("gamma: %d wrong pixels in %d frames\n", wrong, FRAMES);
  for (int b = 0; b < 2; b++) {
    OK(cudaFree(d_in[b]));
    OK(cudaFree(d_out[b]));
    OK(cudaEventDestroy(ready[b]));
    OK(cudaEventDestroy(done[b]));
  }
  OK(cudaStreamDestroy(up));
  OK(cudaStreamDestroy(work));
  OK(cudaFreeHost(h_in));
  OK(cudaFreeHost(h_out));
  return wrong ? 1 : 0;
}
