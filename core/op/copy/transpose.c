// SPDX-License-Identifier: MIT
#include "op/copy/transpose.h"

#include "op/kernel/streaming.h"

// ---- squares in registers: 8 x 8 of 4 bytes, 4 x 4 of 8 ------------------------------------------------------------------

typedef uint32_t Row8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t Row4 __attribute__((vector_size(32), aligned(8), may_alias));

#define PICK __builtin_shufflevector
#define UNROLL _Pragma("GCC unroll 8") // or the rows would live in memory

// Exchanges single elements, then pairs, then halves of rows.
static inline void square_4(uint32_t *out, int64_t out_stride, const uint32_t *in, int64_t in_stride) {
  Row8 x[8], y[8];
  UNROLL
  for (int i = 0; i < 8; i++)
    x[i] = *(const Row8 *)(in + i * in_stride);
  UNROLL
  for (int i = 0; i < 8; i += 2) {
    y[i] = PICK(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    y[i + 1] = PICK(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  UNROLL
  for (int i = 0; i < 4; i++) {
    int above = i + i / 2 * 2; // 0, 1, 4, 5
    x[above] = PICK(y[above], y[above + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    x[above + 2] = PICK(y[above], y[above + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  UNROLL
  for (int i = 0; i < 4; i++) {
    *(Row8 *)(out + i * out_stride) = PICK(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *(Row8 *)(out + (i + 4) * out_stride) = PICK(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

static inline void square_8(uint64_t *out, int64_t out_stride, const uint64_t *in, int64_t in_stride) {
  Row4 x[4], y[4];
  UNROLL
  for (int i = 0; i < 4; i++)
    x[i] = *(const Row4 *)(in + i * in_stride);
  UNROLL
  for (int i = 0; i < 4; i += 2) {
    y[i] = PICK(x[i], x[i + 1], 0, 4, 2, 6);
    y[i + 1] = PICK(x[i], x[i + 1], 1, 5, 3, 7);
  }
  UNROLL
  for (int i = 0; i < 2; i++) {
    *(Row4 *)(out + i * out_stride) = PICK(y[i], y[i + 2], 0, 1, 4, 5);
    *(Row4 *)(out + (i + 2) * out_stride) = PICK(y[i], y[i + 2], 2, 3, 6, 7);
  }
}

static inline void square_2(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride) {
  for (int c = 0; c < 8; c++)
    for (int r = 0; r < 8; r++)
      out[r * out_stride + c] = in[c * in_stride + r];
}
static inline void square_1(uint8_t *out, int64_t out_stride, const uint8_t *in, int64_t in_stride) {
  for (int c = 0; c < 8; c++)
    for (int r = 0; r < 8; r++)
      out[r * out_stride + c] = in[c * in_stride + r];
}

// ---- tiles ---------------------------------------------------------------------------------------------------------------

typedef struct Line {
  _Alignas(FY_TILE_BYTES) char bytes[FY_TILE_BYTES];
} Line;

static void write_line(void *out, const Line *line, bool stream) {
  if (stream && (uintptr_t)out % FY_LINE == 0)
    fy_stream_lines(out, line->bytes, 1);
  else
    memcpy(out, line->bytes, FY_TILE_BYTES);
}

// A full tile is put together in the first-level cache and written a line at a time; one that an edge cuts off goes by squares,
// of which the last lies over the one before it where no whole one is left, and element by element where none fits at all.
#define TILE(NAME, T, SQUARE, SIDE)                                                                                    \
  static void NAME##_edge(T *out, int64_t out_stride, const T *in, int64_t in_stride, int64_t rows, int64_t columns) { \
    if (rows < SIDE || columns < SIDE) {                                                                               \
      for (int64_t r = 0; r < rows; r++)                                                                               \
        for (int64_t c = 0; c < columns; c++)                                                                          \
          out[r * out_stride + c] = in[c * in_stride + r];                                                             \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t i = 0; i < columns; i += SIDE) {                                                                      \
      const int64_t c = i + SIDE <= columns ? i : columns - SIDE;                                                      \
      for (int64_t j = 0; j < rows; j += SIDE) {                                                                       \
        const int64_t r = j + SIDE <= rows ? j : rows - SIDE;                                                          \
        SQUARE(out + r * out_stride + c, out_stride, in + c * in_stride + r, in_stride);                               \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  static void NAME(T *out, int64_t out_stride, const T *in, int64_t in_stride, int64_t rows, int64_t columns,          \
                   bool stream) {                                                                                      \
    enum { COLUMNS = FY_TILE_BYTES / sizeof(T) };                                                                      \
    Line tile[FY_TILE_ROWS];                                                                                           \
    if (rows < FY_TILE_ROWS || columns < COLUMNS) {                                                                    \
      NAME##_edge(out, out_stride, in, in_stride, rows, columns);                                                      \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int c = 0; c < COLUMNS; c += SIDE)                                                                            \
      for (int r = 0; r < FY_TILE_ROWS; r += SIDE)                                                                     \
        SQUARE((T *)(void *)tile[r].bytes + c, COLUMNS, in + c * in_stride + r, in_stride);                            \
    for (int r = 0; r < FY_TILE_ROWS; r++)                                                                             \
      write_line(out + r * out_stride, &tile[r], stream);                                                              \
  }
TILE(tile_1, uint8_t, square_1, 8)
TILE(tile_2, uint16_t, square_2, 8)
TILE(tile_4, uint32_t, square_4, 8)
TILE(tile_8, uint64_t, square_8, 4)

void fy_transpose_tile(int size, void *out, int64_t out_stride, const void *in, int64_t in_stride, int64_t rows,
                       int64_t columns, bool stream) {
  switch (size) {
  case 1:
    tile_1(out, out_stride, in, in_stride, rows, columns, stream);
    break;
  case 2:
    tile_2(out, out_stride, in, in_stride, rows, columns, stream);
    break;
  case 4:
    tile_4(out, out_stride, in, in_stride, rows, columns, stream);
    break;
  default:
    tile_8(out, out_stride, in, in_stride, rows, columns, stream);
  }
}

void fy_transpose_matrix(int size, void *out, int64_t out_stride, const void *in, int64_t in_stride, int64_t rows,
                         int64_t columns) {
  const int64_t width = FY_TILE_BYTES / size;
  for (int64_t r = 0; r < rows; r += FY_TILE_ROWS)
    for (int64_t c = 0; c < columns; c += width)
      fy_transpose_tile(size, (char *)out + (r * out_stride + c) * size, out_stride,
                        (const char *)in + (c * in_stride + r) * size, in_stride,
                        rows - r < FY_TILE_ROWS ? rows - r : FY_TILE_ROWS, columns - c < width ? columns - c : width,
                        false);
}
