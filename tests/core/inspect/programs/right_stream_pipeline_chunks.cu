// Copy/compute/copy pipeline over chunks; two buffer sets shared by an upload, a compute and a download stream, ordered by events.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define CHUNK 1024
#define NCHUNKS 9
#define NBUF 2

#define CK(x)                                                                                                          \
  {                                                                                                                    \
    cudaError_t e = (x);                                                                                               \
    if (e) {                                                                                                           \
      fprintf(stderr, "%s\n", cudaGetErrorString(e));                                                                  \
      exit(EXIT_FAILURE);                                                                                              \
    }                                                                                                                  \
  }

__global__ void gain(const short *in, float *out, int n, float g) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n)
    out[i] = g * in[i];
}

int main(void) {
  short *hIn;
  float *hOut;
  short *dIn[NBUF];
  float *dOut[NBUF];
  cudaStream_t up, work, down;
  cudaEvent_t uploaded[NBUF], computed[NBUF], drained[NBUF];
  int total = CHUNK * NCHUNKS - 100, errors = 0;

  CK(cudaMallocHost((void **)&hIn, total * sizeof(short)));
  CK(cudaHostAlloc((void **)&hOut, total * sizeof(float), cudaHostAllocDefault));
  for (int i = 0; i < total; i++)
    hIn[i] = (short)(i * 7 % 4001 - 2000);
  CK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));
  for (int b = 0; b < NBUF; b++) {
    CK(cudaMalloc((void **)&dIn[b], CHUNK * sizeof(short)));
    CK(cudaMalloc((void **)&dOut[b], CHUNK * sizeof(float)));
    CK(cudaEventCreateWithFlags(&uploaded[b], cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&computed[b], cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&drained[b], cudaEventDisableTiming));
  }

  for (int c = 0; c < NCHUNKS; c++) {
    int b = c % NBUF, off = c * CHUNK;
    int n = total - off < CHUNK ? total - off : CHUNK;
    /* the input buffer is free once the kernel of chunk c - NBUF is done
           (waiting for an event never recorded is no wait) */
    CK(cudaStreamWaitEvent(up, computed[b], 0));
    CK(cudaMemcpyAsync(dIn[b], hIn + off, n * sizeof(short), cudaMemcpyHostToDevice, up));
    CK(cudaEventRecord(uploaded[b], up));

    CK(cudaStreamWaitEvent(work, uploaded[b], 0));
    CK(cudaStreamWaitEvent(work, drained[b], 0));
    gain<<<(n + 127) / 128, 128, 0, work>>>(dIn[b], dOut[b], n, 0.5f);
    CK(cudaEventRecord(computed[b], work));

    CK(cudaStreamWaitEvent(down, computed[b], 0));
    CK(cudaMemcpyAsync(hOut + off, dOut[b], n * sizeof(float), cudaMemcpyDeviceToHost, down));
    CK(cudaEventRecord(drained[b], down));
  }
  CK(cudaStreamSynchronize(down));
  for (int i = 0; i < total; i++)
    errors += hOut[i] != 0.5f * hIn[i];

  for (int b = 0; b < NBUF; b++) {
    cudaFree(dIn[b]);
    cudaFree(dOut[b]);
    cudaEventDestroy(uploaded[b]);
    cudaEventDestroy(computed[b]);
    cudaEventDestroy(drained[b]);
  }
  cudaStreamDestroy(up);
  cudaStreamDestroy(work);
  cudaStreamDestroy(down);
  cudaFreeHost(hIn);
  cudaFreeHost(hOut);
  printf("pipeline: %d errors\n", errors);
  return 0;
}
