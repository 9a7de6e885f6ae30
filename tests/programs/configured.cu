// Calls of functions that have a kernel's name, and uses of kernels that are no calls: nvcc takes all of these.
#include <algorithm>
#include <stdio.h>
#include <vector>
using namespace std;

__global__ void hello(int *x, int n) {
  *x += n;
}
void hello(int *x, float n) { // an overload of the host
  *x += (int)(10 * n);
}
__global__ void sort(int *, int) {
}
__global__ void swap(int *) {
}
__global__ void fill(int *x, int n) {
  *x = n;
}
__global__ void outer(int *x) {
  hello<<<1, 1>>>(x, 100);
}
struct Swapper {
  int value;
  void swap(int *x) {
    *x += value;
  }
  void call(int *x) {
    swap(x);
  }
};
namespace device {
__global__ void work(int *) {
}
} // namespace device
namespace host {
void work(int *x) {
  *x += 1000;
}
} // namespace host
template <void (*KERNEL)(int *, int)> void run(int *x, int n) {
  KERNEL<<<1, 1>>>(x, n);
}
template <class T> void add(T *x, float n) {
  hello(x, n);
}
#define HELLO(x, n) hello<<<1, 1>>>(x, n)
void by_pointer(void (*fill)(int *, int), int *x) {
  fill(x, 10000);
}
void add_one(int *x, int n) {
  *x += n;
}

int main() {
  int *x, expected = 0;
  cudaMallocManaged(&x, sizeof *x);
  *x = 0;
  vector<int> v = {3, 1, 2}, w;
  sort(v.begin(), v.end());
  swap(v, w);
  fill(w.begin(), w.end(), 5);
  hello(x, 2.0f);
  if (v.size() > 3)
    hello(x, 1.0f);
  else
    HELLO(x, 1);
  cudaDeviceSynchronize();
  run<hello>(x, 2);
  cudaDeviceSynchronize();
  outer<<<1, 1>>>(x);
  cudaDeviceSynchronize();
  host::work(x);
  by_pointer(add_one, x);
  add(x, 3.0f);
  Swapper swapper = {100000};
  swapper.call(x);
  void (*pointer)(int *, int) = fill;
  void *arguments[] = {&x};
  cudaLaunchKernel((void *)device::work, dim3(1), dim3(1), arguments, 0, 0);
  cudaDeviceSynchronize();
  expected = 20 + 1 + 2 + 100 + 1000 + 10000 + 30 + 100000;
  printf(*x == expected && pointer && w[0] == 5 ? "PASS\n" : "FAIL: %d, not %d\n", *x, expected);
  return *x != expected;
}
