// SPDX-License-Identifier: MIT
// Kernels and calls that go wrong: what is reported, and that the program goes on. Each bug runs in a process of its own.
// run: FERRY_SIM_MODE=lazy
// run: FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run check: FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=sync
#include <assert.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "apart.h"
#include "check.h"

enum { COUNT = 100 };

// After a bug: everything on the device fails with `error`, other devices work, and a reset helps.
static void expect_sticky(cudaError_t error) {
  float *x;
  expect(101, cudaDeviceSynchronize() == error);
  expect(102, cudaGetLastError() == error);
  expect(103, cudaGetLastError() == error);
  expect(104, cudaMalloc((void **)&x, 16) == error);
  int devices;
  expect(105, cudaGetDeviceCount(&devices) == cudaSuccess);
  if (devices > 1) {
    expect(106, cudaSetDevice(1) == cudaSuccess && cudaGetLastError() != error);
    expect(107, cudaMalloc((void **)&x, 16) == cudaSuccess && cudaMemset(x, 0, 16) == cudaSuccess);
    expect(108, cudaDeviceSynchronize() == cudaSuccess && cudaSetDevice(0) == cudaSuccess);
  }
  expect(109, cudaDeviceReset() == cudaSuccess && cudaGetLastError() == cudaSuccess);
  expect(110, cudaMalloc((void **)&x, 16) == cudaSuccess && cudaFree(x) == cudaSuccess);
}

static float *allocate(void) {
  float *x;
  expect(99, cudaMalloc((void **)&x, COUNT * sizeof *x) == cudaSuccess);
  expect(98, cudaMemset(x, 0, COUNT * sizeof *x) == cudaSuccess);
  return x;
}

// ---- kernels ----

__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= factor;
}

__global__ void return_early(float *x, int n) {
  if (threadIdx.x >= (unsigned int)n)
    return;
  __syncthreads();
  x[threadIdx.x] = 1.0f;
}

__global__ void wait_at_two_barriers(float *x) {
  if (threadIdx.x < 32) {
    __syncthreads();
    x[threadIdx.x] = 1.0f;
  } else {
    __syncthreads();
    x[threadIdx.x] = 2.0f;
  }
}

__global__ void shuffle_with_half_a_warp(float *x) {
  float v = 1.0f;
  if (threadIdx.x < 16)
    v += __shfl_down_sync(0xffffffffu, v, 8);
  else
    __syncthreads();
  x[threadIdx.x] = v;
}

__global__ void shuffle_outside_its_mask(float *x) {
  x[threadIdx.x] = __shfl_sync(0x0000ffffu, x[threadIdx.x], 0);
}

__global__ void assert_below(const float *x, float limit) {
  assert(x[threadIdx.x] < limit);
}

__global__ void write_far_out(float *x) {
  x[1 << 26] = 1.0f;
}

#ifndef CUDASIM_STATIC_SHARED
__global__ void write_through(float *const *pointer) {
  **pointer = 1.0f;
}
#endif

__global__ void write_shared(float *x) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = 1.0f;
  __syncthreads();
  x[threadIdx.x] = shared[0];
}

__device__ int descend(int depth) {
  volatile int frame[256];
  frame[0] = depth;
  return depth == 0 ? 0 : descend(depth - 1) + frame[0];
}

// One of the loop's threads, which the compiler may run in vectors, uses memory that is not there.
__global__ void write_far_out_once(float *x, int which) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i == which ? 1L << 30 : i] = 1.0f;
}

__global__ void overflow_the_stack(float *x) {
  __syncthreads();
  x[threadIdx.x] = (float)descend(100000);
}

__global__ void poll_for_ever(int *flag) {
  while (atomicCAS(flag, 1, 2) != 1)
    continue;
}

// ---- bugs ----

