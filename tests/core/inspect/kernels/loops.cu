// Kernels that ./ferry inspect runs as loops over their block's threads, and some that it cannot: tests/core/inspect/test_loops.sh asks
// for one of them by its name.
#include <cassert>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define N 96

// The array's bounds are checked: of a loop the report does not say which column.
__global__ void beyond(int *out) {
  __shared__ int part[N];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x + 1]; //@beyond
}

__global__ void null_pointer(int *out) {
  __shared__ int part[N];
  part[threadIdx.x] = 1;
  __syncthreads();
  int *where = threadIdx.x == 70 ? nullptr : out + threadIdx.x;
  *where = part[threadIdx.x];
}

__global__ void asserts(int *out) {
  __shared__ int part[N];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  assert(part[threadIdx.x] != 71);
  out[threadIdx.x] = part[N - 1 - threadIdx.x];
}

// Whether a warp's lanes agree hangs on the block: those of 48 threads run one by one, which the block is told of before it begins.
__global__ void agrees(int *out) {
  __shared__ int part[N];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int sum = part[blockDim.x - 1 - threadIdx.x];
  if (threadIdx.x < blockDim.x / 3)
    sum += __shfl_down_sync(0xffffffffu, sum, 1);
  out[threadIdx.x] = sum;
}

__global__ void votes(int *out) {
  __shared__ int part[N];
  part[threadIdx.x] = threadIdx.x;
  const int odd = __syncthreads_count(threadIdx.x & 1); // orders what stands before it, too
  out[threadIdx.x] = part[N - 1 - threadIdx.x] + odd;
}

// A function that asks for its thread itself.
__device__ int place() {
  return N - 1 - threadIdx.x;
}
__global__ void asks(int *out) {
  __shared__ int part[N];
  part[place()] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}

// A region that does nothing but call a member, which reads memory.
struct view {
  const int *p;
  __device__ int at(int i) const {
    return p[i];
  }
};
__global__ void views(int *out, view v) {
  __shared__ int part[N];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int x = v.at(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = x + part[N - 1 - threadIdx.x];
}

// They compile to the same code, at lines of their own.
__global__ void alike(int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] + in[i / 2];
}
__global__ void sums(int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] + in[i / 2];
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  int *in, *out, host[4 * N];
  unsigned int sum = 0;
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof host);
  cudaMemset(in, 0, sizeof host);
  cudaMemset(out, 0, sizeof host);
  if (strcmp(name, "beyond") == 0)
    beyond<<<1, N>>>(out);
  if (strcmp(name, "null_pointer") == 0)
    null_pointer<<<1, N>>>(out);
  if (strcmp(name, "asserts") == 0)
    asserts<<<1, N>>>(out);
  if (strcmp(name, "agrees") == 0) {
    agrees<<<1, N>>>(out);
    agrees<<<1, 48>>>(out + N);
  }
  if (strcmp(name, "votes") == 0)
    votes<<<1, N>>>(out);
  if (strcmp(name, "asks") == 0)
    asks<<<1, N>>>(out);
  if (strcmp(name, "views") == 0)
    views<<<1, N>>>(out, view{in});
  if (strcmp(name, "sums") == 0) {
    sums<<<4, N>>>(out, in, 4 * N - 5);
    alike<<<4, N>>>(out, in, 4 * N - 5);
  }
  cudaError_t error = cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 4 * N && error == cudaSuccess; i++)
    sum += host[i] * (i + 1);
  printf("%s: %u\n", cudaGetErrorName(error), sum);
  cudaFree(in);
  cudaFree(out);
  return 0;
}
