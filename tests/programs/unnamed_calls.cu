// Operators, constructors and destructors that look at their thread: a kernel calls them without naming them. test_split.sh looks at what
// cu2cpp --split says of each kernel, and that all give the same results either way.
#include <stdio.h>
#include <string.h>

#define SIZE 64

struct Place {
  int x;
  __device__ Place(int n) : x(threadIdx.x * n) {
  }
};
struct Sum {
  int x;
  __device__ Sum &operator+=(int y) {
    x += y * threadIdx.x;
    return *this;
  }
  __device__ operator int() const {
    return x + threadIdx.x;
  }
};
struct Scope {
  int *out;
  __device__ ~Scope() {
    out[threadIdx.x] += threadIdx.x;
  }
};
struct Twice {
  __device__ int operator()(int x) const {
    return 2 * x + threadIdx.x;
  }
};

__device__ int place_of(int n) {
  Place place(n);
  return place.x;
}
__device__ int sum_of(int n) {
  Sum sum = {n};
  sum += 3;
  return sum;
}
__device__ void leave(int *out) {
  Scope scope = {out};
}
template <class F> __device__ int applied(int x) {
  return F()(x);
}

__global__ void yes_constructor(int *out) {
  __syncthreads();
  out[threadIdx.x] = place_of(7);
}

__global__ void yes_operators(int *out) {
  __syncthreads();
  out[threadIdx.x] = sum_of(7);
}

__global__ void yes_destructor(int *out) {
  __syncthreads();
  leave(out);
}

__global__ void yes_call_operator(int *out) {
  __syncthreads();
  out[threadIdx.x] = applied<Twice>(5);
}

__global__ void no_object(int *out, int n) {
  Place place(n);
  __syncthreads();
  out[threadIdx.x] = place.x;
}

__global__ void no_row(int *out, const int *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Sum sum = {in[i]};
  sum += 3;
  if (i < SIZE)
    out[i] = sum;
}

static int *out, *in;

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
  cudaMallocManaged(&in, SIZE * sizeof *in);
  for (int i = 0; i < SIZE; i++)
    in[i] = i * i;
  RUN((yes_constructor<<<1, SIZE>>>(out)));
  RUN((yes_operators<<<1, SIZE>>>(out)));
  RUN((yes_destructor<<<1, SIZE>>>(out)));
  RUN((yes_call_operator<<<1, SIZE>>>(out)));
  RUN((no_object<<<1, SIZE>>>(out, 7)));
  RUN((no_row<<<SIZE / 4, 4>>>(out, in)));
  return 0;
}
