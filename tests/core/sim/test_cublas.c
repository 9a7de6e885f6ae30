// SPDX-License-Identifier: MIT
// cuBLAS's products of each type, transposition and shape, against sums in double precision.
// run: FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_MODE=threads
#include <cublas_v2.h>

#include "check.h"

#define check_cublas(call)                                                                                             \
  do {                                                                                                                 \
    cublasStatus_t check_status = (call);                                                                              \
    if (check_status != CUBLAS_STATUS_SUCCESS)                                                                         \
      fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #call, cublasGetStatusString(check_status));                       \
  } while (0)

static cublasHandle_t handle;

static int open_handle(void **state) {
  (void)state;
  check_cublas(cublasCreate(&handle));
  return 0;
}

static int close_handle(void **state) {
  (void)state;
  check_cublas(cublasDestroy(handle));
  return 0;
}

// ---- the types, by way of double ----

static size_t element_bytes(cudaDataType type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

// Small multiples of 1/4: each type holds them and, for these sizes, the products' sums exactly.
static double exact_value(unsigned int seed, size_t i) {
  uint32_t bits = ((uint32_t)i + seed * 977u) * 2654435761u;
  return ((int)(bits >> 28) - 8) / 4.0;
}

static void store(void *memory, cudaDataType type, size_t i, double value) {
  if (type == CUDA_R_64F) {
    ((double *)memory)[i] = value;
    return;
  }
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if (type == CUDA_R_32F)
    ((float *)memory)[i] = narrow;
  else if (type == CUDA_R_16BF)
    ((uint16_t *)memory)[i] = (uint16_t)(bits >> 16);
  else // a half that is normal or zero and needs no rounding
    ((uint16_t *)memory)[i] =
        (uint16_t)((bits >> 16 & 0x8000u) | (value == 0 ? 0 : ((bits & 0x7fffffffu) - 0x38000000u) >> 13));
}

static double load(const void *memory, cudaDataType type, size_t i) {
  if (type == CUDA_R_64F)
    return ((const double *)memory)[i];
  if (type == CUDA_R_32F)
    return ((const float *)memory)[i];
  unsigned int bits = ((const uint16_t *)memory)[i];
  int mantissa_bits = type == CUDA_R_16BF ? 7 : 10, bias = type == CUDA_R_16BF ? 127 : 15;
  unsigned int mantissa = bits & ((1u << mantissa_bits) - 1);
  int exponent = (int)(bits >> mantissa_bits & (type == CUDA_R_16BF ? 255u : 31u));
  double magnitude = exponent ? ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits)
                              : ldexp(mantissa, 1 - bias - mantissa_bits);
  return bits & 0x8000u ? -magnitude : magnitude;
}

struct product {
  cudaDataType type, result;
  cublasComputeType_t compute;
  int m, n, k, count;
  bool transpose_a, transpose_b;
  double alpha, beta;
  int padding; // between the columns
};

static double a_at(const struct product *p, int batch, int row, int depth) {
  int rows = p->transpose_a ? p->k : p->m, columns = p->transpose_a ? p->m : p->k;
  size_t leading = (size_t)(rows + p->padding), stride = leading * (size_t)columns;
  return exact_value(1, stride * (size_t)batch + (p->transpose_a ? (size_t)row * leading + (size_t)depth
                                                                 : (size_t)depth * leading + (size_t)row));
}

static double b_at(const struct product *p, int batch, int depth, int column) {
  int rows = p->transpose_b ? p->n : p->k, columns = p->transpose_b ? p->k : p->n;
  size_t leading = (size_t)(rows + p->padding), stride = leading * (size_t)columns;
  return exact_value(2, stride * (size_t)batch + (p->transpose_b ? (size_t)depth * leading + (size_t)column
                                                                 : (size_t)column * leading + (size_t)depth));
}

