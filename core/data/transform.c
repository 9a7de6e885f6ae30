// SPDX-License-Identifier: MIT
// Transforms as a list of steps. Crops and flips only move a window over the image; the pixels are touched once, where the
// numbers change (ToTensor, Normalize) or at the end.
#include "data/impl.h"
#include "base/integers.h"
#include "op/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHANNELS = 4, MAX_SIDE = 1 << 20 };

typedef enum StepKind { TO_TENSOR, NORMALIZE, RANDOM_CROP, RANDOM_FLIP } StepKind;

typedef struct Step {
  StepKind kind;
  int channels; // NORMALIZE: 1 serves every image
  float mean[MAX_CHANNELS], std[MAX_CHANNELS];
  int size, padding; // RANDOM_CROP
  double p;          // RANDOM_FLIP
} Step;

struct FyTransform {
  FyObject object;
  int count;
  Step *steps;
};

static void destroy_transform(void *object) {
  FyTransform *t = object;
  free(t->steps);
  free(t);
}

static FyTransform *new_transform(int count) {
  FyTransform *t = fy_object_new(sizeof *t, destroy_transform);
  t->steps = calloc((size_t)count + 1, sizeof *t->steps);
  fy_check(t->steps, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a transform of %d steps", count);
  t->count = count;
  return t;
}

static FyTransform *single(Step step) {
  FyTransform *t = new_transform(1);
  t->steps[0] = step;
  return t;
}

FyTransform *fy_to_tensor(void) {
  return single((Step){.kind = TO_TENSOR});
}

FyTransform *fy_normalize(int channels, const float *mean, const float *std) {
  fy_check(channels >= 1 && channels <= MAX_CHANNELS, FY_VALUE_ERROR,
           "fy_normalize: expected 1 to %d channels, but got %d", MAX_CHANNELS, channels);
  fy_check(mean && std, FY_TYPE_ERROR, "fy_normalize: mean or std is NULL");
  Step step = {.kind = NORMALIZE, .channels = channels};
  for (int c = 0; c < channels; c++) {
    fy_check(std[c] != 0 && !isnan(std[c]), FY_VALUE_ERROR,
             "std evaluated to zero after conversion to torch.float32, leading to division by zero: channel %d", c);
    step.mean[c] = mean[c];
    step.std[c] = std[c];
  }
  return single(step);
}

FyTransform *fy_random_crop(int size, int padding) {
  fy_check(size >= 1 && size <= MAX_SIDE, FY_VALUE_ERROR, "fy_random_crop: expected a size from 1 to %d, but got %d",
           MAX_SIDE, size);
  fy_check(padding >= 0 && padding <= MAX_SIDE, FY_VALUE_ERROR,
           "fy_random_crop: expected a padding from 0 to %d, but got %d", MAX_SIDE, padding);
  return single((Step){.kind = RANDOM_CROP, .size = size, .padding = padding});
}

FyTransform *fy_random_horizontal_flip(double p) {
  fy_check(p >= 0 && p <= 1, FY_VALUE_ERROR, "fy_random_horizontal_flip: expected p from 0 to 1, but got %g", p);
  return single((Step){.kind = RANDOM_FLIP, .p = p});
}

FyTransform *fy_compose_with(FyTransform *const *transforms) {
  int count = 0, at = 0;
  for (int i = 0; transforms[i]; i++)
    count += transforms[i]->count;
  FyTransform *all = new_transform(count);
  for (int i = 0; transforms[i]; i++) {
    memcpy(all->steps + at, transforms[i]->steps, (size_t)transforms[i]->count * sizeof(Step));
    at += transforms[i]->count;
  }
  return all;
}

// ---- shapes ------------------------------------------------------------------------------------------------------------

FyImageShape fy_image_shape(FySize size, FyDType dtype, bool channels_first) {
  bool image = (dtype == FY_UINT8 || dtype == FY_FLOAT32) && (size.ndim == 2 || size.ndim == 3);
  fy_check(image, FY_VALUE_ERROR,
           "a transform takes one image: uint8 (H, W) or (H, W, C), or float32 (H, W) or (C, H, W), but got %s with %d "
           "dimensions",
           fy_dtype_name(dtype), size.ndim);
  FyImageShape shape = {.dtype = dtype, .plain = size.ndim == 2, .channels_first = channels_first};
  shape.channels_first |= dtype == FY_FLOAT32 || shape.plain;
  int first = size.ndim == 3 && shape.channels_first;
  shape.channels = shape.plain ? 1 : size.dim[first ? 0 : 2];
  shape.height = size.dim[first];
  shape.width = size.dim[first + 1];
  for (int i = 0; i < size.ndim; i++)
    fy_check(size.dim[i] >= 0 && size.dim[i] <= MAX_SIDE, FY_VALUE_ERROR,
             "a transform takes images of at most %d pixels a side, but got %lld", MAX_SIDE, (long long)size.dim[i]);
  return shape;
}

FySize fy_image_size(FyImageShape s) {
  if (s.plain)
    return fy_shape(s.height, s.width);
  return s.channels_first ? fy_shape(s.channels, s.height, s.width) : fy_shape(s.height, s.width, s.channels);
}

size_t fy_image_bytes(FyImageShape s) {
  return (size_t)(s.channels * s.height * s.width) * fy_dtype_size(s.dtype);
}

static void check_normalize(const Step *step, const FyImageShape *shape) {
  fy_check(shape->dtype == FY_FLOAT32, FY_VALUE_ERROR,
           "Normalize: Input tensor should be a float tensor. Got torch.uint8: put fy_to_tensor() before it");
  fy_check(step->channels == 1 || step->channels == shape->channels, FY_VALUE_ERROR,
           "Normalize: mean and std have %d channels, but the image has %lld", step->channels,
           (long long)shape->channels);
}

static void check_crop(const Step *step, const FyImageShape *shape) {
  int64_t height = shape->height + 2 * (int64_t)step->padding, width = shape->width + 2 * (int64_t)step->padding;
  fy_check(step->size <= height && step->size <= width, FY_VALUE_ERROR,
           "Required crop size (%d, %d) is larger than input image size (%lld, %lld)", step->size, step->size,
           (long long)height, (long long)width);
}

FyImageShape fy_transform_shape(const FyTransform *t, FyImageShape shape, size_t *scratch) {
  size_t largest = 0;
  for (int i = 0; i < t->count; i++) {
    const Step *step = &t->steps[i];
    switch (step->kind) {
    case TO_TENSOR:
      shape.dtype = FY_FLOAT32;
      shape.channels_first = true;
      shape.plain = false;
      break;
    case NORMALIZE:
      check_normalize(step, &shape);
      break;
    case RANDOM_CROP:
      check_crop(step, &shape);
      shape.height = shape.width = step->size;
      break;
    case RANDOM_FLIP:
      break;
    }
    size_t bytes = fy_image_bytes(shape);
    largest = bytes > largest ? bytes : largest;
  }
  if (scratch)
    *scratch = 2 * largest; // one is read while the other is written
  return shape;
}

// ---- the window --------------------------------------------------------------------------------------------------------

// What the next pass over the pixels will read: pixel (y, x) of the picture is pixel (top + y, left + step * x) of `image`
// where that lies within the four bounds, and 0 elsewhere.
typedef struct Window {
  const void *image;
  FyImageShape shape;                   // of `image`
  int64_t height, width;                // of the picture
  int64_t top, left, step;              // step is 1, or -1 when flipped
  int64_t y_low, y_high, x_low, x_high; // within the image
  bool convert;                         // ToTensor is due
  const Step *normalize;                // Normalize is due
} Window;

static Window window_on(const void *image, FyImageShape shape) {
  return (Window){.image = image,
                  .shape = shape,
                  .height = shape.height,
                  .width = shape.width,
                  .step = 1,
                  .y_high = shape.height,
                  .x_high = shape.width};
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static void flip(Window *w) {
  w->left += w->step * (w->width - 1);
  w->step = -w->step;
}

static void crop(Window *w, int64_t y, int64_t x, int size) {
  int64_t last = w->left + w->step * (w->width - 1);
  w->y_low = larger(w->y_low, w->top);
  w->y_high = fy_smaller(w->y_high, w->top + w->height);
  w->x_low = larger(w->x_low, fy_smaller(w->left, last));
  w->x_high = fy_smaller(w->x_high, larger(w->left, last) + 1);
  w->top += y;
  w->left += w->step * x;
  w->height = w->width = size;
}

static void random_crop(Window *w, const Step *step, FyPhilox random) {
  uint64_t rows = (uint64_t)(w->height + 2 * (int64_t)step->padding - step->size + 1);
  uint64_t columns = (uint64_t)(w->width + 2 * (int64_t)step->padding - step->size + 1);
  int64_t y = (int64_t)(random.word[0] * rows >> 32), x = (int64_t)(random.word[1] * columns >> 32);
  crop(w, y - step->padding, x - step->padding, step->size);
}

// ---- the pass over the pixels ------------------------------------------------------------------------------------------

// One row's worth of pixels `step` elements apart. The arithmetic is torchvision's, step by step, so that the numbers are
// the same to the last bit; the loops are written out per step so that they become vectors.
#define ROW(NAME, T, VALUE)                                                                                            \
  static void NAME(const void *from, int64_t step, float *restrict out, int64_t n, float mean, float std) {            \
    const T *in = from;                                                                                                \
    (void)mean;                                                                                                        \
    (void)std;                                                                                                         \
    if (step == 1)                                                                                                     \
      for (int64_t x = 0; x < n; x++)                                                                                  \
        out[x] = VALUE(in[x]);                                                                                         \
    else if (step == -1)                                                                                               \
      for (int64_t x = 0; x < n; x++)                                                                                  \
        out[x] = VALUE(in[-x]);                                                                                        \
    else                                                                                                               \
      for (int64_t x = 0; x < n; x++)                                                                                  \
        out[x] = VALUE(in[step * x]);                                                                                  \
  }
#define SCALED(v) ((float)(v) / 255.0f)
#define SCALED_NORMALIZED(v) (((float)(v) / 255.0f - mean) / std)
#define SAME(v) (v)
#define NORMALIZED(v) (((v)-mean) / std)
ROW(row_scaled, uint8_t, SCALED)
ROW(row_scaled_normalized, uint8_t, SCALED_NORMALIZED)
ROW(row_same, float, SAME)
ROW(row_normalized, float, NORMALIZED)

typedef void RowFunction(const void *from, int64_t step, float *restrict out, int64_t n, float mean, float std);

static void fill_row(float *out, int64_t n, float value) {
  for (int64_t x = 0; x < n; x++)
    out[x] = value;
}

// The picture's columns [begin, end) whose pixels exist.
static void existing_columns(const Window *w, int64_t *begin, int64_t *end) {
  if (w->step > 0) {
    *begin = w->x_low - w->left;
    *end = w->x_high - w->left;
  } else {
    *begin = w->left - w->x_high + 1;
    *end = w->left - w->x_low + 1;
  }
  *begin = fy_smaller(larger(*begin, 0), w->width);
  *end = larger(fy_smaller(*end, w->width), *begin);
}

static bool row_exists(const Window *w, int64_t y) {
  return w->top + y >= w->y_low && w->top + y < w->y_high;
}

// What one channel goes through.
typedef struct Pass {
  RowFunction *row;
  const char *plane; // the channel's first value in the image
  size_t size;       // bytes of a value
  int64_t pixel;     // values from one pixel to the next
  float mean, std;
  float empty; // what 0 becomes
} Pass;

static Pass pass_of(const Window *w, int64_t channel) {
  const FyImageShape *s = &w->shape;
  bool bytes = s->dtype == FY_UINT8;
  Pass pass = {.row = bytes ? row_scaled : row_same, .size = bytes ? 1 : sizeof(float), .mean = 0, .std = 1};
  if (w->normalize) {
    int64_t own = w->normalize->channels > 1 ? channel : 0;
    pass.row = bytes ? row_scaled_normalized : row_normalized;
    pass.mean = w->normalize->mean[own];
    pass.std = w->normalize->std[own];
    pass.empty = (0.0f - pass.mean) / pass.std;
  }
  pass.pixel = s->channels_first ? 1 : s->channels;
  pass.plane = (const char *)w->image + (size_t)(channel * (s->channels_first ? s->height * s->width : 1)) * pass.size;
  return pass;
}

// Does the window show all of the image, as it is? Then its rows are one long row.
static bool shows_all(const Window *w) {
  const FyImageShape *s = &w->shape;
  return w->step == 1 && w->top == 0 && w->left == 0 && w->height == s->height && w->width == s->width &&
         w->y_low == 0 && w->x_low == 0 && w->y_high == s->height && w->x_high == s->width;
}

// The picture as float32 (C, H, W).
static void write_floats(const Window *w, float *out) {
  int64_t begin, end;
  existing_columns(w, &begin, &end);
  for (int64_t c = 0; c < w->shape.channels; c++) {
    Pass pass = pass_of(w, c);
    if (shows_all(w)) {
      pass.row(pass.plane, pass.pixel, out, w->height * w->width, pass.mean, pass.std);
      out += w->height * w->width;
      continue;
    }
    for (int64_t y = 0; y < w->height; y++, out += w->width) {
      if (!row_exists(w, y) || begin == end) {
        fill_row(out, w->width, pass.empty);
        continue;
      }
      int64_t first = ((w->top + y) * w->shape.width + w->left + w->step * begin) * pass.pixel;
      fill_row(out, begin, pass.empty);
      pass.row(pass.plane + first * (int64_t)pass.size, w->step * pass.pixel, out + begin, end - begin, pass.mean,
               pass.std);
      fill_row(out + end, w->width - end, pass.empty);
    }
  }
}

// The picture as uint8, in the image's own layout.
static void write_bytes(const Window *w, uint8_t *out) {
  const FyImageShape *s = &w->shape;
  const uint8_t *image = w->image;
  int64_t planes = s->channels_first ? s->channels : 1, pixel = s->channels_first ? 1 : s->channels, begin, end;
  existing_columns(w, &begin, &end);
  for (int64_t plane = 0; plane < planes; plane++) {
    for (int64_t y = 0; y < w->height; y++, out += w->width * pixel) {
      memset(out, 0, (size_t)(w->width * pixel));
      if (!row_exists(w, y))
        continue;
      const uint8_t *row = image + ((plane * s->height + w->top + y) * s->width) * pixel;
      for (int64_t x = begin; x < end; x++)
        memcpy(out + x * pixel, row + (w->left + w->step * x) * pixel, (size_t)pixel);
    }
  }
}

static FyImageShape picture_shape(const Window *w) {
  FyImageShape shape = w->shape;
  shape.height = w->height;
  shape.width = w->width;
  if (w->convert) {
    shape.dtype = FY_FLOAT32;
    shape.channels_first = true;
  }
  shape.plain &= !w->convert;
  return shape;
}

static FyImageShape write_picture(const Window *w, void *out) {
  FyImageShape shape = picture_shape(w);
  if (shape.dtype == FY_FLOAT32)
    write_floats(w, out);
  else
    write_bytes(w, out);
  return shape;
}

void fy_transform_apply(const FyTransform *t, FyImageShape in, const void *image, uint64_t seed, void *out,
                        void *scratch) {
  size_t scratch_bytes;
  fy_transform_shape(t, in, &scratch_bytes);
  Window w = window_on(image, in);
  int passes = 0;
  for (int i = 0; i < t->count; i++) {
    const Step *step = &t->steps[i];
    // What a crop pads after Normalize is 0, not the normalized 0 of what was padded before.
    bool pads = step->kind == RANDOM_CROP && step->padding > 0;
    if (w.normalize && (pads || step->kind == NORMALIZE)) {
      char *half = (char *)scratch + (passes++ & 1) * (scratch_bytes / 2);
      FyImageShape shape = write_picture(&w, half);
      w = window_on(half, shape);
    }
    if (step->kind == TO_TENSOR)
      w.convert = true;
    else if (step->kind == NORMALIZE)
      w.normalize = step;
    else if (step->kind == RANDOM_CROP)
      random_crop(&w, step, fy_philox(seed, (uint64_t)i));
    else if (fy_philox(seed, (uint64_t)i).word[0] < step->p * 4294967296.0)
      flip(&w);
  }
  write_picture(&w, out);
}

FyTensor *fy_transform(FyTransform *transform, FyTensor *image, uint64_t seed) {
  fy_check(transform && image, FY_TYPE_ERROR, "fy_transform: the transform or the image is NULL");
  fy_check(fy_device_of(image).type == FY_CPU, FY_TYPE_ERROR, "fy_transform: the image is on %s; take fy_cpu(image)",
           fy_device_name_of(fy_device_of(image)));
  int scope = fy_scope_open();
  size_t scratch_bytes;
  FyTensor *source = fy_contiguous(fy_detach(image));
  FyImageShape in = fy_image_shape(fy_size(source), fy_dtype_of(source), false);
  FyImageShape shape = fy_transform_shape(transform, in, &scratch_bytes);
  FyTensor *out = fy_empty(fy_image_size(shape), .dtype = shape.dtype);
  FyTensor *scratch = fy_empty(fy_shape((int64_t)scratch_bytes), .dtype = FY_UINT8);
  fy_transform_apply(transform, in, fy_data_ptr(source), seed, fy_data_ptr(out), fy_data_ptr(scratch));
  fy_keep(out);
  fy_scope_close(scope);
  return out;
}
