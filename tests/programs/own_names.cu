// Functions, types and macros of the program that are called like the device's own: what cu2cpp --split knows of those names must not
// be taken for what these do. test_split.sh looks at what it says of each kernel, and that all give the same results either way.
#include <stdio.h>
#include <string.h>

#define SIZE 64

// ---- results that are of the thread ----

__device__ int make_lane() {
  return threadIdx.x & 31;
}
struct Index {
  int x;
};
__device__ int saturate(Index i) {
  return i.x + threadIdx.x;
}
struct uchar {
  int value;
  __device__ uchar(int x) : value(x + threadIdx.x) {
  }
  __device__ operator int() const {
    return value;
  }
};
struct Row {
  __device__ int umin() const {
    return threadIdx.x / 4;
  }
  __device__ int of(int x) const {
    return umin() + x;
  }
};
namespace mine {
__device__ Index round(int x) {
  return {x * (int)threadIdx.x};
}
} // namespace mine
using namespace mine;

__global__ void yes_function_with_prefix(int *out) {
  int lane = make_lane();
  __syncthreads();
  out[threadIdx.x] = lane;
}

__global__ void yes_overload(int *out) {
  Index five = {5};
  int x = saturate(five);
  __syncthreads();
  out[threadIdx.x] = x;
}

__global__ void yes_type(int *out) {
  int x = uchar(3);
  __syncthreads();
  out[threadIdx.x] = x;
}

__global__ void yes_member(int *out) {
  Row row;
  out[threadIdx.x] = row.of(2);
  __syncthreads();
  out[threadIdx.x] += 1;
}

__global__ void yes_function_in_a_namespace(int *out) {
  int x = round(7).x;
  __syncthreads();
  out[threadIdx.x] = x;
}

// ---- arguments by reference, effects ----

__device__ void make_both(int &a, int b) {
  a = b;
}
__device__ int remainder(int *counter) {
  return atomicAdd(counter, 1);
}
__device__ void memset(int &x) {
  x += threadIdx.x;
}

__global__ void yes_reference(int *out) {
  int x = 1;
  make_both(x, threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = x;
}

__global__ void yes_reference_of_memory(int *out) {
  int x = 1;
  memset(x);
  __syncthreads();
  out[threadIdx.x] = x;
}

__global__ void yes_effect(int *out) {
  int x = remainder(&out[SIZE]) >= 0;
  __syncthreads();
  out[threadIdx.x] = x + out[SIZE];
}

// ---- functions that wait ----

__device__ int erfinv(int *x) {
  __syncthreads();
  return *x;
}
__device__ void atomic_meeting(int *sum) {
  atomicAdd(sum, 1);
  __syncthreads();
}
__device__ void atomic_wait(int *flag) {
  while (atomicAdd(flag, 0) == 0)
    ;
}
__device__ int __ldg(Index *i) {
  return __syncthreads_count(i->x);
}

__global__ void no_barrier(int *out) {
  int x = threadIdx.x;
  out[SIZE + threadIdx.x] = x;
  x += erfinv(&out[SIZE + (threadIdx.x ^ 63)]);
  out[threadIdx.x] = x;
}

__global__ void yes_barrier_in_an_atomic_function(int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomic_meeting(&sum);
  out[threadIdx.x] = sum;
}

__global__ void no_wait_in_an_atomic_function(int *out) {
  __shared__ int flag;
  if (threadIdx.x == 0)
    flag = 0;
  __syncthreads();
  if (threadIdx.x == 3)
    atomic_wait(&flag);
  if (threadIdx.x == 40)
    atomicExch(&flag, 1);
  out[threadIdx.x] = 1;
}

__global__ void no_count_in_a_load(int *out) {
  Index i = {(int)threadIdx.x % 3};
  __syncthreads();
  if (i.x >= 0)
    out[threadIdx.x] = __ldg(&i);
}

// ---- parameters that are functions ----

struct Lane {
  __device__ int operator()(int x) const {
    return threadIdx.x * x;
  }
};
template <class F> __device__ int applied(F max, int x) {
  return max(x);
}
__device__ int twice(int x) {
  return 2 * x;
}

__global__ void no_call_of_a_parameter(int *out) {
  Lane lane;
  __syncthreads();
  out[threadIdx.x] = applied(lane, 2);
}

// ---- which function is called ----

__device__ int met(float x) {
  __syncthreads();
  return (int)x;
}
__device__ int met(int x, int y = 100) {
  __syncthreads();
  return x + y;
}

template <class A, class B> struct Two {
  A a;
  B b;
};
template <class P, int N> __device__ int waits(int x) {
  __syncthreads();
  P p = {x, N};
  return p.a * p.b;
}

__global__ void no_default_argument(int *out) {
  int x = threadIdx.x;
  out[threadIdx.x] = met(x);
}

__global__ void yes_arguments_of_a_template(int *out) {
  int x = threadIdx.x;
  out[threadIdx.x] = waits<Two<int, short>, 4>(x);
}

// ---- names of the device that are the device's here, too ----

__global__ void yes_own_function(int *out, int n) {
  int x = twice(max(n, 3)), y = min(n, 2) + make_int2(n, 1).x;
  for (int i = 0; i < umax(y & 3, 1); i++)
    __syncthreads();
  out[threadIdx.x] = x + y;
}

static int *out;

#define RUN(launch)                                                                                                    \
  do {                                                                                                                 \
    memset(out, 0, 2 * SIZE * sizeof *out);                                                                            \
    launch;                                                                                                            \
    printf("%s: %s", #launch, cudaGetErrorString(cudaDeviceSynchronize()));                                            \
    for (int i = 0; i < SIZE; i++)                                                                                     \
      printf(" %d", out[i]);                                                                                           \
    printf("\n");                                                                                                      \
  } while (0)

int main() {
  cudaMallocManaged(&out, 2 * SIZE * sizeof *out);
  RUN((yes_function_with_prefix<<<1, SIZE>>>(out)));
  RUN((yes_overload<<<1, SIZE>>>(out)));
  RUN((yes_type<<<1, SIZE>>>(out)));
  RUN((yes_member<<<1, SIZE>>>(out)));
  RUN((yes_function_in_a_namespace<<<1, SIZE>>>(out)));
  RUN((yes_reference<<<1, SIZE>>>(out)));
  RUN((yes_reference_of_memory<<<1, SIZE>>>(out)));
  RUN((yes_effect<<<1, SIZE>>>(out)));
  RUN((no_barrier<<<1, SIZE>>>(out)));
  RUN((yes_barrier_in_an_atomic_function<<<1, SIZE>>>(out)));
  RUN((no_wait_in_an_atomic_function<<<1, SIZE>>>(out)));
  RUN((no_count_in_a_load<<<1, SIZE>>>(out)));
  RUN((no_call_of_a_parameter<<<1, SIZE>>>(out)));
  RUN((no_default_argument<<<1, SIZE>>>(out)));
  RUN((yes_arguments_of_a_template<<<1, SIZE>>>(out)));
  RUN((yes_own_function<<<1, SIZE>>>(out, 5)));
  return 0;
}
