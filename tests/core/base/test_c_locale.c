// SPDX-License-Identifier: MIT
// Files have a decimal point, in a program that has chosen a locale with a comma too.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "base/c_locale.h"
#include "base/json_text.h"
#include "comma.h"
#include <unistd.h>

static bool has_comma;

static int begin(void **state) {
  (void)state;
  has_comma = begin_decimal_comma();
  return 0;
}

static int end(void **state) {
  (void)state;
  end_decimal_comma();
  return 0;
}

static void needs_comma(void) {
  if (has_comma)
    return;
  print_message("this C library takes no locale from LOCPATH\n");
  skip();
}

static void a_number_is_read(void **state) {
  (void)state;
  char *rest;
  needs_comma();
  assert_float_equal(fy_strtod("-1.25e2;", &rest), -125, 0);
  assert_string_equal(rest, ";");
}

static void a_number_of_json(void **state) {
  (void)state;
  char text[] = "[0.5, 12.25e1]";
  needs_comma();
  FyJson json = {.text = text, .length = strlen(text), .path = "a text", .kind = "list"};
  fy_json_expect(&json, '[');
  assert_float_equal(fy_json_number(&json, "a number"), 0.5, 0);
  fy_json_expect(&json, ',');
  assert_float_equal(fy_json_number(&json, "a number"), 122.5, 0);
}

static void metadata_is_written(void **state) {
  (void)state;
  char here[8];
  needs_comma();
  FyMetadata *metadata = fy_metadata_new();
  fy_metadata_set(metadata, "rate", "%g", 0.5);
  assert_string_equal(fy_metadata_get(metadata, "rate"), "0.5");
  snprintf(here, sizeof here, "%g", 0.5);
  assert_string_equal(here, "0,5"); // the program's own texts are as before
}

// Saved with a point, loaded with a comma, and the other way round.
static void a_checkpoint(void **state) {
  (void)state;
  char path[] = "/tmp/ferry-locale-checkpoint-XXXXXX";
  needs_comma();
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  for (int comma = 0; comma < 2; comma++) {
    FyCheckpoint saved = {.model = fy_nn_linear(2, 1), .best = 0.75}, loaded = {.model = fy_nn_linear(2, 1)};
    comma ? (void)begin_decimal_comma() : end_decimal_comma();
    fy_checkpoint_save(path, &saved);
    comma ? end_decimal_comma() : (void)begin_decimal_comma();
    fy_checkpoint_load(path, &loaded);
    assert_float_equal(loaded.best, 0.75, 0);
  }
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_number_is_read),
      cmocka_unit_test(a_number_of_json),
      cmocka_unit_test(metadata_is_written),
      cmocka_unit_test(a_checkpoint),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
