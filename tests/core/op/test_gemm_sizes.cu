// SPDX-License-Identifier: MIT
// Sizes that do not fit cuBLAS's int are refused before it is called: cut to int, they would be other, valid sizes.
// sim only: on a GPU the library's kernels stand in a library of their own
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include <cuda_runtime.h>

#include "op/product/cublas_gemm.cuh"

#include "../sim/check.h"
#include "sim/base/cudasim.h"

static cublasHandle_t blas;

static int take_handle(int device, void *stream, void **handle) {
  (void)device;
  (void)stream;
  *handle = blas;
  return FY_LAUNCH_OK;
}

static FyCudaGemm small_product(float *memory) {
  FyCudaGemm g = {};
  g.dtype = FY_FLOAT32;
  g.m = g.n = g.k = g.lda = g.ldb = g.ldc = 4;
  g.batches = 1;
  g.a = memory;
  g.b = memory + 16;
  g.c = memory + 32;
  return g;
}

static int multiply(const FyCudaGemm *g) {
  FyLaunch launch = {};
  launch.blas = take_handle;
  return fy_cuda_gemm(&launch, g);
}

static void sizes_beyond_int_are_refused(void **state) {
  (void)state;
  assert_int_equal(cublasCreate(&blas), CUBLAS_STATUS_SUCCESS);
  float *memory = (float *)device_copy(NULL, 48 * sizeof *memory);
  check_cuda(cudaMemset(memory, 0, 48 * sizeof *memory));
  const FyCudaGemm good = small_product(memory);
  assert_int_equal(multiply(&good), FY_LAUNCH_OK);
  for (int field = 0; field < 7; field++) {
    FyCudaGemm g = good;
    int64_t *const fields[] = {&g.m, &g.n, &g.k, &g.lda, &g.ldb, &g.ldc, &g.batches};
    *fields[field] += (int64_t)1 << 32; // cut to int: what it was
    struct cudasim_stats before, after;
    cudasim_get_stats(&before);
    assert_int_equal(multiply(&g), FY_LAUNCH_BLAS - (int)CUBLAS_STATUS_INVALID_VALUE);
    cudasim_get_stats(&after);
    assert_int_equal(after.matrix_products, before.matrix_products);
  }
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaFree(memory));
  cublasDestroy(blas);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_beyond_int_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
