// SPDX-License-Identifier: MIT
// Transforms against values worked out by hand, and against a plain way to write them.
// run check: FERRY_CUDA=off
#include "../nn/check.h"

static FyTensor *image(const uint8_t *bytes, FySize size) {
  return fy_tensor_with(bytes, FY_UINT8, (FyFactory){.size = size});
}

static void to_tensor(void **state) {
  (void)state;
  static const uint8_t bytes[] = {0, 51, 255, 102, 1, 254};
  FyTensor *plain = fy_transform(fy_to_tensor(), image(bytes, fy_shape(2, 3)), 0);
  assert_string_equal(fy_shape_string(plain), "torch.Size([1, 2, 3])");
  assert_int_equal(fy_dtype_of(plain), FY_FLOAT32);
  for (int i = 0; i < 6; i++)
    assert_true(((float *)fy_numpy(plain))[i] == (float)bytes[i] / 255.0f);
  // (H, W, C) = (1, 2, 3) becomes (3, 1, 2)
  FyTensor *color = fy_transform(fy_to_tensor(), image(bytes, fy_shape(1, 2, 3)), 0);
  assert_string_equal(fy_shape_string(color), "torch.Size([3, 1, 2])");
  assert_values(color, (double[]){0, 0.4, 0.2, 1 / 255.0, 1, 254 / 255.0}, 6, 1e-7);
}

static void normalize(void **state) {
  (void)state;
  static const uint8_t bytes[] = {0, 51, 255, 102, 1, 254};
  FyTransform *both = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.1307f), fy_floats(0.3081f)));
  FyTensor *one = fy_transform(both, image(bytes, fy_shape(2, 3)), 0);
  for (int i = 0; i < 6; i++)
    assert_true(((float *)fy_numpy(one))[i] == ((float)bytes[i] / 255.0f - 0.1307f) / 0.3081f);
  FyTransform *three = fy_compose(fy_to_tensor(), fy_normalize(3, fy_floats(0, 0.5f, 1), fy_floats(1, 0.5f, 2)));
  FyTensor *color = fy_transform(three, image(bytes, fy_shape(1, 2, 3)), 0);
  assert_values(color, (double[]){0, 0.4, -0.6, 2 / 255.0 - 1, 0, -1 / 510.0}, 6, 1e-6);
  // twice
  FyTransform *twice = fy_compose(three, fy_normalize(1, fy_floats(1), fy_floats(2)));
  assert_values(fy_transform(twice, image(bytes, fy_shape(1, 2, 3)), 0),
                (double[]){-0.5, -0.3, -0.8, 1 / 255.0 - 1, -0.5, (-1 / 510.0 - 1) / 2}, 6, 1e-6);
  // of a float image
  FyTensor *floats = fy_tensor(fy_floats(1, 2, 3, 4), fy_shape(1, 2, 2));
  assert_values(fy_transform(fy_normalize(1, fy_floats(1), fy_floats(2)), floats, 0), (double[]){0, 0.5, 1, 1.5}, 4, 0);
}

