// SPDX-License-Identifier: MIT
#include "trace/images.h"
#include <string.h>

// ---- frames ----------------------------------------------------------------------------------------------------------------

void fy_frame_fill(const FyFrame *f, int64_t channels, const float *image, float *frame) {
  for (int64_t y = 0; y < f->height; y++) {
    float *row = frame + fy_frame_at(f, y, 0);
    if (channels == 1 && f->channels == 1) {
      memcpy(row, image + y * f->width, (size_t)f->width * sizeof *row);
      continue;
    }
    for (int64_t c = 0; c < f->channels; c++) {
      const float *from = image + (c * f->height + y) * f->width;
      for (int64_t x = 0; x < f->width; x++)
        row[x * f->channels + c] = c < channels ? from[x] : 0;
    }
  }
}

void fy_frame_empty(const FyFrame *f, int64_t channels, const float *frame, float *image) {
  for (int64_t y = 0; y < f->height; y++) {
    const float *row = frame + fy_frame_at(f, y, 0);
    for (int64_t c = 0; c < channels; c++) {
      float *to = image + (c * f->height + y) * f->width;
      for (int64_t x = 0; x < f->width; x++)
        to[x] = row[x * f->channels + c];
    }
  }
}

// ---- weights ---------------------------------------------------------------------------------------------------------------

void fy_conv_stage_pack(FyConvStage *s, const float *weight, int64_t channels, const float *bias) {
  const int64_t area = s->kernel_height * s->kernel_width;
  float *to = s->packed;
  for (int64_t first = 0; first < fy_panels(s->outputs) * FY_PANEL; first += FY_PANEL)
    for (int64_t tap = 0; tap < area; tap++)
      for (int64_t c = 0; c < s->in.channels; c++)
        for (int64_t o = first; o < first + FY_PANEL; o++)
          *to++ = o < s->outputs && c < channels ? weight[(o * channels + c) * area + tap] : 0;
  memset(s->bias, 0, (size_t)(fy_panels(s->outputs) * FY_PANEL) * sizeof *s->bias);
  if (bias)
    memcpy(s->bias, bias, (size_t)s->outputs * sizeof *bias);
}

// ---- a block of pixels -------------------------------------------------------------------------------------------------------

// Where a panel's sums come from: `runs` runs of `length` numbers of the input, which lie as `run` says.
typedef struct Taps {
  int64_t rows, columns, row_step, column_step, length; // runs are rows x columns
  int64_t pixel, line; // steps of the input from one output to the next, and to the next row
} Taps;

static Taps taps_of(const FyConvStage *s) {
  const int64_t c = s->in.channels, line = (s->in.width + 2 * s->in.border) * c;
  const bool joined = s->dilation == 1; // the columns of a kernel's row are neighbors
  return (Taps){
      .rows = s->kernel_height,
      .columns = joined ? 1 : s->kernel_width,
      .row_step = s->dilation * line,
      .column_step = s->dilation * c,
      .length = joined ? s->kernel_width * c : c,
      .pixel = s->stride * c,
      .line = s->stride * line,
  };
}

// The sums of lines x pixels outputs for one panel.
FY_ALWAYS_INLINE void sums(int lines, int pixels, const Taps *t, const float *restrict x, const float *restrict w,
                           const float *bias, FyLanes sum[FY_MOST_SUMS][2]) {
  for (int i = 0; i < lines * pixels; i++)
    for (int v = 0; v < 2; v++)
      sum[i][v] = fy_lanes_at(bias + v * FY_LANES);
  const int64_t pixel = t->pixel;
  for (int64_t row = 0; row < t->rows; row++)
    for (int64_t column = 0; column < t->columns; column++) {
      const float *restrict upper = x + row * t->row_step + column * t->column_step, *restrict lower = upper + t->line;
      for (int64_t k = 0; k < t->length; k++, upper++, lower++, w += FY_PANEL) {
        const FyLanes low = fy_lanes_at(w), high = fy_lanes_at(w + FY_LANES);
        for (int p = 0; p < pixels; p++) {
          sum[p][0] += upper[p * pixel] * low;
          sum[p][1] += upper[p * pixel] * high;
        }
        for (int p = 0; lines == 2 && p < pixels; p++) {
          sum[pixels + p][0] += lower[p * pixel] * low;
          sum[pixels + p][1] += lower[p * pixel] * high;
        }
      }
    }
}

