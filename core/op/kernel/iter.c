// SPDX-License-Identifier: MIT
#include "op/kernel/iter.h"

#include "base/threads.h"
#include "op/kernel/streaming.h"
#include "op/copy/transpose.h"

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

// The same for a large result of a cheap loop: made in a buffer in the nearest cache, from where it streams to memory. A loop
// that computes for longer hides the lines' way to the caches and back behind that, which parts of it would interrupt.
static void run_flat_streaming(int64_t begin, int64_t end, void *context) {
  enum { BUFFER = 1024 };
  _Alignas(FY_LINE) char buffer[BUFFER];
  const Walk *walk = context;
  const FyIter *iter = walk->iter;
  char *data[FY_ITER_OPERANDS], *out = iter->data[0] + begin * iter->size[0];
  const int64_t size = iter->size[0];
  for (int k = 1; k < iter->n; k++)
    data[k] = iter->data[k] + begin * walk->inner_stride[k] * iter->size[k];
  int64_t n = (FY_LINE - (int64_t)((uintptr_t)out % FY_LINE)) % FY_LINE / size; // up to the first line, if not 0
  for (int64_t i = begin; i < end; i += n, n = 0) {
    n = n ? n : BUFFER / size;
    n = n < end - i ? n : end - i;
    data[0] = buffer;
    walk->loop(data, walk->inner_stride, n, walk->context);
    if (n * size == BUFFER)
      fy_stream_lines(out, buffer, BUFFER / FY_LINE);
    else
      memcpy(out, buffer, (size_t)(n * size));
    out += n * size;
    for (int k = 1; k < iter->n; k++)
      data[k] += n * walk->inner_stride[k] * iter->size[k];
  }
  fy_stream_fence();
}

// Large, contiguous, of whole elements per line, and not the memory of an operand, which would be in the cache by then.
static bool is_streamed(const FyIter *iter, int64_t grain) {
  bool streamed = grain >= FY_GRAIN_CHEAP && iter->numel * iter->size[0] >= FY_STREAM_BYTES &&
                  iter->stride[0][0] == 1 && (uintptr_t)iter->data[0] % (uintptr_t)iter->size[0] == 0;
  for (int k = 1; k < iter->n; k++)
    streamed &= iter->data[k] != iter->data[0];
  return streamed;
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

// ---- transposed operands -------------------------------------------------------------------------------------------------
// Where an operand runs down the columns of the innermost two dimensions, tiles of it are turned into a small buffer first,
// and the loop sees it row-major.

enum { PACKED_ROW = 8 * FY_TILE_BYTES }; // long enough for the loop to be worth its call

typedef struct Packed {
  _Alignas(64) char bytes[FY_TILE_ROWS][PACKED_ROW];
} Packed;

static void pack(Packed *packed, int size, const char *data, int64_t stride, int64_t rows, int64_t columns) {
  const int64_t step = FY_TILE_BYTES / size;
  for (int64_t c = 0; c < columns; c += step)
    fy_transpose_tile(size, packed->bytes[0] + c * size, PACKED_ROW / size, data + c * stride * size, stride, rows,
                      columns - c < step ? columns - c : step, false);
}

static bool is_transposed(const FyIter *iter, int k) {
  const int inner = iter->ndim - 1;
  return iter->stride[k][inner] > 1 && iter->stride[k][inner - 1] == 1;
}

// Columns of a tile: what fits in a packed row of the widest operand.
static int64_t tile_columns(const FyIter *iter) {
  int widest = 1;
  for (int k = 0; k < iter->n; k++)
    widest = iter->size[k] > widest ? iter->size[k] : widest;
  return PACKED_ROW / widest;
}

// One tile: `data` points at its first element in each operand.
static void run_tile(const Walk *walk, char *const *data, int64_t rows, int64_t columns) {
  const FyIter *iter = walk->iter;
  const int inner = iter->ndim - 1;
  Packed packed[FY_ITER_OPERANDS];
  char *at[FY_ITER_OPERANDS];
  int64_t stride[FY_ITER_OPERANDS], down[FY_ITER_OPERANDS];
  for (int k = 0; k < iter->n; k++) {
    const int size = iter->size[k];
    at[k] = data[k];
    stride[k] = walk->inner_stride[k];
    down[k] = iter->stride[k][inner - 1] * size;
    if (k > 0 && is_transposed(iter, k)) {
      pack(&packed[k], size, data[k], stride[k], rows, columns);
      at[k] = packed[k].bytes[0];
      stride[k] = 1;
      down[k] = PACKED_ROW;
    }
  }
  for (int64_t r = 0; r < rows; r++) {
    walk->loop(at, stride, columns, walk->context);
    for (int k = 0; k < iter->n; k++)
      at[k] += down[k];
  }
}

// Bands of FY_TILE_ROWS rows each, over all planes of the innermost two dimensions.
static void run_bands(int64_t begin, int64_t end, void *context) {
  const Walk *walk = context;
  const FyIter *iter = walk->iter;
  const int inner = iter->ndim - 1;
  const int64_t rows = iter->shape[inner - 1], columns = iter->shape[inner], step = tile_columns(iter);
  const int64_t bands = (rows + FY_TILE_ROWS - 1) / FY_TILE_ROWS;
  for (int64_t band = begin; band < end; band++) {
    const int64_t first = band % bands * FY_TILE_ROWS, left = rows - first;
    int64_t coordinate[FY_MAX_DIM];
    char *plane[FY_ITER_OPERANDS], *data[FY_ITER_OPERANDS];
    seek(iter, inner - 1, band / bands, coordinate, plane);
    for (int64_t c = 0; c < columns; c += step) {
      for (int k = 0; k < iter->n; k++)
        data[k] = plane[k] + (first * iter->stride[k][inner - 1] + c * walk->inner_stride[k]) * iter->size[k];
      run_tile(walk, data, left < FY_TILE_ROWS ? left : FY_TILE_ROWS, columns - c < step ? columns - c : step);
    }
  }
}

static bool has_transposed(const FyIter *iter) {
  const int inner = iter->ndim - 1;
  bool any = false;
  for (int k = 1; k < iter->n; k++)
    any |= is_transposed(iter, k);
  return any && iter->shape[inner] >= 16 && iter->shape[inner - 1] >= 16;
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
      fy_parallel_for(iter->numel, grain, is_streamed(iter, grain) ? run_flat_streaming : run_flat, &walk);
  } else if (has_transposed(iter)) {
    const int64_t rows = iter->shape[inner - 1], planes = iter->numel / iter->shape[inner] / rows;
    const int64_t bands = (rows + FY_TILE_ROWS - 1) / FY_TILE_ROWS;
    fy_parallel_for(planes * bands, 1 + grain / (FY_TILE_ROWS * iter->shape[inner]), run_bands, &walk);
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