static void flip(void **state) {
  (void)state;
  static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  FyTransform *always = fy_random_horizontal_flip(1), *never = fy_random_horizontal_flip(0);
  assert_values(fy_transform(always, image(bytes, fy_shape(4, 3)), 0),
                (double[]){3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}, 12, 0);
  assert_values(fy_transform(never, image(bytes, fy_shape(4, 3)), 0), (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                12, 0);
  // (H, W, C): pixels change places, channels do not
  assert_values(fy_transform(always, image(bytes, fy_shape(2, 2, 3)), 0),
                (double[]){4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9}, 12, 0);
  assert_values(fy_transform(fy_compose(always, fy_to_tensor()), image(bytes, fy_shape(1, 3)), 0),
                (double[]){3 / 255.0, 2 / 255.0, 1 / 255.0}, 3, 1e-7);
  assert_values(fy_transform(fy_compose(always, always), image(bytes, fy_shape(4, 3)), 0),
                (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12, 0);
  int flipped = 0;
  FyTransform *often = fy_random_horizontal_flip(0.25);
  for (uint64_t seed = 0; seed < 4000; seed++) {
    fy_scope {
      flipped += ((uint8_t *)fy_numpy(fy_transform(often, image(bytes, fy_shape(1, 2)), seed)))[0] == 2;
    }
  }
  assert_in_range(flipped, 880, 1120); // 1000, give or take four and a half standard deviations
}

// Every place the crop may have is taken, none else, and zeros are where the image is not.
static void crop_with_padding(void **state) {
  (void)state;
  static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  int seen[3][3] = {{0}};
  FyTransform *crop = fy_random_crop(3, 1);
  for (uint64_t seed = 0; seed < 900; seed++) {
    fy_scope {
      FyTensor *out = fy_transform(crop, image(bytes, fy_shape(3, 3)), seed);
      const uint8_t *got = fy_numpy(out);
      int top = -9, left = -9;
      for (int i = 0; i < 9; i++) { // pixel 5, the middle, is always in it
        if (got[i] == 5) {
          top = 1 - i / 3;
          left = 1 - i % 3;
        }
      }
      assert_in_range(top + 1, 0, 2);
      assert_in_range(left + 1, 0, 2);
      seen[top + 1][left + 1]++;
      for (int i = 0; i < 9; i++) {
        int y = i / 3 + top, x = i % 3 + left;
        assert_int_equal(got[i], y < 0 || y > 2 || x < 0 || x > 2 ? 0 : bytes[3 * y + x]);
      }
    }
  }
  for (int i = 0; i < 9; i++)
    assert_in_range(seen[i / 3][i % 3], 55, 145);
}

static void crop_without_padding(void **state) {
  (void)state;
  static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6};
  FyTensor *out = fy_transform(fy_random_crop(2, 0), image(bytes, fy_shape(2, 3)), 1);
  assert_string_equal(fy_shape_string(out), "torch.Size([2, 2])");
  const uint8_t *got = fy_numpy(out);
  assert_true(got[0] == 1 || got[0] == 2);
  assert_int_equal(got[1], got[0] + 1);
  assert_int_equal(got[2], got[0] + 3);
  assert_int_equal(got[3], got[0] + 4);
}

// What is padded before Normalize becomes (0 - mean) / std; what is padded after it is 0.
static void padding_and_normalize(void **state) {
  (void)state;
  static const uint8_t bytes[] = {255};
  FyTransform *normalized = fy_normalize(1, fy_floats(0.5f), fy_floats(0.25f));
  FyTransform *before = fy_compose(fy_random_crop(3, 1), fy_to_tensor(), normalized);
  FyTransform *after = fy_compose(fy_to_tensor(), normalized, fy_random_crop(3, 1));
  assert_values(fy_transform(before, image(bytes, fy_shape(1, 1)), 0), (double[]){-2, -2, -2, -2, 2, -2, -2, -2, -2}, 9,
                0);
  assert_values(fy_transform(after, image(bytes, fy_shape(1, 1)), 0), (double[]){0, 0, 0, 0, 2, 0, 0, 0, 0}, 9, 0);
  FyTransform *twice =
      fy_compose(fy_random_crop(3, 1), fy_to_tensor(), normalized, fy_random_crop(5, 1), fy_random_horizontal_flip(1));
  assert_values(fy_transform(twice, image(bytes, fy_shape(1, 1)), 0),
                (double[]){0, 0, 0, 0, 0, 0, -2, -2, -2, 0, 0, -2, 2, -2, 0, 0, -2, -2, -2, 0, 0, 0, 0, 0, 0}, 25, 0);
}

// A step that leaves nothing to chance, for an image of this height and width; NULL when it cannot be the next one.
static FyTransform *certain_step(unsigned kind, int side, bool floats) {
  switch (kind) {
  case 0:
    return fy_random_horizontal_flip(1);
  case 1:
    return fy_random_crop(side + 2, 1); // one place only: all of the image with a frame of zeros
  case 2:
    return fy_to_tensor();
  default:
    return floats ? fy_normalize(1, fy_floats(0.3f), fy_floats(0.7f)) : NULL;
  }
}

// One pass for the whole chain gives what its steps give one at a time, in any order.
static void a_composition_is_its_steps(void **state) {
  (void)state;
  enum { SIDE = 9, CHANNELS = 3, LONGEST = 6 };
  uint8_t bytes[SIDE * SIDE * CHANNELS];
  for (int i = 0; i < SIDE * SIDE * CHANNELS; i++)
    bytes[i] = (uint8_t)(i * 37 + i / 7);
  for (uint32_t chain = 0; chain < 4 * 4 * 4 * 4 * 4 * 4; chain++) {
    fy_scope {
      FyTransform *steps[LONGEST + 1] = {NULL};
      FyTensor *expected = image(bytes, chain % 2 ? fy_shape(SIDE, SIDE) : fy_shape(SIDE, SIDE, CHANNELS));
      FyTensor *whole = expected;
      int count = 0, side = SIDE;
      bool floats = false;
      for (int i = 0; i < LONGEST; i++) {
        unsigned kind = chain >> 2 * i & 3;
        FyTransform *step = certain_step(kind, side, floats);
        if (!step)
          continue;
        steps[count++] = step;
        side += kind == 1 ? 2 : 0;
        floats |= kind == 2;
        expected = fy_transform(step, expected, 0);
      }
      whole = fy_transform(fy_compose_with(steps), whole, 0);
      assert_true(fy_equal(whole, expected));
    }
  }
}

static void a_crop_of_a_crop(void **state) {
  (void)state;
  static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  // The first keeps 1 of 3 x 3 at some place; what the second pads around it must be zeros, not the image's rest.
  FyTransform *two = fy_compose(fy_random_crop(1, 0), fy_random_crop(3, 1));
  for (uint64_t seed = 0; seed < 50; seed++) {
    const uint8_t *got = fy_numpy(fy_transform(two, image(bytes, fy_shape(3, 3)), seed));
    for (int i = 0; i < 9; i++)
      assert_int_equal(got[i] != 0, i == 4);
  }
}

static void images_without_pixels(void **state) {
  (void)state;
  FyTensor *empty = fy_empty(fy_shape(0, 5), .dtype = FY_UINT8);
  FyTransform *all = fy_compose(fy_random_horizontal_flip(1), fy_to_tensor());
  assert_string_equal(fy_shape_string(fy_transform(all, empty, 0)), "torch.Size([1, 0, 5])");
  FyTensor *padded = fy_transform(fy_random_crop(2, 1), fy_empty(fy_shape(0, 0), .dtype = FY_UINT8), 0);
  assert_values(padded, (double[]){0, 0, 0, 0}, 4, 0);
}

static void what_is_refused(void **state) {
  (void)state;
  static const uint8_t bytes[12] = {0};
  FyTensor *gray = image(bytes, fy_shape(3, 4));
  assert_raises(FY_VALUE_ERROR,
                "Normalize: Input tensor should be a float tensor. Got torch.uint8: put fy_to_tensor() before it",
                fy_transform(fy_normalize(1, fy_floats(0), fy_floats(1)), gray, 0));
  assert_raises(
      FY_VALUE_ERROR, "Normalize: mean and std have 3 channels, but the image has 1",
      fy_transform(fy_compose(fy_to_tensor(), fy_normalize(3, fy_floats(0, 0, 0), fy_floats(1, 1, 1))), gray, 0));
  assert_raises(FY_VALUE_ERROR, "Required crop size (6, 6) is larger than input image size (5, 6)",
                fy_transform(fy_random_crop(6, 1), gray, 0));
  assert_raises_about(FY_VALUE_ERROR, "leading to division by zero: channel 1",
                      fy_normalize(2, fy_floats(0, 0), fy_floats(1, 0)));
  assert_raises_about(FY_VALUE_ERROR, "expected 1 to 4 channels, but got 5",
                      fy_normalize(5, fy_floats(0), fy_floats(1)));
  assert_raises_about(FY_VALUE_ERROR, "a size from 1", fy_random_crop(0, 0));
  assert_raises_about(FY_VALUE_ERROR, "a padding from 0", fy_random_crop(1, -1));
  assert_raises_about(FY_VALUE_ERROR, "p from 0 to 1", fy_random_horizontal_flip(1.5));
  assert_raises_about(FY_VALUE_ERROR, "but got torch.int64 with 1 dimensions",
                      fy_transform(fy_to_tensor(), fy_arange(3), 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(to_tensor),
      cmocka_unit_test(normalize),
      cmocka_unit_test(flip),
      cmocka_unit_test(crop_with_padding),
      cmocka_unit_test(crop_without_padding),
      cmocka_unit_test(padding_and_normalize),
      cmocka_unit_test(a_composition_is_its_steps),
      cmocka_unit_test(a_crop_of_a_crop),
      cmocka_unit_test(images_without_pixels),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
