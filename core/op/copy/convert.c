// SPDX-License-Identifier: MIT
#include "op/copy/convert.h"

#include "base/threads.h"
#include "op/kernel/iter.h"
#include "op/elementwise/pointwise_loops.h"
#include "op/kernel/streaming.h"
#include "op/copy/transpose.h"
#include "tensor/half.h"

// M(suffix, type, dtype) for every dtype.
#define TYPES(M, ...)                                                                                                  \
  M(b8, bool, FY_BOOL, __VA_ARGS__)                                                                                    \
  M(u8, uint8_t, FY_UINT8, __VA_ARGS__)                                                                                \
  M(i32, int32_t, FY_INT32, __VA_ARGS__)                                                                               \
  M(i64, int64_t, FY_INT64, __VA_ARGS__)                                                                               \
  M(f16, uint16_t, FY_FLOAT16, __VA_ARGS__)                                                                            \
  M(bf16, uint16_t, FY_BFLOAT16, __VA_ARGS__)                                                                          \
  M(f32, float, FY_FLOAT32, __VA_ARGS__)                                                                               \
  M(f64, double, FY_FLOAT64, __VA_ARGS__)

// An element as a C number, and a C number as an element.
#define LOAD_b8(x) (x)
#define LOAD_u8(x) (x)
#define LOAD_i32(x) (x)
#define LOAD_i64(x) (x)
#define LOAD_f16(x) fy_float16_to_float(x)
#define LOAD_bf16(x) fy_bfloat16_to_float(x)
#define LOAD_f32(x) (x)
#define LOAD_f64(x) (x)
#define STORE_b8(x) ((x) != 0)
#define STORE_u8(x) ((uint8_t)(int64_t)(x))
#define STORE_i32(x) ((int32_t)(x))
#define STORE_i64(x) ((int64_t)(x))
#define STORE_f16(x) fy_float_to_float16((float)(x))
#define STORE_bf16(x) fy_float_to_bfloat16((float)(x))
#define STORE_f32(x) ((float)(x))
#define STORE_f64(x) ((double)(x))

// ---- conversions: convert_<to>_<from> --------------------------------------------------------------------------------

