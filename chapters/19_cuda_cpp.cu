// Lesson 19, docs/19_cuda_cpp.md: the C++ that .cu files use, for C programmers.
// prints: ^x = 1 2 3 4 5 6 7 8$
// prints: ^point: 3 4, range: 2 3, flag: true$
// prints: ^extern "C": 21 / 3 = 7$
// prints: ^x = 2 4 6 8, calls = 4$
// prints: ^block = 32 x 8 x 1$
// prints: ^v = 1 2 3 5, 16 bytes$
// prints: ^threads: 96, then 192$
// prints: ^float sums of 4: 6 22$
// prints: ^double sums of 2: 1 5 9 13$
// prints: ^1000 elements: 4 blocks of 256, 8 blocks of 128$
// prints: ^1 is an int, 1\.0f is a float, 1\.0 is a double$
// prints: ^a = 2, b = 1$
// prints: ^sum\(\) = 3$
// prints: ^in the kernel: the square root of 9 is 3$
// prints: ^cudaErrorInvalidDevice: invalid device ordinal$
#include "kernels.h"
#include <assert.h>

// ---- kernels: functions that many threads run; lesson 20 explains them -------------------------------------------------

// [add_one]
// A kernel: a function that many threads run. threadIdx.x is a different number in each of them.
__global__ void add_one(int *x) {
  x[threadIdx.x] += 1;
}
// [end]

// [specifiers]
__constant__ int factor; // in device memory: kernels can only read it
__device__ int calls;    // in device memory: kernels can read and write it

__host__ __device__ int times(int a, int b) { // compiled for the host and for the device
  return a * b;
}

__global__ void scale(int *x) {
  __shared__ int copy[4]; // one array, which all threads of a block share
  int t = threadIdx.x;    // a local variable: each thread has its own
  copy[t] = x[t];
  x[t] = times(copy[t], factor);
  atomicAdd(&calls, 1);
}
// [end]

// [count]
__global__ void count_threads(int *count) {
  atomicAdd(count, 1); // adds 1 in a single step, which no other thread can interrupt
}
// [end]

// [sums]
template <class T, int COUNT> __global__ void sum_groups(T *sums, const T *x) {
  static_assert(COUNT >= 1 && COUNT <= 32, "COUNT must be between 1 and 32");
  T sum = 0;
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    sum += x[threadIdx.x * COUNT + i];
  sums[threadIdx.x] = sum;
}
// [end]

// [root]
__global__ void root(float *x) {
  assert(x[0] >= 0); // if this is false, the kernel ends with an error
  float y = sqrtf(x[0]);
  printf("in the kernel: the square root of %g is %g\n", (double)x[0], (double)y);
  x[0] = y;
}
// [end]

// ---- host functions ------------------------------------------------------------------------------------------------------

// [types]
struct Point {
  int x, y;
};

typedef struct Range {
  int first, count;
} Range;
// [end]

// [extern]
extern "C" int third(int n) { // symbol in the object file: third
  return n / 3;
}
// [end]

// [default]
static constexpr int blocks_for(int n, int threads = 256) {
  return (n + threads - 1) / threads;
}
static_assert(blocks_for(257) == 2, "the number of blocks is rounded up");
// [end]

// [overloads]
static const char *type_of(int) {
  return "an int";
}
static const char *type_of(float) {
  return "a float";
}
static const char *type_of(double) {
  return "a double";
}
// [end]

// [swap]
static void swap_ints(int &a, int &b) { // C: int *a, int *b
  int old = a;                          // C: *a
  a = b;
  b = old;
}
// [end]

// ---- the lesson ----------------------------------------------------------------------------------------------------------

static void print_ints(const char *name, const int *x, int n, const char *end) {
  printf("%s =", name);
  for (int i = 0; i < n; i++)
    printf(" %d", x[i]);
  printf("%s", end);
}

// Memory that host code and kernels can both access, set to 0.
static void *shared_by_both(size_t bytes) {
  void *memory = NULL;
  CHECK(cudaMallocManaged(&memory, bytes));
  memset(memory, 0, bytes);
  return memory;
}

static void two_kinds_of_code(void) {
  heading("Host code and device code");
  // [host]
  int x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int *d_x; // d_: an address in device memory
  CHECK(cudaMalloc(&d_x, sizeof x));
  CHECK(cudaMemcpy(d_x, x, sizeof x, cudaMemcpyHostToDevice));
  add_one<<<1, 8>>>(d_x); // 8 threads run add_one
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(x, d_x, sizeof x, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(d_x));
  // [end]
  print_ints("x", x, 8, "\n");
}

