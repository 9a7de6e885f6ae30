#include "op/iter.h"

#include "base/threads.h"

// A strip: so many columns of a row-major walk are done for all rows before the next ones, when an operand runs down the
// columns. Each cache line of it is then used up by the following rows while still in the first-level cache.
enum { STRIP = 128 };

typedef struct Walk {
  const FyIter *iter;
  FyLoop *loop;
  const void *context;
  int64_t inner_stride[FY_ITER_OPERANDS];
} Walk;

static void run_flat(int64_t begin, int64_t end, void *context) {
  const Walk *walk = context;
  const FyIter *iter = walk->iter;
  char *data[FY_ITER_OPERANDS];
  for (int k = 0; k < iter->n; k++)
    data[k] = iter->data[k] + begin * walk->inner_stride[k] * iter->size[k];
  walk->loop(data, walk->inner_stride, end - begin, walk->context);
}

// The operands' addresses at the row-major position `index` of the dimensions before `ndim`.
static void seek(const FyIter *iter, int ndim, int64_t index, int64_t *coordinate, char **data) {
  for (int k = 0; k < iter->n; k++)
    data[k] = iter->data[k];
  for (int d = ndim - 1; d >= 0; d--) {
    coordinate[d] = index % iter->shape[d];
    index /= iter->shape[d];
    for (int k = 0; k < iter->n; k++)
      data[k] += coordinate[d] * iter->stride[k][d] * iter->size[k];
  }
}

static void advance(const FyIter *iter, int ndim, int64_t *coordinate, char **data) {
  for (int d = ndim - 1; d >= 0; d--) {
    const int64_t step = ++coordinate[d] < iter->shape[d] ? 1 : 1 - iter->shape[d];
    for (int k = 0; k < iter->n; k++)
      data[k] += step * iter->stride[k][d] * iter->size[k];
    if (step == 1)
      return;
    coordinate[d] = 0;
  }
}

// Elements [begin, end) of the row-major order: the rest of a row, whole rows, the start of a row.
static void run_rows(int64_t begin, int64_t end, void *context) {
  const Walk *walk = context;
  const FyIter *iter = walk->iter;
  const int outer = iter->ndim - 1;
  const int64_t width = iter->shape[outer];
  int64_t coordinate[FY_MAX_DIM];
  char *row[FY_ITER_OPERANDS], *data[FY_ITER_OPERANDS];
  int64_t column = begin % width;
  seek(iter, outer, begin / width, coordinate, row);
  while (begin < end) {
    const int64_t n = end - begin < width - column ? end - begin : width - column;
    for (int k = 0; k < iter->n; k++)
      data[k] = row[k] + column * walk->inner_stride[k] * iter->size[k];
    walk->loop(data, walk->inner_stride, n, walk->context);
    begin += n;
    column = 0;
    advance(iter, outer, coordinate, row);
  }
}

// Whole rows [begin, end), strip by strip.
static void run_strips(int64_t begin, int64_t end, void *context) {
  const Walk *walk = context;
  const FyIter *iter = walk->iter;
  const int outer = iter->ndim - 1;
  const int64_t width = iter->shape[outer];
  for (int64_t column = 0; column < width; column += STRIP) {
    const int64_t n = width - column < STRIP ? width - column : STRIP;
    int64_t coordinate[FY_MAX_DIM];
    char *data[FY_ITER_OPERANDS];
    seek(iter, outer, begin, coordinate, data);
    for (int k = 0; k < iter->n; k++)
      data[k] += column * walk->inner_stride[k] * iter->size[k];
    for (int64_t row = begin; row < end; row++) {
      walk->loop(data, walk->inner_stride, n, walk->context);
      advance(iter, outer, coordinate, data);
    }
  }
}

static bool runs_down_columns(const FyIter *iter) {
  const int inner = iter->ndim - 1;
  if (iter->shape[inner] < 2 * STRIP)
    return false;
  for (int k = 0; k < iter->n; k++)
    if (iter->stride[k][inner] > 1 && iter->stride[k][inner - 1] == 1)
      return true;
  return false;
}

void fy_iter_run(const FyIter *iter, int64_t grain, FyLoop *loop, const void *context) {
  if (iter->numel == 0)
    return;
  Walk walk = {.iter = iter, .loop = loop, .context = context};
  const int inner = iter->ndim - 1;
  for (int k = 0; k < iter->n; k++)
    walk.inner_stride[k] = iter->stride[k][inner];
  if (inner == 0) {
    if (iter->numel <= grain)
      loop(iter->data, walk.inner_stride, iter->numel, context);
    else
      fy_parallel_for(iter->numel, grain, run_flat, &walk);
  } else if (runs_down_columns(iter)) {
    const int64_t rows = iter->numel / iter->shape[inner];
    const int64_t grain_rows = (grain + iter->shape[inner] - 1) / iter->shape[inner];
    fy_parallel_for(rows, grain_rows, run_strips, &walk);
  } else {
    fy_parallel_for(iter->numel, grain, run_rows, &walk);
  }
}

void fy_iter_pointwise(const FyArray *out, int n, const FyArray *const *in, int64_t grain, FyLoop *loop,
                       const void *context) {
  char *data[FY_ITER_OPERANDS] = {out->data};
  int64_t stride[FY_ITER_OPERANDS] = {1};
  bool flat = out->contiguous && out->numel <= grain;
  if (out->numel == 0)
    return;
  for (int i = 0; i < n; i++) {
    data[i + 1] = in[i]->data;
    stride[i + 1] = in[i]->numel != 1;
    flat &= in[i]->numel == 1 || (in[i]->contiguous && in[i]->numel == out->numel);
  }
  if (flat) {
    loop(data, stride, out->numel, context);
    return;
  }
  FyIter iter;
  fy_iter_of(&iter, out, n, in);
  fy_iter_run(&iter, grain, loop, context);
}
