// Kernels that launch kernels, in streams that they make; a kernel's clock(); threads that wait by atomic functions.
#include <cstdio>
#include <ctime>

__global__ void child(int depth, int *n) {
  atomicAdd(n, 1);
  if (depth > 0) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    child<<<1, 1, 0, stream>>>(depth - 1, n);
    cudaStreamDestroy(stream);
  }
}
__global__ void parent(int *n) {
  if (threadIdx.x == 0)
    child<<<2, 32>>>(0, n);
  __syncthreads();
  if (threadIdx.x == 1)
    n[1] = n[0]; // a barrier orders nothing in CUDA; the host's order after the grid does
}
// The first thread launches, the others write afterwards what the child reads: it runs when they have.
__global__ void sum(const int *from, int *to, int count) {
  for (int i = 0; i < count; i++)
    *to += from[i];
}
__global__ void writes(int *data, int *to) {
  if (threadIdx.x == 0)
    sum<<<1, 1>>>(data, to, 64);
  data[threadIdx.x] = (int)threadIdx.x;
}
// What waits for a child sees what it did; a copy comes after it.
__global__ void waits(int *data, int *to) {
  *to = 0;
  sum<<<1, 1>>>(data, to, 64);
  cudaDeviceSynchronize();
  data[0] = *to;
  sum<<<1, 1>>>(data, to, 1);
  cudaMemcpyAsync(data + 1, to, sizeof(int), cudaMemcpyDeviceToDevice, 0);
}
__global__ void timed(long long *cycles) {
  const clock_t begin = clock();
  while (clock() - begin < 1000000) {
  }
  cycles[0] = (long long)(clock() - begin);
}
__global__ void handed_on(int *flag) {
  if (threadIdx.x == 0)
    while (atomicAdd(flag, 0) == 0) {
    }
  else
    atomicExch(flag, 1);
}

int main() {
  int *n, failed = 0;
  long long *cycles;
  cudaMallocManaged(&n, 66 * sizeof *n);
  cudaMallocManaged(&cycles, 8);
  n[0] = n[1] = 0;
  child<<<1, 1>>>(5, n);
  failed |= cudaDeviceSynchronize() != cudaSuccess || n[0] != 6;
  printf("recursion: %d\n", n[0]);
  n[0] = 0;
  parent<<<1, 64>>>(n);
  failed |= cudaDeviceSynchronize() != cudaSuccess || n[0] != 64;
  printf("children: %d\n", n[0]);
  n[0] = 0;
  writes<<<1, 64>>>(n + 1, n);
  failed |= cudaDeviceSynchronize() != cudaSuccess || n[0] != 64 * 63 / 2;
  printf("after the block: %d\n", n[0]);
  waits<<<1, 1>>>(n + 1, n);
  failed |= cudaDeviceSynchronize() != cudaSuccess || n[1] != 64 * 63 / 2 || n[0] != 64 * 63 || n[2] != n[0];
  printf("waits: %d %d %d\n", n[0], n[1], n[2]);
  timed
    <<<1, 1>>>(cycles);
  failed |= cudaDeviceSynchronize() != cudaSuccess || cycles[0] < 1000000;
  n[0] = 0;
  handed_on<<<1, 64>>>(n);
  failed |= cudaDeviceSynchronize() != cudaSuccess || n[0] != 1;
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
