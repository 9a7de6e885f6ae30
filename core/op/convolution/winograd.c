// SPDX-License-Identifier: MIT
#include "op/convolution/winograd.h"
#include "base/integers.h"
#include "base/threads.h"
#include "op/copy/transpose.h"
#include "op/convolution/winograd_tiles.h"
#include <stdatomic.h>
#include <string.h>

// ---- plan ------------------------------------------------------------------------------------------------------------------

// An array of images that a pass reads or writes, and how it is brought to tiles.
typedef struct Side {
  const float *data;
  bool last;              // its channels lie together: (n, h, w, c); else (n, c, h, w)
  int64_t c, h, w, width; // width: channels in whole vectors
  int64_t padding, more;  // pixels around an image, and those that a row of tiles needs beyond its own
} Side;

// What a thread has of its own, one after the other.
enum { FRAME, FRAME_OUT, TURNED, V, M, CHUNK, SCRATCH, GRADIENT, PIECES };

typedef struct Job {
  int64_t n, ty, tx;           // images, and the tiles of one
  Side in, out;                // of the convolution that is computed: forward, or that of the gradient
  int64_t images, rows, bands; // of a block: whole images, or a band of one image's tile rows; and bands of an image
  int64_t groups;              // of tiles in a block, at most
  int64_t v_group, v_point, m_group, m_point, u_point, u_next; // floats from one to the next
  float *u, *bias, *result;
  const FyConvHook *hook;
  atomic_bool *large; // some number is (winograd.h): all threads stop
  int64_t parts;
  int64_t at[PIECES], slot; // floats
  float *slots;
} Job;

typedef struct WinogradBlock {
  int64_t first, images, row, rows;
} WinogradBlock;

static int64_t vectors(const Side *side) {
  return side->width / WINO_VL;
}

bool fy_winograd_suits(FyDType dtype, const FyConvShape *s) {
  return dtype == FY_FLOAT32 && s->kh == 3 && s->kw == 3 && s->stride == 1 && s->dilation == 1 && s->groups == 1 &&
         s->padding <= 2 && s->n > 0 && s->c > 0 && s->o > 0;
}

int fy_winograd_vector_bytes(void) {
  return WINO_BYTES;
}

static Side side_of(const float *data, bool last, int64_t c, int64_t h, int64_t w, int64_t padding, int64_t more) {
  return (Side){data, last, c, h, w, fy_div_ceil(c, WINO_VL) * WINO_VL, padding, more};
}

// Blocks by the shape alone: as many tiles as fit, with their points, into half of a large second-level cache.
static void choose_blocks(Job *job) {
  enum { CACHE = 512 << 10, LEAST_TILES = 32, LEAST_UNITS = 8 };
  const int64_t tile = WINO_POINTS * (job->in.width + job->out.width) * (int64_t)sizeof(float);
  int64_t tiles = CACHE / tile / WINO_TILES * WINO_TILES;
  if (tiles < LEAST_TILES) // of many channels U is what is large, and each block reads all of it
    tiles = LEAST_TILES;
  job->images = tiles / (job->ty * job->tx);
  job->rows = job->ty;
  if (job->images == 0) {
    job->images = 1;
    job->rows = tiles < job->tx ? 1 : tiles / job->tx;
  }
  while (job->images > 1 && fy_div_ceil(job->n, job->images) < LEAST_UNITS)
    job->images--;
  job->bands = fy_div_ceil(job->ty, job->rows);
  job->groups = fy_div_ceil(job->images * job->rows * job->tx, WINO_TILES);
}

static void choose_strides(Job *job) {
  const int64_t line = WINO_VL; // points a power of two apart would share a set of the first-level cache
  job->v_point = WINO_TILES * job->in.width + line;
  job->m_point = WINO_TILES * job->out.width + line;
  job->v_group = WINO_POINTS * job->v_point;
  job->m_group = WINO_POINTS * job->m_point;
  job->u_next = job->in.width * WINO_VL;
  job->u_point = job->in.width * job->out.width + line;
}

static int64_t frame_height(const Job *job, const Side *side) {
  return WINO_OUT * job->rows + side->more;
}
static int64_t frame_width(const Job *job, const Side *side) {
  return WINO_OUT * job->tx + side->more;
}
static int64_t frame_size(const Job *job, const Side *side) {
  return job->images * frame_height(job, side) * frame_width(job, side) * side->width;
}

