// SPDX-License-Identifier: MIT
// FERRY_SIM_GUARD_PAGE: an inaccessible page on one side of each allocation, where even a read is an error that names the element.
// sim only: on a GPU such a read goes unseen
// run check: FERRY_SIM_MODE=lazy FERRY_SIM_GUARD_PAGE=after
// run: FERRY_SIM_MODE=lazy FERRY_SIM_GUARD_PAGE=before
#define CUDASIM_JUDGED
#include <cuda_runtime.h>

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sim/base/cudasim.h"

enum { COUNT = 64 };

__global__ void shift(int *out, const int *x, int by) {
  out[threadIdx.x] = x[(int)threadIdx.x + by];
}

static void a_read_beyond_the_edge_is_an_error(void **state) {
  (void)state;
  const bool behind = strcmp(getenv("FERRY_SIM_GUARD_PAGE"), "after") == 0;
#ifdef CUDASIM_STATIC_SHARED
  if (behind) {
    print_message("the address sanitizer ends the program first\n");
    skip();
  }
#endif
  int *x, *out;
  check_cuda(cudaMalloc(&x, COUNT * sizeof *x));
  check_cuda(cudaMalloc(&out, COUNT * sizeof *out));
  cudasim_name_array(x, COUNT, sizeof *x, "x");
  shift<<<1, COUNT>>>(out, x, 0);
  check_cuda(cudaDeviceSynchronize());
  assert_string_equal(cudasim_fault(), "");
  shift<<<1, COUNT>>>(out, x, behind ? 1 : -1);
  check_error(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  assert_string_equal(cudasim_fault(),
                      behind ? "kernel shift, block (0,0,0), thread (63,0,0): it reads x[64], and x has 64 elements"
                             : "kernel shift, block (0,0,0), thread (0,0,0): it reads x[-1], and x has 64 elements");
}

// (n - 1) * sizeof(float) for n = 0, say.
static void negative_sizes_do_not_fit(void **state) {
  (void)state;
  check_cuda(cudaDeviceReset()); // the test before has made it fail
  const long long sizes[] = {-1, -4, -15, -16, -4095, -4096, -4097, -12288, -65536};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *pointer = &pointer;
    check_error(cudaMalloc(&pointer, (size_t)sizes[i]), cudaErrorMemoryAllocation);
    assert_null(pointer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_read_beyond_the_edge_is_an_error),
      cmocka_unit_test(negative_sizes_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
