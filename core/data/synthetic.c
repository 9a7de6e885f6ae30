// SPDX-License-Identifier: MIT
// Made-up images: each class is a smooth pattern, which a sample shows shifted, fainter or stronger, and under noise.
#include "data/impl.h"
#include <math.h>
#include <stdlib.h>

enum { CLASSES = 10, GRID = 5, SHIFT = 3, MAX_SIDE = 32 };

static const uint64_t pattern_seed = 0xFE227; // the classes are the same in every set

typedef struct Synthetic {
  FyDataset base;
  int channels, side;
  uint64_t seed;
  float *patterns; // (10, channels, side, side), from -1 to 1
} Synthetic;

// A grid of random heights, interpolated in between.
static void make_pattern(float *out, int side, uint64_t first_counter) {
  float grid[GRID + 1][GRID + 1];
  for (int i = 0; i < (GRID + 1) * (GRID + 1); i++)
    grid[i / (GRID + 1)][i % (GRID + 1)] =
        (float)fy_philox(pattern_seed, first_counter + (uint64_t)i).word[0] * 0x1p-31f - 1;
  for (int y = 0; y < side; y++) {
    for (int x = 0; x < side; x++) {
      float v = (float)y * GRID / (float)side, u = (float)x * GRID / (float)side;
      int row = (int)v, column = (int)u;
      v -= (float)row;
      u -= (float)column;
      float upper = grid[row][column] * (1 - u) + grid[row][column + 1] * u;
      float lower = grid[row + 1][column] * (1 - u) + grid[row + 1][column + 1] * u;
      out[y * side + x] = upper * (1 - v) + lower * v;
    }
  }
}

typedef struct Look {
  const float *pattern; // (side, side)
  int side, down, right;
  float contrast;
} Look;

// Four random bytes summed: noise that is nearly normal, of 37 gray levels' standard deviation.
static float noise_of(uint32_t word) {
  int sum = (int)((word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24));
  return (float)(sum - 510) * 0.25f;
}

static void draw_plane(const Look *look, uint64_t seed, uint64_t counter, uint8_t *out) {
  int side = look->side; // a multiple of 4
  for (int y = 0; y < side; y++) {
    const float *row = look->pattern + (y + look->down + side) % side * side;
    int at = (look->right + side) % side;
    for (int x = 0; x < side; x += 4) {
      FyPhilox random = fy_philox(seed, counter++);
      for (int i = 0; i < 4; i++) {
        float value = 128 + look->contrast * row[at] + noise_of(random.word[i]);
        *out++ = (uint8_t)fminf(fmaxf(value, 0), 255);
        at = at + 1 < side ? at + 1 : 0;
      }
    }
  }
}

static void synthetic_get(FyDataset *base, int64_t index, uint64_t seed, void *input, void *target) {
  Synthetic *self = (Synthetic *)base;
  (void)seed; // a sample is the same in every epoch
  uint64_t own = fy_mix(self->seed, (uint64_t)index);
  FyPhilox random = fy_philox(own, 0);
  int label = (int)((uint64_t)random.word[0] * CLASSES >> 32);
  *(int64_t *)target = label;
  if (!input)
    return;
  Look look = {.side = self->side,
               .down = (int)(random.word[1] % (2 * SHIFT + 1)) - SHIFT,
               .right = (int)(random.word[2] % (2 * SHIFT + 1)) - SHIFT,
               .contrast = 60 + 60 * (float)random.word[3] * 0x1p-32f};
  int plane = self->side * self->side;
  for (int c = 0; c < self->channels; c++) {
    look.pattern = self->patterns + (label * self->channels + c) * plane;
    draw_plane(&look, own, 1 + (uint64_t)(c * plane), (uint8_t *)input + c * plane);
  }
}

static void synthetic_destroy(FyDataset *base) {
  free(((Synthetic *)base)->patterns);
}

FyDataset *fy_synthetic_dataset(int64_t count, int channels, uint64_t seed, FyTransform *transform) {
  static const FyDatasetClass synthetic_class = {"synthetic images", synthetic_get, NULL, synthetic_destroy};
  fy_check(count >= 0, FY_VALUE_ERROR, "fy_synthetic_dataset: expected a count from 0, but got %lld", (long long)count);
  fy_check(channels == 1 || channels == 3, FY_VALUE_ERROR,
           "fy_synthetic_dataset: expected 1 channel (28 x 28) or 3 channels (32 x 32), but got %d", channels);
  int scope = fy_scope_open();
  Synthetic *self = fy_dataset_new(sizeof *self, &synthetic_class);
  self->channels = channels;
  self->side = channels == 1 ? 28 : MAX_SIDE;
  self->seed = seed;
  int plane = self->side * self->side;
  self->patterns = malloc((size_t)(CLASSES * channels * plane) * sizeof *self->patterns);
  fy_check(self->patterns, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the patterns of synthetic images");
  for (int i = 0; i < CLASSES * channels; i++)
    make_pattern(self->patterns + i * plane, self->side, (uint64_t)i << 32);
  self->base.count = count;
  self->base.synthetic = true;
  self->base.channels_first = true;
  self->base.input_size = channels == 1 ? fy_shape(28, 28) : fy_shape(3, MAX_SIDE, MAX_SIDE);
  self->base.input_dtype = FY_UINT8;
  self->base.target_size = FY_SCALAR;
  self->base.target_dtype = FY_INT64;
  fy_dataset_transform(&self->base, transform);
  fy_keep(self);
  fy_scope_close(scope);
  return &self->base;
}