// For the threads that `turns` turns can keep busy.
static bool make_slots(FyLaunch *l, Job *job, bool gradient, int64_t turns) {
  const int64_t turned_in = frame_height(job, &job->in) * job->in.w * WINO_VL;
  const int64_t turned_out = frame_height(job, &job->out) * job->out.w * WINO_VL;
  const Side *met = job->hook && job->in.data == NULL ? &job->in : &job->out;
  const int64_t sizes[PIECES] = {
      [FRAME] = frame_size(job, &job->in),
      [FRAME_OUT] = gradient ? frame_size(job, &job->out) : 0,
      [TURNED] = turned_in > turned_out ? turned_in : turned_out,
      [V] = job->groups * job->v_group,
      [M] = job->groups * job->m_group,
      [CHUNK] = job->hook ? job->images * met->c * met->h * met->w : 0,
      [SCRATCH] = job->hook ? fy_div_ceil((int64_t)job->hook->scratch_bytes, sizeof(float)) : 0,
      [GRADIENT] = gradient ? WINO_POINTS * job->u_point : 0,
  };
  for (int i = 0; i < PIECES; i++) {
    job->at[i] = job->slot;
    job->slot += fy_div_ceil(sizes[i], 16) * 16;
  }
  job->slots = l->workspace(l, (size_t)(job->slot * fy_smaller(turns, fy_get_num_threads())) * sizeof(float));
  return job->slots != NULL;
}

static float *piece(const Job *job, int worker, int which) {
  return job->slots + worker * job->slot + job->at[which];
}

// ---- images and tiles --------------------------------------------------------------------------------------------------------

static void clear_pixels(float *to, int64_t width, int64_t pixels, int64_t vectors) {
  for (int64_t x = 0; x < pixels; x++, to += width)
    for (int64_t k = 0; k < vectors; k++)
      store(to + k * WINO_VL, (Vec){0});
}

// One vector of channels of a row: `channels` of them where it is not full; `pixel` floats from a pixel to the next.
static Seen copy_pixels(float *to, int64_t width, int64_t pixels, const float *from, int64_t pixel, int64_t channels,
                        Seen seen) {
  if (channels >= WINO_VL) {
    for (int64_t x = 0; x < pixels; x++) {
      const Vec v = load(from + x * pixel);
      seen = see(seen, v);
      store(to + x * width, v);
    }
    return seen;
  }
  clear_pixels(to, width, pixels, 1);
  for (int64_t x = 0; x < pixels; x++)
    memcpy(to + x * width, from + x * pixel, (size_t)channels * sizeof(float));
  for (int64_t x = 0; x < pixels; x++)
    seen = see(seen, load(to + x * width));
  return seen;
}

// frame (rows, columns, width) = the image's pixels from row y0 on, with zeros around them and beyond its channels. One vector of
// channels after the other, so that `turned`, where the channels come to lie together, stays in the first-level cache.
static Seen frame_image(const Side *side, const float *image, bool last, int64_t y0, int64_t rows, int64_t columns,
                        float *turned, float *frame, Seen seen) {
  const int64_t c = side->c, w = side->w, width = side->width, line = columns * width, left = side->padding;
  const int64_t top = fy_smaller(y0 < 0 ? 0 : y0, side->h), bottom = fy_smaller(y0 + rows, side->h);
  const bool whole = last && c == width; // a row is one piece
  float *first = frame + (top - y0) * line;
  clear_pixels(frame, width, (top - y0) * columns, vectors(side));
  for (int64_t y = top; y < bottom; y++) {
    float *row = frame + (y - y0) * line;
    clear_pixels(row, width, left, vectors(side));
    clear_pixels(row + (left + w) * width, width, columns - left - w, vectors(side));
    if (whole)
      seen = copy_pixels(row + left * width, WINO_VL, w * vectors(side), image + y * w * c, WINO_VL, WINO_VL, seen);
  }
  clear_pixels(frame + (bottom - y0) * line, width, (y0 + rows - bottom) * columns, vectors(side));
  for (int64_t k = 0; k < c && top < bottom && !whole; k += WINO_VL) {
    const int64_t channels = fy_smaller(WINO_VL, c - k), pixel = last ? c : WINO_VL;
    const float *from = last ? image + top * w * c + k : turned;
    if (!last)
      fy_transpose_matrix(sizeof(float), turned, WINO_VL, image + (k * side->h + top) * w, side->h * w,
                          (bottom - top) * w, channels);
    for (int64_t y = 0; y < bottom - top; y++)
      seen = copy_pixels(first + y * line + left * width + k, width, w, from + y * w * pixel, pixel, channels, seen);
  }
  return seen;
}

