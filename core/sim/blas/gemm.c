// SPDX-License-Identifier: MIT
// The arithmetic of matrix products: float by oneDNN, small ones and double in blocks, the narrow types by way of float.
#include "sim/blas/gemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#include "cudasim_half.h"
#include "sim/base/sim.h"

size_t sim_element_bytes(cudaDataType type) {
  switch (type) {
  case CUDA_R_64F:
    return 8;
  case CUDA_R_32F:
  case CUDA_R_32I:
    return 4;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  case CUDA_R_8I:
    return 1;
  default:
    return 0;
  }
}

static void *batch_data(const struct sim_matrix *matrix, int batch) {
  return (char *)matrix->data + (size_t)(matrix->stride * batch) * sim_element_bytes(matrix->type);
}

enum { STRIP = 16, DEPTH = 128 };

static int least(int a, int b) {
  return a < b ? a : b;
}

#define T double
#define NAME(x) x##_double
#include "sim/blas/gemm_blocks.h"

#define T float
#define NAME(x) x##_float_in_blocks
#include "sim/blas/gemm_blocks.h"

// Multiply-adds from which oneDNN is called. Its first product in a process takes as long as thousands of small ones, since it then
// makes machine code of its kernels.
enum { DNNL_FROM = 1 << 16 };

// oneDNN's products are row-major: a column-major C is a row-major C transposed, which is op(B)^T op(A)^T.
static bool multiply_float(const struct sim_gemm *g, const float *a, int lda, const float *b, int ldb, float *c,
                           int ldc) {
  if (g->alpha == 0 || (long long)g->m * g->n * g->k < DNNL_FROM) {
    multiply_float_in_blocks(g, a, lda, b, ldb, c, ldc);
    return true;
  }
  return dnnl_sgemm(g->transpose_b ? 'T' : 'N', g->transpose_a ? 'T' : 'N', g->n, g->m, g->k, (float)g->alpha, b, ldb,
                    a, lda, (float)g->beta, c, ldc) == dnnl_success;
}

// ---- narrower types, by way of float ----

static float round_to_tf32(float value) {
  uint32_t bits = cudasim_float_bits(value);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return value;
  bits += 0xfffu + (bits >> 13 & 1u);
  return cudasim_bits_float(bits & ~0x1fffu);
}

// rows x columns of a matrix, without gaps between the columns.
static float *widen(const struct sim_matrix *matrix, int batch, int rows, int columns, bool tf32) {
  const void *data = batch_data(matrix, batch);
  float *wide = sim_allocate((size_t)rows * (size_t)columns * sizeof *wide);
  for (int column = 0; column < columns; column++) {
    size_t from = (size_t)column * (size_t)matrix->leading;
    float *to = wide + (size_t)column * (size_t)rows;
    for (int row = 0; row < rows; row++, from++) {
      if (matrix->type == CUDA_R_16F)
        to[row] = cudasim_half_to_float(((const uint16_t *)data)[from]);
      else if (matrix->type == CUDA_R_16BF)
        to[row] = cudasim_bfloat16_to_float(((const uint16_t *)data)[from]);
      else
        to[row] = tf32 ? round_to_tf32(((const float *)data)[from]) : ((const float *)data)[from];
    }
  }
  return wide;
}

static void narrow(const float *wide, const struct sim_matrix *matrix, int batch, int rows, int columns) {
  void *data = batch_data(matrix, batch);
  for (int column = 0; column < columns; column++) {
    size_t to = (size_t)column * (size_t)matrix->leading;
    const float *from = wide + (size_t)column * (size_t)rows;
    for (int row = 0; row < rows; row++, to++) {
      if (matrix->type == CUDA_R_16F)
        ((uint16_t *)data)[to] = cudasim_float_to_half(from[row]);
      else if (matrix->type == CUDA_R_16BF)
        ((uint16_t *)data)[to] = cudasim_float_to_bfloat16(from[row]);
      else
        ((float *)data)[to] = from[row];
    }
  }
}

static bool multiply_narrow(const struct sim_gemm *g, int batch) {
  int a_rows = g->transpose_a ? g->k : g->m, a_columns = g->transpose_a ? g->m : g->k;
  int b_rows = g->transpose_b ? g->n : g->k, b_columns = g->transpose_b ? g->k : g->n;
  float *a = widen(&g->a, batch, a_rows, a_columns, g->tf32);
  float *b = widen(&g->b, batch, b_rows, b_columns, g->tf32);
  float *c =
      g->beta == 0 ? sim_allocate((size_t)g->m * (size_t)g->n * sizeof *c) : widen(&g->c, batch, g->m, g->n, false);
  bool good = multiply_float(g, a, a_rows ? a_rows : 1, b, b_rows ? b_rows : 1, c, g->m);
  narrow(c, &g->c, batch, g->m, g->n);
  free(a);
  free(b);
  free(c);
  return good;
}

// ---- bytes, whose products are summed in int ----

static void multiply_integer(const struct sim_gemm *g, const int8_t *a, const int8_t *b, int32_t *c) {
  const size_t lda = (size_t)g->a.leading, ldb = (size_t)g->b.leading;
  const size_t a_row = g->transpose_a ? lda : 1, a_column = g->transpose_a ? 1 : lda;
  const size_t b_row = g->transpose_b ? ldb : 1, b_column = g->transpose_b ? 1 : ldb;
  uint32_t *column = sim_allocate((size_t)g->m * sizeof *column); // unsigned: sums wrap around
  for (int j = 0; j < g->n; j++) {
    memset(column, 0, (size_t)g->m * sizeof *column);
    for (int p = 0; p < g->k; p++) {
      const int factor = b[(size_t)p * b_row + (size_t)j * b_column];
      for (int i = 0; i < g->m; i++)
        column[i] += (uint32_t)(a[(size_t)i * a_row + (size_t)p * a_column] * factor);
    }
    int32_t *out = c + (size_t)j * (size_t)g->c.leading;
    for (int i = 0; i < g->m; i++)
      out[i] = (int32_t)(column[i] * (uint32_t)(int32_t)g->alpha +
                         (g->beta == 0 ? 0 : (uint32_t)out[i] * (uint32_t)(int32_t)g->beta));
  }
  free(column);
}

bool sim_gemm_run(const struct sim_gemm *g) {
  if (g->m == 0 || g->n == 0)
    return true;
  bool floats = g->a.type == CUDA_R_32F && g->b.type == CUDA_R_32F && g->c.type == CUDA_R_32F && !g->tf32;
  bool good = true;
  for (int batch = 0; good && batch < g->count; batch++) {
    void *a = batch_data(&g->a, batch), *b = batch_data(&g->b, batch), *c = batch_data(&g->c, batch);
    if (g->c.type == CUDA_R_64F)
      multiply_double(g, a, g->a.leading, b, g->b.leading, c, g->c.leading);
    else if (g->c.type == CUDA_R_32I)
      multiply_integer(g, a, b, c);
    else if (floats)
      good = multiply_float(g, a, g->a.leading, b, g->b.leading, c, g->c.leading);
    else
      good = multiply_narrow(g, batch);
  }
  return good;
}