static void *matrix(cudaDataType type, size_t elements, unsigned int seed, void **device) {
  void *host = malloc(elements * element_bytes(type));
  assert_non_null(host);
  for (size_t i = 0; i < elements; i++)
    store(host, type, i, exact_value(seed, i));
  *device = device_copy(host, elements * element_bytes(type));
  return host;
}

static void check_result(const struct product *p, const void *got, size_t ldc, size_t stride) {
  for (int batch = 0; batch < p->count; batch++)
    for (int column = 0; column < p->n; column++)
      for (int row = 0; row < p->m; row++) {
        size_t at = (size_t)batch * stride + (size_t)column * ldc + (size_t)row;
        double want = p->beta == 0 ? 0 : p->beta * exact_value(3, at);
        for (int depth = 0; depth < p->k; depth++)
          want += p->alpha * a_at(p, batch, row, depth) * b_at(p, batch, depth, column);
        double tolerance = p->result == CUDA_R_16BF ? 4e-3 : p->result == CUDA_R_16F ? 5e-4 : 1e-6;
        double value = load(got, p->result, at);
        if (!(fabs(value - want) <= tolerance * (1 + fabs(want))))
          fail_msg("C[%d, %d] of batch %d is %g, not %g", row, column, batch, value, want);
      }
}

static void check_product(const struct product *p) {
  int a_rows = p->transpose_a ? p->k : p->m, a_columns = p->transpose_a ? p->m : p->k;
  int b_rows = p->transpose_b ? p->n : p->k, b_columns = p->transpose_b ? p->k : p->n;
  int lda = a_rows + p->padding, ldb = b_rows + p->padding, ldc = p->m + p->padding;
  long long stride_a = (long long)lda * a_columns, stride_b = (long long)ldb * b_columns,
            stride_c = (long long)ldc * p->n;
  size_t c_elements = (size_t)(stride_c * p->count), c_bytes = c_elements * element_bytes(p->result);
  void *da, *db, *dc;
  void *a = matrix(p->type, (size_t)(stride_a * p->count), 1, &da);
  void *b = matrix(p->type, (size_t)(stride_b * p->count), 2, &db);
  void *c = matrix(p->result, c_elements, 3, &dc);
  if (p->beta == 0) // what was there must not show, not even as NaN times zero
    check_cuda(cudaMemset(dc, 0xff, c_bytes));
  float float_alpha = (float)p->alpha, float_beta = (float)p->beta;
  const void *alpha = p->type == CUDA_R_64F ? (const void *)&p->alpha : &float_alpha;
  const void *beta = p->type == CUDA_R_64F ? (const void *)&p->beta : &float_beta;
  cublasOperation_t transa = p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t transb = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  check_cublas(cublasGemmStridedBatchedEx(handle, transa, transb, p->m, p->n, p->k, alpha, da, p->type, lda, stride_a,
                                          db, p->type, ldb, stride_b, beta, dc, p->result, ldc, stride_c, p->count,
                                          p->compute, CUBLAS_GEMM_DEFAULT));
  float_alpha = float_beta = 99; // read at the call
  to_host(c, dc, c_bytes);
  check_result(p, c, (size_t)ldc, (size_t)stride_c);
  check_cuda(cudaFree(da));
  check_cuda(cudaFree(db));
  check_cuda(cudaFree(dc));
  free(a);
  free(b);
  free(c);
}

