// threadIdx in a function that runs on the host, too, before a kernel and after it.
#include <cstdio>
struct place {
  __host__ __device__ unsigned operator()() const {
    return threadIdx.x + blockIdx.x * blockDim.x;
  }
};
__global__ void k(unsigned *x) {
  x[threadIdx.x] = place()();
  __syncthreads();
  x[threadIdx.x] += place()();
}
int main() {
  unsigned *x, before = place()();
  cudaMallocManaged(&x, 128);
  k<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  unsigned sum = before + place()();
  for (int i = 0; i < 32; i++)
    sum += x[i] != 2u * i;
  puts(sum ? "FAIL" : "PASS");
  return sum != 0;
}
