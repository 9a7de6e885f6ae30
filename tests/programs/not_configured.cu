// clang-format off
// Does not compile: kernels that are called like functions. Each error has to be in these lines.
#include <stdio.h>
__global__ void hello(int n) {
  printf("thread %d of %d\n", threadIdx.x, n);
}
template <class T> __global__ void set(T *x, T by) {
  *x = by;
}
__global__ void outer(int *x) {
  set(x, 3);
}
int main(int argc, char **argv) {
  if (argc > 1)
    hello(3);
  else
    (void)hello(4);
  int x;
  ::set<int>(&x, argc);
  outer<<<1, 1>>>(&x);
}