static bool is_stopped(const Job *job) {
  return atomic_load_explicit(job->large, memory_order_relaxed);
}

static bool stop_if_large(const Job *job, Seen seen) {
  if (has_seen_large(seen))
    atomic_store_explicit(job->large, true, memory_order_relaxed);
  return is_stopped(job);
}

// The block's tiles at the points, in groups; where the last one is not full, zeros. `images`: of the block's first. False, and all
// threads are to stop, where a number is large.
static bool make_points(const Job *job, const Side *side, const WinogradBlock *block, const float *images, bool last,
                        float *turned, float *frame, float *to, int64_t group, int64_t point) {
  const int64_t columns = frame_width(job, side), height = WINO_OUT * block->rows + side->more;
  const int64_t pixel = side->width, line = columns * pixel, step = WINO_TILES * WINO_VL;
  int64_t tile = 0;
  Seen seen = {0};
  for (int64_t i = 0; i < block->images; i++) {
    seen = frame_image(side, images + i * side->c * side->h * side->w, last, WINO_OUT * block->row - side->padding,
                       height, columns, turned, frame, seen);
    for (int64_t r = 0; r < block->rows; r++)
      for (int64_t q = 0; q < job->tx; q++, tile++) {
        const float *from = frame + WINO_OUT * (r * line + q * pixel);
        float *at = to + tile / WINO_TILES * group + tile % WINO_TILES * WINO_VL;
        for (int64_t k = 0; k < vectors(side); k++)
          if (side->more)
            pixels_to_points(from + k * WINO_VL, line, pixel, at + k * step, point);
          else
            outputs_to_points(from + k * WINO_VL, line, pixel, at + k * step, point);
      }
  }
  for (; tile % WINO_TILES; tile++)
    for (int64_t p = 0; p < WINO_POINTS; p++)
      for (int64_t k = 0; k < vectors(side); k++)
        store(to + tile / WINO_TILES * group + p * point + tile % WINO_TILES * WINO_VL + k * step, (Vec){0});
  return !stop_if_large(job, seen);
}

// The part of a tile of outputs that lies within the image, and within `lanes` channels.
static void store_tile(Vec tile[WINO_OUT][WINO_OUT], int64_t rows, int64_t columns, int64_t lanes, float *to,
                       int64_t line, int64_t pixel) {
  if (rows >= WINO_OUT && columns >= WINO_OUT && lanes >= WINO_VL) {
    for (int i = 0; i < WINO_OUT; i++)
      for (int j = 0; j < WINO_OUT; j++)
        store(to + i * line + j * pixel, tile[i][j]);
    return;
  }
  const size_t bytes = (size_t)fy_smaller(lanes, WINO_VL) * sizeof(float);
  for (int i = 0; i < fy_smaller(rows, WINO_OUT); i++)
    for (int j = 0; j < fy_smaller(columns, WINO_OUT); j++)
      if (lanes >= WINO_VL)
        store(to + i * line + j * pixel, tile[i][j]);
      else
        memcpy(to + i * line + j * pixel, &tile[i][j], bytes);
}

// The block's tiles of one row back from the points, for the k-th vector of channels; `tile`: the number of the first in the block.
static void make_row(const Job *job, const float *m, int64_t tile, int64_t row, int64_t k, float *to, int64_t lanes,
                     int64_t pixel) {
  const Side *out = &job->out;
  const Vec bias = load(job->bias + k * WINO_VL);
  for (int64_t q = 0; q < job->tx; q++, tile++) {
    Vec outputs[WINO_OUT][WINO_OUT];
    points_to_outputs(m + tile / WINO_TILES * job->m_group + (k * WINO_TILES + tile % WINO_TILES) * WINO_VL,
                      job->m_point, bias, outputs);
    store_tile(outputs, out->h - WINO_OUT * row, out->w - WINO_OUT * q, lanes, to + WINO_OUT * q * pixel,
               out->w * pixel, pixel);
  }
}

