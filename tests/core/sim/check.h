// SPDX-License-Identifier: MIT
// What the tests of the simulated CUDA runtime share; C and CUDA.
#ifndef TEST_SIM_CHECK_H
#define TEST_SIM_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#include <cuda_runtime_api.h>

#define check_cuda(call)                                                                                               \
  do {                                                                                                                 \
    cudaError_t check_error = (call);                                                                                  \
    if (check_error != cudaSuccess)                                                                                    \
      fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, cudaGetErrorString(check_error));                           \
  } while (0)

#define check_error(call, expected)                                                                                    \
  do {                                                                                                                 \
    cudaError_t check_error = (call);                                                                                  \
    if (check_error != (expected))                                                                                     \
      fail_msg("%s:%d: %s gave %s, not %s", __FILE__, __LINE__, #call, cudaGetErrorName(check_error), #expected);      \
    (void)cudaGetLastError();                                                                                          \
  } while (0)

// Device memory with a copy of `bytes` of `host`; uninitialized when host is NULL.
static inline void *device_copy(const void *host, size_t bytes) {
  void *device = NULL;
  check_cuda(cudaMalloc(&device, bytes));
  if (host)
    check_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  return device;
}

static inline void to_host(void *host, const void *device, size_t bytes) {
  check_cuda(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

// The same numbers in every run, in [-1, 1).
static inline void fill_random(float *values, size_t count, unsigned int seed) {
  uint32_t state = seed * 2654435761u + 1u;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
  }
}

static inline float *random_floats(size_t count, unsigned int seed) {
  float *values = (float *)malloc(count * sizeof *values);
  assert_non_null(values);
  fill_random(values, count, seed);
  return values;
}

// C++ and -fsanitize both dislike cmocka's float assertions; this one names the place that differs.
static inline void check_near(const float *got, const float *want, size_t count, float tolerance) {
  for (size_t i = 0; i < count; i++)
    if (!(fabsf(got[i] - want[i]) <= tolerance * (1.0f + fabsf(want[i]))))
      fail_msg("[%zu]: %g, not %g", i, (double)got[i], (double)want[i]);
}

#endif
