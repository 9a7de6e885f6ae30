// Zero copy: kernels read and write mapped pinned memory and registered memory; the host looks only after an event.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

struct Report {
  int found;
  int where[16];
};

__global__ void findMatches(const int *text, int n, int needle, Report *rep) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && text[i] == needle) {
    int k = atomicAdd_system(&rep->found, 1);
    if (k < 16)
      rep->where[k] = i;
  }
}

__global__ void bump(int *text, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    text[i] += 1;
}

int main() {
  const int n = 2048;
  CK(cudaSetDeviceFlags(cudaDeviceMapHost));
  int *text = (int *)aligned_alloc(4096, n * sizeof(int)), *dText;
  for (int i = 0; i < n; i++)
    text[i] = (i * 37) % 409;
  CK(cudaHostRegister(text, n * sizeof(int), cudaHostRegisterMapped));
  CK(cudaHostGetDevicePointer((void **)&dText, text, 0));
  Report *rep, *dRep;
  CK(cudaHostAlloc((void **)&rep, sizeof(Report), cudaHostAllocMapped));
  CK(cudaHostGetDevicePointer((void **)&dRep, rep, 0));
  cudaStream_t s;
  cudaEvent_t done;
  CK(cudaStreamCreate(&s));
  CK(cudaEventCreate(&done));
  int bad = 0;
  for (int r = 0; r < 3; r++) {
    rep->found = 0; // nothing is running now
    findMatches<<<8, 256, 0, s>>>(dText, n, 100, dRep);
    CK(cudaGetLastError());
    CK(cudaEventRecord(done, s));
    CK(cudaEventSynchronize(done));
    int want = 0;
    for (int i = 0; i < n; i++)
      want += text[i] == 100;
    bad += rep->found != want || want == 0 || want > 16;
    for (int k = 0; k < rep->found && k < 16; k++)
      bad += text[rep->where[k]] != 100;
    bump<<<4, 128, 0, s>>>(dText, n);
    CK(cudaStreamSynchronize(s));
    text[r] = 100; // the host may write again
  }
  CK(cudaHostUnregister(text));
  free(text);
  CK(cudaFreeHost(rep));
  CK(cudaEventDestroy(done));
  CK(cudaStreamDestroy(s));
  printf("zero_copy: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