// An image's tiles back from the points: rows [row, row + rows) of them.
static void make_outputs(const Job *job, const float *m, int64_t tile, int64_t row, int64_t rows, float *turned,
                         float *image, bool last) {
  const Side *out = &job->out;
  const int64_t area = out->h * out->w;
  for (int64_t r = row; r < row + rows; r++, tile += job->tx) {
    const int64_t at = WINO_OUT * r * out->w, pixels = fy_smaller(WINO_OUT * out->w, area - at);
    for (int64_t k = 0; k < vectors(out); k++) {
      const int64_t lanes = fy_smaller(WINO_VL, out->c - k * WINO_VL);
      if (last) {
        make_row(job, m, tile, r, k, image + at * out->c + k * WINO_VL, lanes, out->c);
        continue;
      }
      make_row(job, m, tile, r, k, turned, WINO_VL, WINO_VL);
      fy_transpose_matrix(sizeof(float), image + k * WINO_VL * area + at, area, turned, WINO_VL, lanes, pixels);
    }
  }
}

// ---- forward, and the gradient of the input --------------------------------------------------------------------------------------

static void multiply_points(const Job *job, int64_t groups, const float *v, float *m) {
  const int64_t wide = vectors(&job->out);
  for (int64_t p = 0; p < WINO_POINTS; p++)
    for (int64_t x = 0; x < wide; x += 2)
      for (int64_t g = 0; g < groups; g++) {
        const float *from = v + g * job->v_group + p * job->v_point;
        const float *u = job->u + p * job->u_point + x * job->u_next;
        float *to = m + g * job->m_group + p * job->m_point + x * WINO_TILES * WINO_VL;
        if (x + 2 <= wide)
          multiply(2, vectors(&job->in), from, u, job->u_next, to);
        else
          multiply(1, vectors(&job->in), from, u, job->u_next, to);
      }
}

static void convolve_block(const Job *job, int worker, const WinogradBlock *block, const float *images, bool in_last,
                           float *results, bool out_last) {
  const int64_t tiles = block->rows * job->tx, image = job->out.c * job->out.h * job->out.w;
  float *v = piece(job, worker, V), *m = piece(job, worker, M), *turned = piece(job, worker, TURNED);
  if (!make_points(job, &job->in, block, images, in_last, turned, piece(job, worker, FRAME), v, job->v_group,
                   job->v_point))
    return;
  multiply_points(job, fy_div_ceil(block->images * tiles, WINO_TILES), v, m);
  for (int64_t i = 0; i < block->images; i++)
    make_outputs(job, m, i * tiles, block->row, block->rows, turned, results + i * image, out_last);
}

// A unit is what a thread takes at a time: a block or, with a hook, the images of one, which the hook meets whole.
static int64_t units(const Job *job) {
  return fy_div_ceil(job->n, job->images) * (job->hook ? 1 : job->bands);
}

static void convolve_units(int worker, FyTurns *turns, void *context) {
  const Job *job = context;
  const FyConvHook *hook = job->hook;
  const bool made = hook && !job->in.data;
  float *chunk = piece(job, worker, CHUNK);
  for (int64_t unit; !is_stopped(job) && fy_next_turn(turns, &unit);) {
    const int64_t per = hook ? 1 : job->bands, band = unit % per;
    WinogradBlock block = {.first = unit / per * job->images};
    block.images = fy_smaller(job->images, job->n - block.first);
    if (made)
      hook->meet(hook->context, block.first, block.images, unit, chunk, piece(job, worker, SCRATCH));
    const float *in = made ? chunk : job->in.data + block.first * job->in.c * job->in.h * job->in.w;
    float *out = hook && !made ? chunk : job->result + block.first * job->out.c * job->out.h * job->out.w;
    for (int64_t b = band; b < (hook ? job->bands : band + 1); b++) {
      block.row = b * job->rows;
      block.rows = fy_smaller(job->rows, job->ty - block.row);
      convolve_block(job, worker, &block, in, job->in.last, out, job->out.last);
    }
    if (hook && !made && !is_stopped(job))
      hook->meet(hook->context, block.first, block.images, unit, chunk, piece(job, worker, SCRATCH));
  }
}

typedef struct Packing {
  const Job *job;
  const float *weight;
  int64_t in_step, out_step; // floats from an input channel's kernel to the next, and from an output channel's
  bool turned;               // each kernel by half a turn
} Packing;

