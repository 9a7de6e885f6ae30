// SPDX-License-Identifier: MIT
#include "trace/dense.h"
#include <stddef.h>
#include <string.h>

void fy_dense_pack(FyDense *d, const float *weight, const float *bias, int64_t weight_in, const int64_t *order) {
  float *to = d->packed;
  for (int64_t first = 0; first < d->out; first += FY_PANEL)
    for (int64_t k = 0; k < d->in; k++) {
      const int64_t from = order ? order[k] : k;
      for (int64_t o = first; o < first + FY_PANEL; o++)
        *to++ = o < d->out && from >= 0 ? weight[o * weight_in + from] : 0;
    }
  memset(d->bias, 0, (size_t)(fy_panels(d->out) * FY_PANEL) * sizeof *d->bias);
  if (bias)
    memcpy(d->bias, bias, (size_t)d->out * sizeof *bias);
}

// ---- what becomes of a sum -------------------------------------------------------------------------------------------------

// The first `count` outputs of a panel's two vectors.
FY_ALWAYS_INLINE void put(const FyDense *d, FyLanes low, FyLanes high, float *y, int64_t count) {
  if (d->relu) {
    low = fy_lanes_relu(low);
    high = fy_lanes_relu(high);
  }
  if (count >= FY_PANEL) {
    fy_lanes_store(y, low);
    fy_lanes_store(y + FY_LANES, high);
    return;
  }
  float both[FY_PANEL];
  fy_lanes_store(both, low);
  fy_lanes_store(both + FY_LANES, high);
  memcpy(y, both, (size_t)count * sizeof *y);
}

// ---- one row: the weight is read once, as fast as the caches give it ---------------------------------------------------------

static void one_row(const FyDense *d, const float *restrict x, const float *restrict w, const float *bias,
                    float *restrict y, int64_t count) {
  enum { PARTS = 4 };
  FyLanes sum[PARTS][2] = {{fy_lanes_at(bias), fy_lanes_at(bias + FY_LANES)}};
  int64_t k = 0;
  for (; k + PARTS <= d->in; k += PARTS, w += PARTS * FY_PANEL)
    for (int part = 0; part < PARTS; part++)
      for (int v = 0; v < 2; v++)
        sum[part][v] += x[k + part] * fy_lanes_at(w + part * FY_PANEL + v * FY_LANES);
  for (; k < d->in; k++, w += FY_PANEL)
    for (int v = 0; v < 2; v++)
      sum[0][v] += x[k] * fy_lanes_at(w + v * FY_LANES);
  put(d, (sum[0][0] + sum[1][0]) + (sum[2][0] + sum[3][0]), (sum[0][1] + sum[1][1]) + (sum[2][1] + sum[3][1]), y,
      count);
}

// ---- several rows: each of the weight's vectors is used for all of them -------------------------------------------------------

FY_ALWAYS_INLINE void some_rows(int rows, const FyDense *d, const float *restrict x, int64_t ldx,
                                const float *restrict w, const float *bias, float *restrict y, int64_t ldy,
                                int64_t count) {
  FyLanes sum[FY_MOST_SUMS][2];
  for (int r = 0; r < rows; r++)
    for (int v = 0; v < 2; v++)
      sum[r][v] = fy_lanes_at(bias + v * FY_LANES);
  for (int64_t k = 0; k < d->in; k++, x++, w += FY_PANEL) {
    const FyLanes low = fy_lanes_at(w), high = fy_lanes_at(w + FY_LANES);
    for (int r = 0; r < rows; r++) {
      sum[r][0] += x[r * ldx] * low;
      sum[r][1] += x[r * ldx] * high;
    }
  }
  for (int r = 0; r < rows; r++)
    put(d, sum[r][0], sum[r][1], y + r * ldy, count);
}

#define ROWS(n)                                                                                                        \
  static void rows_##n(const FyDense *d, const float *x, int64_t ldx, const float *w, const float *bias, float *y,     \
                       int64_t ldy, int64_t count) {                                                                   \
    some_rows(n, d, x, ldx, w, bias, y, ldy, count);                                                                   \
  }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
#if defined(__AVX512F__)
ROWS(6)
ROWS(7)
ROWS(8)
ROWS(9)
ROWS(10)
ROWS(11)
ROWS(12)
#endif

typedef void Rows(const FyDense *d, const float *x, int64_t ldx, const float *w, const float *bias, float *y,
                  int64_t ldy, int64_t count);
static Rows *const kernels[FY_MOST_SUMS + 1] = {
    NULL,   rows_1, rows_2, rows_3, rows_4,  rows_5,
#if defined(__AVX512F__)
    rows_6, rows_7, rows_8, rows_9, rows_10, rows_11, rows_12,
#endif
};

void fy_dense_panels(const FyDense *d, int64_t rows, const float *x, int64_t ldx, float *y, int64_t ldy, int64_t begin,
                     int64_t end) {
  const int64_t blocks = (rows + FY_MOST_SUMS - 1) / FY_MOST_SUMS;
  for (int64_t panel = begin; panel < end; panel++) {
    const float *w = d->packed + panel * d->in * FY_PANEL, *bias = d->bias + panel * FY_PANEL;
    const int64_t count = d->out - panel * FY_PANEL;
    float *to = y + panel * FY_PANEL;
    if (rows == 1) {
      one_row(d, x, w, bias, to, count);
      continue;
    }
    for (int64_t block = 0; block < blocks; block++) { // of nearly the same number of rows
      const int64_t first = rows * block / blocks, next = rows * (block + 1) / blocks;
      kernels[next - first](d, x + first * ldx, ldx, w, bias, to + first * ldy, ldy, count);
    }
  }
}