FY_ALWAYS_INLINE void put(FyLanes v, bool relu, float *out) {
  fy_lanes_store(out, relu ? fy_lanes_relu(v) : v);
}

// `vectors` of the two are the image's.
FY_ALWAYS_INLINE void plain_block(int pixels, const FyConvStage *s, const Taps *t, const float *x, const float *w,
                                  const float *bias, float *out, int vectors) {
  FyLanes sum[FY_MOST_SUMS][2];
  sums(1, pixels, t, x, w, bias, sum);
  for (int p = 0; p < pixels; p++)
    for (int v = 0; v < vectors; v++)
      put(sum[p][v], s->relu, out + p * s->out.channels + v * FY_LANES);
}

FY_ALWAYS_INLINE void pooled_block(int pixels, const FyConvStage *s, const Taps *t, const float *x, const float *w,
                                   const float *bias, float *out, int vectors) {
  FyLanes sum[FY_MOST_SUMS][2];
  sums(2, pixels, t, x, w, bias, sum);
  for (int p = 0; p < pixels; p += 2)
    for (int v = 0; v < vectors; v++) {
      const FyLanes upper = fy_lanes_max(sum[p][v], sum[p + 1][v]);
      const FyLanes lower = fy_lanes_max(sum[pixels + p][v], sum[pixels + p + 1][v]);
      put(fy_lanes_max(upper, lower), s->relu, out + p / 2 * s->out.channels + v * FY_LANES);
    }
}

typedef void Block(const FyConvStage *s, const Taps *t, const float *x, const float *w, const float *bias, float *out,
                   int vectors);
#define BLOCK(kind, n)                                                                                                 \
  static void kind##_##n(const FyConvStage *s, const Taps *t, const float *x, const float *w, const float *bias,       \
                         float *out, int vectors) {                                                                    \
    kind##_block(n, s, t, x, w, bias, out, vectors);                                                                   \
  }
BLOCK(plain, 1)
BLOCK(plain, 2)
BLOCK(plain, 3)
BLOCK(plain, 4)
BLOCK(plain, 5)
BLOCK(pooled, 2)
#if defined(__AVX512F__)
BLOCK(plain, 6)
BLOCK(plain, 7)
BLOCK(plain, 8)
BLOCK(plain, 9)
BLOCK(plain, 10)
BLOCK(plain, 11)
BLOCK(plain, 12)
BLOCK(pooled, 4)
BLOCK(pooled, 6)
#endif

// By the number of outputs of the block.
static Block *const plain_blocks[FY_MOST_SUMS + 1] = {
    NULL,    plain_1, plain_2, plain_3, plain_4,  plain_5,
#if defined(__AVX512F__)
    plain_6, plain_7, plain_8, plain_9, plain_10, plain_11, plain_12,
#endif
};
static Block *const pooled_blocks[FY_MOST_SUMS / 4 + 1] = {
    NULL,
    pooled_2,
#if defined(__AVX512F__)
    pooled_4,
    pooled_6,
#endif
};

// ---- rows --------------------------------------------------------------------------------------------------------------------

// Row y of the output, for one panel, in blocks of nearly the same width.
static void run_row(const FyConvStage *s, const Taps *t, const float *in, float *out, int64_t panel, int64_t y) {
  Block *const *kernels = s->pool ? pooled_blocks : plain_blocks;
  const int64_t width = s->out.width, most = s->pool ? FY_MOST_SUMS / 4 : FY_MOST_SUMS;
  const int64_t blocks = (width + most - 1) / most, step = s->pool ? 2 : 1;
  const int64_t left = s->out.channels - panel * FY_PANEL;
  const int vectors = left > FY_LANES ? 2 : 1;
  const float *w = s->packed + panel * fy_conv_stage_depth(s) * FY_PANEL, *bias = s->bias + panel * FY_PANEL;
  const float *x = in + y * step * t->line;
  float *to = out + fy_frame_at(&s->out, y, 0) + panel * FY_PANEL;
  for (int64_t block = 0; block < blocks; block++) {
    const int64_t first = width * block / blocks, count = width * (block + 1) / blocks - first;
    kernels[count](s, t, x + first * step * t->pixel, w, bias, to + first * s->out.channels, vectors);
  }
}

void fy_conv_stage_run(const FyConvStage *s, const float *in, float *out, int64_t begin, int64_t end) {
  const Taps taps = taps_of(s);
  for (int64_t unit = begin; unit < end; unit++)
    run_row(s, &taps, in, out, unit / s->out.height, unit % s->out.height);
}