static void pack_channels(int worker, FyTurns *turns, void *context) {
  const Packing *p = context;
  const Job *job = p->job;
  float kernel[WINO_KERNEL * WINO_VL];
  Seen seen = {0};
  (void)worker;
  for (int64_t c; fy_next_turn(turns, &c);)
    for (int64_t x = 0; x < vectors(&job->out); x++) {
      const int64_t lanes = fy_smaller(WINO_VL, job->out.c - x * WINO_VL);
      if (lanes < WINO_VL || c >= job->in.c)
        memset(kernel, 0, sizeof kernel);
      if (c < job->in.c)
        fy_transpose_tile(sizeof(float), kernel, WINO_VL, p->weight + c * p->in_step + x * WINO_VL * p->out_step,
                          p->out_step, WINO_KERNEL, lanes, false);
      for (int i = 0; i < WINO_KERNEL; i++)
        seen = see(seen, load(kernel + i * WINO_VL));
      kernel_to_points(kernel, p->turned, job->u + x * job->u_next + c * WINO_VL, job->u_point);
    }
  stop_if_large(job, seen);
}

static int convolve(FyLaunch *l, Job *job, Packing *packing, const float *bias) {
  choose_blocks(job);
  choose_strides(job);
  job->u = l->workspace(l, (size_t)(WINO_POINTS * job->u_point) * sizeof(float));
  job->bias = l->workspace(l, (size_t)job->out.width * sizeof(float));
  if (!job->u || !job->bias || !make_slots(l, job, false, units(job)))
    return FY_LAUNCH_NO_MEMORY;
  Seen seen = {0};
  memset(job->bias, 0, (size_t)job->out.width * sizeof(float));
  if (bias)
    memcpy(job->bias, bias, (size_t)job->out.c * sizeof(float));
  for (int64_t i = 0; i < job->out.width; i += WINO_VL)
    seen = see(seen, load(job->bias + i));
  atomic_bool large = false;
  job->large = &large;
  packing->job = job;
  if (stop_if_large(job, seen))
    return FY_WINOGRAD_LARGE;
  fy_parallel_turns(job->in.width, pack_channels, packing);
  if (!is_stopped(job))
    fy_parallel_turns(units(job), convolve_units, job);
  return is_stopped(job) ? FY_WINOGRAD_LARGE : FY_LAUNCH_OK;
}

int fy_winograd_forward(FyLaunch *l, const FyConvShape *s, const void *x, const void *weight, const void *bias,
                        void *out, const FyConvHook *hook) {
  Job job = {.n = s->n,
             .ty = fy_div_ceil(s->oh, WINO_OUT),
             .tx = fy_div_ceil(s->ow, WINO_OUT),
             .in = side_of(x, hook && hook->x_channels_last, s->c, s->h, s->w, s->padding, 2),
             .out = side_of(NULL, hook != NULL, s->o, s->oh, s->ow, 0, 0),
             .result = out,
             .hook = hook};
  Packing packing = {.weight = weight, .in_step = WINO_KERNEL, .out_step = WINO_KERNEL * s->c};
  return convolve(l, &job, &packing, bias);
}

int fy_winograd_backward_input(FyLaunch *l, const FyConvShape *s, const void *grad, const void *weight, void *grad_x,
                               const FyConvHook *hook) {
  Job job = {.n = s->n,
             .ty = fy_div_ceil(s->h, WINO_OUT),
             .tx = fy_div_ceil(s->w, WINO_OUT),
             .in = side_of(hook ? NULL : grad, hook != NULL, s->o, s->oh, s->ow, 2 - s->padding, 2),
             .out = side_of(NULL, hook && hook->x_channels_last, s->c, s->h, s->w, 0, 0),
             .result = grad_x,
             .hook = hook};
  Packing packing = {.weight = weight, .in_step = WINO_KERNEL * s->c, .out_step = WINO_KERNEL, .turned = true};
  return convolve(l, &job, &packing, NULL);
}

// ---- the gradient of the weight --------------------------------------------------------------------------------------------------

static void sum_products(const Job *job, int64_t groups, const float *v, const float *y, float *u, bool fresh) {
  const int64_t wide = vectors(&job->out);
  for (int64_t p = 0; p < WINO_POINTS; p++)
    for (int64_t x = 0; x < wide; x += 2)
      for (int64_t c = 0; c < job->in.width; c += WINO_CHANNELS) {
        const float *pixels = v + p * job->v_point + c / WINO_VL * WINO_TILES * WINO_VL + c % WINO_VL;
        const float *grads = y + p * job->m_point + x * WINO_TILES * WINO_VL;
        float *to = u + p * job->u_point + x * job->u_next + c * WINO_VL;
        if (x + 2 <= wide)
          multiply_tiles(2, groups, pixels, job->v_group, grads, job->m_group, to, job->u_next, fresh);
        else
          multiply_tiles(1, groups, pixels, job->v_group, grads, job->m_group, to, job->u_next, fresh);
      }
}