static void every_type_and_transposition(void **state) {
  (void)state;
  static const struct {
    cudaDataType type, result;
    cublasComputeType_t compute;
  } types[] = {
      {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},  {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
      {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},  {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
      {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},  {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F},
      {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
  };
  static const int shapes[][3] = {{1, 1, 1},     {5, 7, 3},  {33, 17, 70}, {20, 9, 300},
                                  {64, 130, 65}, {1, 40, 9}, {40, 1, 9}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int variant = 0; variant < 8; variant++) {
        struct product p = {types[t].type,
                            types[t].result,
                            types[t].compute,
                            shapes[s][0],
                            shapes[s][1],
                            shapes[s][2],
                            1,
                            variant & 1,
                            variant >> 1 & 1,
                            1.5,
                            variant & 4 ? -0.5 : 0,
                            variant & 4 ? 3 : 0};
        check_product(&p);
      }
}

static void batches_and_empty_products(void **state) {
  (void)state;
  struct product p = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 6, 5, 4, 7, true, false, 2, 1, 1};
  check_product(&p);
  p.type = p.result = CUDA_R_16F;
  check_product(&p);
  p.type = p.result = CUDA_R_64F;
  p.compute = CUBLAS_COMPUTE_64F;
  check_product(&p);

  float alpha = 1, beta = 0, host[6], *a = device_copy(NULL, 64), *c = device_copy(NULL, sizeof host);
  check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 0, &alpha, a, 2, a, 1, &beta, c, 2));
  to_host(host, c, sizeof host);
  for (int i = 0; i < 6; i++)
    assert_true(host[i] == 0); // an empty sum
  check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 3, 2, &alpha, a, 1, a, 2, &beta, c, 1));
  check_cuda(cudaFree(a));
  check_cuda(cudaFree(c));
}

// With alpha 0 the factors are not looked at, and what is in them does not matter.
static void nothing_is_read_for_alpha_0(void **state) {
  (void)state;
  static const int sides[] = {3, 60}; // small products and large ones are computed in different ways
  for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
    const int n = sides[s];
    const size_t count = (size_t)n * (size_t)n, bytes = count * sizeof(float);
    float alpha = 0, beta = 0.5f, *c = malloc(bytes);
    assert_non_null(c);
    for (size_t i = 0; i < count; i++)
      c[i] = 8;
    float *da = device_copy(NULL, bytes), *dc = device_copy(c, bytes);
    check_cuda(cudaMemset(da, 0xff, bytes)); // NaN
    check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &alpha, da, n, da, n, &beta, dc, n));
    to_host(c, dc, bytes);
    for (size_t i = 0; i < count; i++)
      assert_true(c[i] == 4);
    check_cuda(cudaFree(da));
    check_cuda(cudaFree(dc));
    free(c);
  }
}

static void tf32_rounds_what_it_multiplies(void **state) {
  (void)state;
  float one = 1, zero = 0, x = 1.0f + 0x1p-12f, got, *a = device_copy(&x, sizeof x), *b = device_copy(&one, sizeof one);
  float *c = device_copy(NULL, sizeof got);
  for (int tf32 = 0; tf32 < 2; tf32++) {
    check_cublas(cublasSetMathMode(handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
    check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &zero, c, 1));
    to_host(&got, c, sizeof got);
    assert_true(got == (tf32 ? 1.0f : x));
  }
  check_cublas(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  check_cuda(cudaFree(a));
  check_cuda(cudaFree(b));
  check_cuda(cudaFree(c));
}

static void vectors(void **state) {
  (void)state;
  enum { M = 5, N = 7 };
  float a[M * N], x[2 * N], y[2 * N], got[2 * N], alpha = 2, beta = -1, zero = 0;
  fill_random(a, M * N, 1);
  fill_random(x, 2 * N, 2);
  fill_random(y, 2 * N, 3);
  float *da = device_copy(a, sizeof a), *dx = device_copy(x, sizeof x), *dy = device_copy(y, sizeof y);
  check_cublas(cublasSgemv(handle, CUBLAS_OP_N, M, N, &alpha, da, M, dx, 2, &beta, dy, 1));
  to_host(got, dy, sizeof got);
  for (int i = 0; i < M; i++) {
    double want = -y[i];
    for (int j = 0; j < N; j++)
      want += 2.0 * a[j * M + i] * x[2 * j];
    assert_true(fabs(got[i] - want) < 1e-5);
  }
  check_cuda(cudaMemset(dy, 0xff, sizeof y));
  check_cublas(cublasSgemv(handle, CUBLAS_OP_T, M, N, &alpha, da, M, dx, 1, &zero, dy, 2));
  to_host(got, dy, sizeof got);
  for (int j = 0; j < N; j++) {
    double want = 0;
    for (int i = 0; i < M; i++)
      want += 2.0 * a[j * M + i] * x[i];
    assert_true(fabs(got[2 * j] - want) < 1e-5);
  }
  check_cuda(cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice));
  check_cublas(cublasSaxpy(handle, 2 * N, &alpha, dx, 1, dy, 1));
  to_host(got, dy, sizeof got);
  for (int i = 0; i < 2 * N; i++)
    assert_true(fabsf(got[i] - (y[i] + 2 * x[i])) < 1e-6f);
  check_cuda(cudaFree(da));
  check_cuda(cudaFree(dx));
  check_cuda(cudaFree(dy));
}