#define CONVERT(SUFFIX, TYPE, DTYPE, TO, TO_TYPE)                                                                      \
  FY_UNARY_LOOP(convert_##TO##_##SUFFIX, TO_TYPE, TYPE, STORE_##TO(LOAD_##SUFFIX(x)))
TYPES(CONVERT, b8, bool)
TYPES(CONVERT, u8, uint8_t)
TYPES(CONVERT, i32, int32_t)
TYPES(CONVERT, i64, int64_t)
TYPES(CONVERT, f16, uint16_t)
TYPES(CONVERT, bf16, uint16_t)
TYPES(CONVERT, f32, float)
TYPES(CONVERT, f64, double)

#ifdef __F16C__
// The compiler does not vectorize the two conversions that mixed precision lives on.
static void convert_f16_from_f32(char *const *data, const int64_t *stride, int64_t n, const void *context) {
  int64_t i = 0;
  if (stride[0] == 1 && stride[1] == 1)
    for (; i + 8 <= n; i += 8) {
      const __m256 x = _mm256_loadu_ps((const float *)(const void *)data[1] + i);
      _mm_storeu_si128((__m128i *)(void *)(data[0] + 2 * i), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
  char *rest[2] = {data[0] + 2 * i * stride[0], data[1] + 4 * i * stride[1]};
  convert_f16_f32(rest, stride, n - i, context);
}

static void convert_f32_from_f16(char *const *data, const int64_t *stride, int64_t n, const void *context) {
  int64_t i = 0;
  if (stride[0] == 1 && stride[1] == 1)
    for (; i + 8 <= n; i += 8) {
      const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(data[1] + 2 * i));
      _mm256_storeu_ps((float *)(void *)data[0] + i, _mm256_cvtph_ps(x));
    }
  char *rest[2] = {data[0] + 4 * i * stride[0], data[1] + 2 * i * stride[1]};
  convert_f32_f16(rest, stride, n - i, context);
}
#else
#define convert_f16_from_f32 convert_f16_f32
#define convert_f32_from_f16 convert_f32_f16
#endif

#define ENTRY(SUFFIX, TYPE, DTYPE, TO) [DTYPE] = convert_##TO##_##SUFFIX,
#define ROW(TO)                                                                                                        \
  { TYPES(ENTRY, TO) }

static FyLoop *conversion(int to, int from) {
  static FyLoop *const table[FY_DTYPE_COUNT][FY_DTYPE_COUNT] = {
      [FY_BOOL] = ROW(b8),     [FY_UINT8] = ROW(u8),      [FY_INT32] = ROW(i32),   [FY_INT64] = ROW(i64),
      [FY_FLOAT16] = ROW(f16), [FY_BFLOAT16] = ROW(bf16), [FY_FLOAT32] = ROW(f32), [FY_FLOAT64] = ROW(f64),
  };
  if (to == FY_FLOAT16 && from == FY_FLOAT32)
    return convert_f16_from_f32;
  if (to == FY_FLOAT32 && from == FY_FLOAT16)
    return convert_f32_from_f16;
  return table[to][from];
}

// ---- same dtype: by size ---------------------------------------------------------------------------------------------

#define MOVE(NAME, T)                                                                                                  \
  static void NAME(char *const *data, const int64_t *stride, int64_t n, const void *context) {                         \
    T *out = (T *)(void *)data[0];                                                                                     \
    const T *in = (const T *)(const void *)data[1];                                                                    \
    const int64_t to = stride[0], from = stride[1];                                                                    \
    (void)context;                                                                                                     \
    if (to == 1 && from == 1) {                                                                                        \
      memmove(out, in, (size_t)n * sizeof *out);                                                                       \
    } else if (to == 1 && from == 0) {                                                                                 \
      const T x = *in;                                                                                                 \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        out[i] = x;                                                                                                    \
    } else {                                                                                                           \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        out[i * to] = in[i * from];                                                                                    \
    }                                                                                                                  \
  }
MOVE(move_1, uint8_t)
MOVE(move_2, uint16_t)
MOVE(move_4, uint32_t)
MOVE(move_8, uint64_t)

static FyLoop *move_of(int size) {
  return size == 1 ? move_1 : size == 2 ? move_2 : size == 4 ? move_4 : move_8;
}

// ---- transposed copies -----------------------------------------------------------------------------------------------
// One dimension (the columns) is contiguous in the output, another (the rows) in the input: bands of rows, tile by tile.

enum {
  LEAST_SIDE = 16,
  STREAM_BYTES = FY_STREAM_BYTES / 4, // writing jumps from row to row, so the caches help less than elsewhere
};

typedef struct Transposition {
  const FyIter *iter;
  int row;       // the dimension contiguous in the input; the last one is contiguous in the output
  int64_t bands; // of FY_TILE_ROWS rows, per plane
} Transposition;

static void transpose_band(const Transposition *t, int64_t band) {
  const FyIter *iter = t->iter;
  const int inner = iter->ndim - 1, size = iter->size[0];
  const int64_t first = band % t->bands * FY_TILE_ROWS, columns = iter->shape[inner], step = FY_TILE_BYTES / size;
  const int64_t left = iter->shape[t->row] - first, rows = left < FY_TILE_ROWS ? left : FY_TILE_ROWS;
  const bool stream = iter->numel * size >= STREAM_BYTES;
  int64_t index = band / t->bands;
  char *out = iter->data[0] + first * iter->stride[0][t->row] * size, *in = iter->data[1] + first * size;
  for (int d = inner - 1; d >= 0; d--) {
    if (d == t->row)
      continue;
    out += index % iter->shape[d] * iter->stride[0][d] * size;
    in += index % iter->shape[d] * iter->stride[1][d] * size;
    index /= iter->shape[d];
  }
  for (int64_t c = 0; c < columns; c += step)
    fy_transpose_tile(size, out + c * size, iter->stride[0][t->row], in + c * iter->stride[1][inner] * size,
                      iter->stride[1][inner], rows, columns - c < step ? columns - c : step, stream);
}

static void transpose_bands(int64_t begin, int64_t end, void *context) {
  for (int64_t band = begin; band < end; band++)
    transpose_band(context, band);
  fy_stream_fence();
}

static bool transpose(const FyIter *iter) {
  const int inner = iter->ndim - 1;
  Transposition t = {.iter = iter, .row = -1};
  if (iter->stride[0][inner] != 1 || iter->stride[1][inner] == 1 || iter->shape[inner] < LEAST_SIDE)
    return false;
  for (int d = 0; d < inner; d++)
    if (iter->stride[1][d] == 1 && iter->shape[d] >= LEAST_SIDE)
      t.row = d;
  if (t.row < 0)
    return false;
  t.bands = (iter->shape[t.row] + FY_TILE_ROWS - 1) / FY_TILE_ROWS;
  const int64_t planes = iter->numel / iter->shape[inner] / iter->shape[t.row];
  fy_parallel_for(planes * t.bands, 1 + FY_GRAIN_CHEAP / (FY_TILE_ROWS * iter->shape[inner]), transpose_bands, &t);
  return true;
}

void fy_convert(const FyArray *out, const FyArray *in) {
  FyIter iter;
  if (out->numel == 0 || (out->data == in->data && out->dtype == in->dtype && out->numel == in->numel))
    return;
  fy_iter_of(&iter, out, 1, &in);
  if (out->dtype != in->dtype)
    fy_iter_run(&iter, FY_GRAIN_CHEAP, conversion(out->dtype, in->dtype), NULL);
  else if (!transpose(&iter))
    fy_iter_run(&iter, FY_GRAIN_CHEAP, move_of(iter.size[0]), NULL);
}

void fy_fill_array(const FyArray *out, double value) {
  FyIter iter;
  uint64_t element = 0;
  const FyArray number = {.data = &value, .numel = 1, .dtype = FY_FLOAT64};
  const FyArray *in = &number;
  const FyArray converted = {.data = &element, .numel = 1, .dtype = out->dtype};
  fy_convert(&converted, in);
  in = &converted;
  fy_iter_of(&iter, out, 1, &in);
  fy_iter_run(&iter, FY_GRAIN_CHEAP, move_of(iter.size[0]), NULL);
}