// Part p of the batch: its images' gradient at the points, and at the end as kernels (c, 9, o in whole vectors).
static void sum_part(const Job *job, int worker, int64_t part) {
  const Side *in = &job->in, *out = &job->out;
  const FyConvHook *hook = job->hook;
  const int64_t first = job->n * part / job->parts, end = job->n * (part + 1) / job->parts;
  float *v = piece(job, worker, V), *y = piece(job, worker, M), *u = piece(job, worker, GRADIENT);
  float *turned = piece(job, worker, TURNED), *chunk = piece(job, worker, CHUNK);
  bool fresh = true;
  for (WinogradBlock block = {.first = first}; block.first < end; block.first += job->images) {
    block.images = fy_smaller(job->images, end - block.first);
    if (hook)
      hook->meet(hook->context, block.first, block.images, part, chunk, piece(job, worker, SCRATCH));
    const float *images = in->data + block.first * in->c * in->h * in->w;
    const float *grads = hook ? chunk : out->data + block.first * out->c * out->h * out->w;
    for (int64_t b = 0; b < job->bands; b++, fresh = false) {
      block.row = b * job->rows;
      block.rows = fy_smaller(job->rows, job->ty - block.row);
      if (!make_points(job, in, &block, images, in->last, turned, piece(job, worker, FRAME), v, job->v_group,
                       job->v_point) ||
          !make_points(job, out, &block, grads, out->last, turned, piece(job, worker, FRAME_OUT), y, job->m_group,
                       job->m_point))
        return;
      sum_products(job, fy_div_ceil(block.images * block.rows * job->tx, WINO_TILES), v, y, u, fresh);
    }
  }
  float *result = job->result + part * WINO_KERNEL * in->c * out->width;
  for (int64_t c = 0; c < in->c; c++)
    for (int64_t x = 0; x < vectors(out); x++)
      points_to_kernel(u + x * job->u_next + c * WINO_VL, job->u_point,
                       result + c * WINO_KERNEL * out->width + x * WINO_VL, out->width);
}

static void sum_parts(int worker, FyTurns *turns, void *context) {
  const Job *job = context;
  for (int64_t part; !is_stopped(job) && fy_next_turn(turns, &part);)
    sum_part(job, worker, part);
}

int fy_winograd_backward_weight(FyLaunch *l, const FyConvShape *s, const void *grad, const void *x, void *grad_weight,
                                const FyConvHook *hook) {
  enum { LEAST_TILES = 128 }; // of a part, which costs a way back to the kernels
  Job job = {.n = s->n,
             .ty = fy_div_ceil(s->oh, WINO_OUT),
             .tx = fy_div_ceil(s->ow, WINO_OUT),
             .in = side_of(x, hook && hook->x_channels_last, s->c, s->h, s->w, s->padding, 2),
             .out = side_of(hook ? NULL : grad, hook != NULL, s->o, s->oh, s->ow, 0, 0),
             .hook = hook};
  choose_blocks(&job);
  choose_strides(&job);
  job.parts = fy_smaller(fy_smaller(s->n, FY_CONV_MOST_PARTS), 1 + s->n * job.ty * job.tx / LEAST_TILES);
  const int64_t depth = fy_conv_depth(s), count = depth * job.out.width;
  job.result = l->workspace(l, (size_t)(job.parts * count) * sizeof(float));
  if (!job.result || !make_slots(l, &job, true, job.parts))
    return FY_LAUNCH_NO_MEMORY;
  atomic_bool large = false;
  job.large = &large;
  fy_parallel_turns(job.parts, sum_parts, &job);
  if (is_stopped(&job))
    return FY_WINOGRAD_LARGE;
  fy_conv_sum_parts(FY_FLOAT32, job.parts, count, job.result, job.result);
  fy_transpose_matrix(sizeof(float), grad_weight, depth, job.result, job.out.width, s->o, depth);
  return FY_LAUNCH_OK;
}