static void products_run_in_the_handles_stream(void **state) {
  (void)state;
  cudaStream_t stream, found;
  float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, *a, *c = device_copy(NULL, sizeof x), *back;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaMallocHost((void **)&back, sizeof x));
  check_cublas(cublasSetStream(handle, stream));
  check_cublas(cublasGetStream(handle, &found));
  assert_ptr_equal(found, stream);
  a = device_copy(NULL, sizeof x);
  check_cuda(cudaMemcpyAsync(a, x, sizeof x, cudaMemcpyHostToDevice, stream));
  check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2));
  check_cuda(cudaMemcpyAsync(back, c, sizeof x, cudaMemcpyDeviceToHost, stream));
  check_cuda(cudaStreamSynchronize(stream));
  const float want[4] = {7, 10, 15, 22};
  assert_memory_equal(back, want, sizeof want);
  check_cublas(cublasSetStream(handle, NULL));
  check_cuda(cudaFreeHost(back));
  check_cuda(cudaFree(a));
  check_cuda(cudaFree(c));
  check_cuda(cudaStreamDestroy(stream));
}

static void scalars_in_device_memory(void **state) {
  (void)state;
  float scalars[2] = {2, 3}, x = 5, y = 7, got;
  float *ds = device_copy(scalars, sizeof scalars), *dx = device_copy(&x, sizeof x), *dy = device_copy(&y, sizeof y);
  check_cublas(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  check_cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, ds, dx, 1, dx, 1, ds + 1, dy, 1));
  check_cublas(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  to_host(&got, dy, sizeof got);
  assert_true(got == 2 * 25 + 3 * 7);
  check_cuda(cudaFree(ds));
  check_cuda(cudaFree(dx));
  check_cuda(cudaFree(dy));
}

static void wrong_arguments(void **state) {
  (void)state;
  float one = 1, *a = device_copy(NULL, 64);
  assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 2, &one, a, 3, a, 2, &one, a, 4),
                   CUBLAS_STATUS_INVALID_VALUE);
  assert_int_equal(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, 2, 2, &one, a, 3, a, 2, &one, a, 4),
                   CUBLAS_STATUS_INVALID_VALUE);
  assert_int_equal(cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &one, a, 1),
                   CUBLAS_STATUS_NOT_INITIALIZED);
  assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_8I, 1, a, CUDA_R_8I, 1, &one,
                                a, CUDA_R_8I, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   CUBLAS_STATUS_NOT_SUPPORTED);
  assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaFree(a));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_and_transposition),
      cmocka_unit_test(batches_and_empty_products),
      cmocka_unit_test(nothing_is_read_for_alpha_0),
      cmocka_unit_test(tf32_rounds_what_it_multiplies),
      cmocka_unit_test(vectors),
      cmocka_unit_test(products_run_in_the_handles_stream),
      cmocka_unit_test(scalars_in_device_memory),
      cmocka_unit_test(wrong_arguments),
  };
  return cmocka_run_group_tests(tests, open_handle, close_handle);
}