static void bug_return_early(void) {
  return_early<<<1, 128>>>(allocate(), COUNT);
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_two_barriers(void) {
  wait_at_two_barriers<<<1, 64>>>(allocate());
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_half_a_warp(void) {
  shuffle_with_half_a_warp<<<1, 32>>>(allocate());
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_outside_its_mask(void) {
  shuffle_outside_its_mask<<<1, 32>>>(allocate());
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_far_out(void) {
  write_far_out<<<1, 1>>>(allocate());
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_far_out_once(void) {
  write_far_out_once<<<3, 32>>>(allocate(), 2 * 32 + 17);
  expect_sticky(cudaErrorIllegalAddress);
}

#ifdef CUDASIM_STATIC_SHARED
static void bug_one_too_far(void) {
  scale<<<1, 128>>>(allocate(), 2.0f, COUNT + 1);
  expect(1, cudaDeviceSynchronize() == cudaSuccess);
}

static void bug_beyond_dynamic_shared(void) {
  write_shared<<<1, 32, 31 * sizeof(float)>>>(allocate());
  expect(1, cudaDeviceSynchronize() == cudaSuccess);
}
#endif

static void bug_null(void) {
  scale<<<1, COUNT>>>(NULL, 2.0f, COUNT);
  expect_sticky(cudaErrorIllegalAddress);
}

#if defined(__x86_64__) && !defined(__CUDACC__) && !defined(CUDASIM_STATIC_SHARED)
#define KNOWS_MISALIGNED // a vector of the host's own, which the compiler never takes apart
typedef float host_vector __attribute__((vector_size(16)));
__global__ void read_between(float *x) {
  const host_vector four = *(const volatile host_vector *)(x + 1);
  x[0] = four[0];
}
static void bug_misaligned(void) {
  read_between<<<1, 1>>>(allocate());
  expect_sticky(cudaErrorIllegalAddress);
}
#endif

#ifndef CUDASIM_STATIC_SHARED
static void bug_null_in_device_memory(void) {
  write_through<<<1, 1>>>((float *const *)allocate());
  expect_sticky(cudaErrorIllegalAddress);
}
#endif

// 512 KiB of local memory is what a thread may have.
__global__ void use_local_memory(int *sums, int words) {
  volatile int local[122880]; // 480 KiB
  for (int i = 0; i < words; i++)
    local[i] = i ^ (int)threadIdx.x;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < words; i++)
    sum += (local[i] ^ (int)threadIdx.x) == i;
  sums[threadIdx.x] = sum;
}

static void use_large_arrays(void) {
  enum { WORDS = 122880 };
  int sums[COUNT], *device = (int *)allocate();
  use_local_memory<<<1, COUNT>>>(device, WORDS);
  expect(1, cudaMemcpy(sums, device, sizeof sums, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 0; i < COUNT; i++)
    expect(2, sums[i] == WORDS);
}

__global__ void meet(float *x) {
  atomicAdd(x, 1.0f);
  __syncthreads();
  if (threadIdx.x == 0 && *x != (float)blockDim.x)
    *x = -1.0f;
}

// A thread's stack counts as the process's data only as far as the thread has come to it.
static void use_many_stacks(void) {
  const struct rlimit limit = {400 << 20, 400 << 20};
  float sum, *x = allocate();
  expect(1, setrlimit(RLIMIT_DATA, &limit) == 0);
  meet<<<1, 1024>>>(x);
  expect(2, cudaMemcpy(&sum, x, sizeof sum, cudaMemcpyDeviceToHost) == cudaSuccess);
  expect(3, sum == 1024.0f);
}

#ifndef CUDASIM_STATIC_SHARED // with the address sanitizer a thread has more
__global__ void use_more_than_a_thread_has(float *x, int words) {
  volatile float local[150000]; // 586 KiB
  for (int i = 0; i < words; i++)
    local[i] = (float)i;
  __syncthreads();
  x[threadIdx.x] = local[threadIdx.x];
}

static void bug_local(void) {
  use_more_than_a_thread_has<<<1, COUNT>>>(allocate(), 150000);
  expect_sticky(cudaErrorIllegalAddress);
}

#endif

static void bug_stack(void) {
  overflow_the_stack<<<1, 32>>>(allocate());
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_assert(void) {
  float *x = allocate();
  assert_below<<<1, COUNT>>>(x, 1.0f); // holds
  expect(1, cudaDeviceSynchronize() == cudaSuccess);
  assert_below<<<2, COUNT>>>(x, -1.0f);
  expect_sticky(cudaErrorAssert);
}

static void bug_assert_on_the_host(void) {
  assert(COUNT < 0);
}

static void bug_host_pointer(void) {
  float *x = (float *)calloc(COUNT, sizeof *x);
  scale<<<1, COUNT>>>(x, 2.0f, COUNT);
  expect(1, x[0] == 0);
  free(x);
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_freed_pointer(void) {
  float *x = allocate();
  expect(1, cudaFree(x) == cudaSuccess);
  scale<<<1, COUNT>>>(x, 2.0f, COUNT);
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_other_device(void) {
  expect(1, cudaSetDevice(1) == cudaSuccess);
  float *x = allocate();
  expect(2, cudaSetDevice(0) == cudaSuccess);
  scale<<<1, COUNT>>>(x, 2.0f, COUNT);
  expect(3, cudaDeviceSynchronize() == cudaErrorIllegalAddress && cudaDeviceReset() == cudaSuccess);
  expect(4, cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess); // and with access it is allowed
  scale<<<1, COUNT>>>(x, 2.0f, COUNT);
  expect(5, cudaDeviceSynchronize() == cudaSuccess);
}

static void bug_livelock(void) {
  poll_for_ever<<<1, 1>>>((int *)allocate());
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_host_operand(void) {
  float one = 1, x[4] = {0}, *c = allocate();
  cublasHandle_t handle;
  expect(1, cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, c, 2, &one, c, 2);
  cublasDestroy(handle);
  expect_sticky(cudaErrorIllegalAddress);
}

static void bug_operand_too_small(void) {
  float one = 1, *c = allocate();
  cublasHandle_t handle;
  expect(1, cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 10, 10, 11, &one, c, 10, c, 11, &one, c, 10);
  cublasDestroy(handle);
  expect_sticky(cudaErrorIllegalAddress);
}

// ---- tests ----

static void expect_reported(void (*bug)(void), const char *what) {
  int status = run_apart(bug);
  if (status != 0)
    fail_msg("expectation %d failed; it printed:\n%s", status, output);
  expect_output(what);
}

static void divergent_barriers(void **state) {
  (void)state;
  expect_reported(bug_return_early, "threads of the block have returned without coming to it");
  expect_output("kernel return_early <<<(1,1,1), (128,1,1)>>>, block (0,0,0)");
  expect_output(" 100 thread(s), the first (0,0,0): waiting in __syncthreads at ");
  expect_output("  28 thread(s), the first (100,0,0): returned from the kernel");
  expect_output("test_errors.cu:");
  expect_reported(bug_two_barriers, "threads of one block wait at different barriers");
}

static void warp_functions_that_cannot_meet(void **state) {
  (void)state;
  expect_reported(bug_half_a_warp, "a warp function waits for lanes of its mask that will never come");
  expect_output("  16 thread(s), the first (0,0,0): waiting in a warp function");
  expect_reported(bug_outside_its_mask, "a lane called a warp function without being in its mask");
}

static void illegal_accesses(void **state) {
  (void)state;
  expect_reported(bug_far_out, "device memory that is not allocated");
  expect_reported(bug_far_out_once,
                  "kernel write_far_out_once <<<(3,1,1), (32,1,1)>>>, block (2,0,0)\n    thread (17,0,0)");
#ifdef CUDASIM_STATIC_SHARED // the undefined-behavior sanitizer may be first, and end the program
  run_apart(bug_null);
  expect_output("null pointer");
#else
  expect_reported(bug_null, "null pointer");
  expect_output("kernel scale <<<(1,1,1), (100,1,1)>>>");
  expect_reported(bug_null_in_device_memory, "null pointer");
#endif
#ifdef KNOWS_MISALIGNED
  expect_reported(bug_misaligned, "an address that is not a multiple of the vector's size");
#endif
  expect_reported(bug_stack, "stack overflow of a simulated thread");
#ifndef CUDASIM_STATIC_SHARED
  expect_reported(bug_local, "whose arrays and calls may take 512 KiB");
#endif
}

static void large_local_arrays(void **state) {
  (void)state;
  assert_int_equal(run_apart(use_large_arrays), 0);
#ifndef CUDASIM_STATIC_SHARED // whose shadow memory counts as well
  assert_int_equal(run_apart(use_many_stacks), 0);
#endif
}

static void failed_asserts(void **state) {
  (void)state;
  expect_reported(bug_assert, "assert_below");
  expect_output(": block: [");
  expect_output("], thread: [");
  expect_output("Assertion `x[threadIdx.x] < limit` failed.");
  assert_int_equal(run_apart(bug_assert_on_the_host), 128 + 6); // SIGABRT
  expect_output("Assertion `COUNT < 0' failed.");
}

// One element too far: within the page, so only the address sanitizer sees it, and says which thread it was.
static void accesses_just_beyond_an_allocation(void **state) {
  (void)state;
#ifdef CUDASIM_STATIC_SHARED
  assert_int_not_equal(run_apart(bug_one_too_far), 0);
  expect_output("AddressSanitizer found the error below in\n  kernel scale <<<(1,1,1), (128,1,1)>>>, block (0,0,0)");
  expect_output("thread (100,0,0)");
  assert_int_not_equal(run_apart(bug_beyond_dynamic_shared), 0);
  expect_output("AddressSanitizer found the error below in\n  kernel write_shared");
#else
  print_message("needs a build with SANITIZE=address\n");
  skip();
#endif
}

static void pointers_a_kernel_may_not_use(void **state) {
  (void)state;
  expect_reported(bug_host_pointer, "kernel scale: argument 1 (");
  expect_output("points to ordinary host memory");
  expect_reported(bug_freed_pointer, "device memory that is not allocated (freed?)");
  expect_reported(bug_other_device, "memory of another device, without cudaDeviceEnablePeerAccess");
}

static void operands_of_products(void **state) {
  (void)state;
  expect_reported(bug_host_operand, "cublasSgemm: A (");
  expect_output("ordinary host memory");
  expect_reported(bug_operand_too_small, "the matrix goes on beyond its allocation");
}

static void livelocks(void **state) {
  (void)state;
  expect_reported(bug_livelock, "livelock");
}

static void in_parent_and_child(void) {
  expect(1, cudaFree(NULL) == cudaSuccess);
  pid_t child = fork();
  if (child == 0)
    _exit(cudaFree(NULL) == cudaErrorInitializationError ? 0 : 1);
  int status;
  expect(2, waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect(3, cudaDeviceSynchronize() == cudaSuccess);
}

static void forked_children_have_no_cuda(void **state) {
  (void)state;
  assert_int_equal(run_apart(in_parent_and_child), 0);
}

static void wrong_launches(void) {
  float *x = allocate();
  cudaStream_t stream = NULL;
  scale<<<1, 2048>>>(x, 1.0f, 1);
  expect(1, cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
  scale<<<0, 32>>>(x, 1.0f, 1);
  expect(2,
         cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration);
  scale<<<dim3(1, 65536), 32>>>(x, 1.0f, 1);
  expect(3, cudaGetLastError() == cudaErrorInvalidConfiguration);
  scale<<<1, dim3(1, 1, 65)>>>(x, 1.0f, 1);
  expect(4, cudaGetLastError() == cudaErrorInvalidConfiguration);
  scale<<<1, 32, 1 << 20>>>(x, 1.0f, 1);
  expect(5, cudaGetLastError() == cudaErrorInvalidValue);
  expect(6, cudaSetDevice(1) == cudaSuccess && cudaStreamCreate(&stream) == cudaSuccess &&
                cudaSetDevice(0) == cudaSuccess);
  scale<<<1, 32, 0, stream>>>(x, 1.0f, 1);
  expect(7, cudaGetLastError() == cudaErrorInvalidResourceHandle);
  expect(8, cudaStreamDestroy(stream) == cudaSuccess && cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  scale<<<1, 32>>>(x, 1.0f, 1);
  expect(9, cudaDeviceSynchronize() == cudaSuccess);
}

static void launches_that_are_refused(void **state) {
  (void)state;
  assert_int_equal(run_apart(wrong_launches), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(divergent_barriers),
      cmocka_unit_test(warp_functions_that_cannot_meet),
      cmocka_unit_test(illegal_accesses),
      cmocka_unit_test(large_local_arrays),
      cmocka_unit_test(failed_asserts),
      cmocka_unit_test(accesses_just_beyond_an_allocation),
      cmocka_unit_test(pointers_a_kernel_may_not_use),
      cmocka_unit_test(operands_of_products),
      cmocka_unit_test(livelocks),
      cmocka_unit_test(forked_children_have_no_cuda),
      cmocka_unit_test(launches_that_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
