// SPDX-License-Identifier: MIT
// Transposing a tile in registers: what transposed copies and pointwise walks over transposed operands stand on.
#ifndef FERRY_OP_TRANSPOSE_H
#define FERRY_OP_TRANSPOSE_H

#include <stdbool.h>
#include <stdint.h>

enum { FY_TILE_ROWS = 64, FY_TILE_BYTES = 64 }; // a tile's rows, and the bytes of each: one cache line

// out[r * out_stride + c] = in[c * in_stride + r] for `size`-byte elements, r < rows <= FY_TILE_ROWS, and
// c < columns <= FY_TILE_BYTES / size. Strides in elements. With `stream` a full tile is written past the caches, which pays
// when the whole output is larger than they are; fy_stream_fence (op/kernel/streaming.h) belongs behind it.
void fy_transpose_tile(int size, void *out, int64_t out_stride, const void *in, int64_t in_stride, int64_t rows,
                       int64_t columns, bool stream);

// The same for any number of rows and columns, tile by tile, and not past the caches.
void fy_transpose_matrix(int size, void *out, int64_t out_stride, const void *in, int64_t in_stride, int64_t rows,
                         int64_t columns);

#endif
