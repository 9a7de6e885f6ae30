// finding: livelock 4
// Nobody sets what the threads wait for.
__global__ void k(volatile int *a) {
  while (a[0] == 0)
    __nanosleep(10);
}
int main() {
  int *a;
  cudaMalloc((void **)&a, 4);
  cudaMemset(a, 0, 4);
  k<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  cudaFree(a);
}