static void c_and_cpp(void) {
  heading("C that is different in C++");
  // [c]
  int *values = (int *)malloc(2 * sizeof(int)); // the cast is required
  Point point = {3, 4};                         // C: struct Point point
  Range range = {.first = 2, .count = 3};       // in the order of the declaration
  bool flag = true;                             // keywords, without <stdbool.h>
  const int n = 2;                              // a constant expression, so sums is an ordinary array
  int sums[n] = {point.x + point.y, range.first + range.count};
  // [end]
  memcpy(values, sums, sizeof sums);
  printf("point: %d %d, range: %d %d, flag: %s\n", point.x, point.y, range.first, range.count, flag ? "true" : "false");
  printf("sums: %d %d\n", values[0], values[1]);
  printf("extern \"C\": 21 / 3 = %d\n", third(21));
  free(values);
}

static void specifiers(void) {
  heading("Specifiers");
  int *x = (int *)shared_by_both(4 * sizeof(int));
  for (int i = 0; i < 4; i++)
    x[i] = i + 1;
  // [symbols]
  const int two = 2;
  CHECK(cudaMemcpyToSymbol(factor, &two, sizeof two));
  scale<<<1, 4>>>(x);
  CHECK_LAUNCH();
  int host_calls = 0;
  CHECK(cudaMemcpyFromSymbol(&host_calls, calls, sizeof host_calls));
  // [end]
  print_ints("x", x, 4, "");
  printf(", calls = %d\n", host_calls);
  CHECK(cudaFree(x));
}

static void vectors(void) {
  heading("Vector types");
  // [vectors]
  dim3 block(32, 8); // x = 32, y = 8; z is 1
  printf("block = %u x %u x %u\n", block.x, block.y, block.z);
  float4 v = make_float4(1, 2, 3, 4);
  v.w += 1; // the members are x, y, z and w
  printf("v = %g %g %g %g, %d bytes\n", (double)v.x, (double)v.y, (double)v.z, (double)v.w, (int)sizeof v);
  // [end]
}

static void launches(void) {
  heading("The launch");
  int *count = (int *)shared_by_both(sizeof(int));
  // [launch]
  dim3 grid(3, 2), block(4, 4);
  count_threads<<<grid, block>>>(count);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize()); // waits until the kernel has finished
  printf("threads: %d", *count);
  count_threads<<<6, 16, 0, 0>>>(count); // also 6 blocks of 16 threads
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());
  printf(", then %d\n", *count);
  // [end]
  CHECK(cudaFree(count));
}

static void templates(void) {
  heading("Templates");
  float *x = (float *)shared_by_both(8 * sizeof(float)), *sums = (float *)shared_by_both(2 * sizeof(float));
  double *dx = (double *)shared_by_both(8 * sizeof(double)), *dsums = (double *)shared_by_both(4 * sizeof(double));
  for (int i = 0; i < 8; i++)
    dx[i] = x[i] = (float)i;
  // [instances]
  sum_groups<float, 4><<<1, 2>>>(sums, x);    // 2 threads add 4 floats each
  sum_groups<double, 2><<<1, 4>>>(dsums, dx); // 4 threads add 2 doubles each
  // [end]
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());
  printf("float sums of 4: %g %g\n", (double)sums[0], (double)sums[1]);
  printf("double sums of 2: %g %g %g %g\n", dsums[0], dsums[1], dsums[2], dsums[3]);
  CHECK(cudaFree(x));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dsums));
}

static void functions(void) {
  heading("Functions");
  // [calls]
  printf("1000 elements: %d blocks of 256, %d blocks of 128\n", blocks_for(1000), blocks_for(1000, 128));
  printf("1 is %s, 1.0f is %s, 1.0 is %s\n", type_of(1), type_of(1.0f), type_of(1.0));
  int a = 1, b = 2;
  swap_ints(a, b); // C: swap_ints(&a, &b)
  printf("a = %d, b = %d\n", a, b);
  // [end]
  // [lambda]
  auto sum = [=] { return a + b; };
  printf("sum() = %d\n", sum());
  // [end]
}

static void in_device_code(void) {
  heading("printf and assert in a kernel");
  float *x = (float *)shared_by_both(sizeof(float));
  x[0] = 9;
  root<<<1, 1>>>(x);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(x));
}

static void errors(void) {
  heading("Errors");
  // [errors]
  cudaError_t error = cudaSetDevice(1000); // there is no such device
  printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  // [end]
  (void)cudaGetLastError(); // clears the error, so that no later check reports it
}

int main(int argc, char **argv) {
  chapter_begin(argc, argv, "CUDA C++", "The C++ that .cu files use, for C programmers.");
  two_kinds_of_code();
  c_and_cpp();
  specifiers();
  vectors();
  launches();
  templates();
  functions();
  in_device_code();
  errors();
  return 0;
}
