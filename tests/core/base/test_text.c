// SPDX-License-Identifier: MIT
// Text that grows.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "base/text.h"

static void it_grows(void **state) {
  (void)state;
  FyText *text = fy_text_new();
  assert_string_equal(text->bytes, "");
  char expected[4000] = "";
  for (int i = 0; i < 500; i++) {
    fy_text_add(text, "%d,", i);
    snprintf(expected + strlen(expected), 16, "%d,", i);
    assert_int_equal(text->length, strlen(expected));
  }
  assert_string_equal(text->bytes, expected);
}

// At each place of the first block: what just fits, and what is one too long.
static void at_the_edge_of_its_room(void **state) {
  (void)state;
  for (int before = 0; before < 70; before++)
    for (int more = 60; more < 70; more++)
      fy_scope {
        FyText *text = fy_text_new();
        fy_text_add(text, "%*s", before, "");
        fy_text_add(text, "%*s", more, "x");
        assert_int_equal(text->length, before + more);
        assert_int_equal(strlen(text->bytes), before + more);
        assert_int_equal(text->bytes[before + more - 1], 'x');
      }
}

static void it_holds_any_byte(void **state) {
  (void)state;
  FyText *text = fy_text_new();
  fy_text_add(text, "a%cb", 0);
  fy_text_add(text, "c");
  assert_int_equal(text->length, 4);
  assert_memory_equal(text->bytes, "a\0bc", 5);
}

// Characters of one to four bytes stay; a lone byte of a longer one and a cut one do not.
static void a_string_of_json(void **state) {
  (void)state;
  FyText *text = fy_text_new();
  fy_text_add_json(text, "a\"b\\c\n\x01 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xff\xe2\x82");
  assert_string_equal(text->bytes,
                      "\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \\u00ff\\u00e2\\u0082\"");
}

static void its_bytes_can_be_taken(void **state) {
  (void)state;
  char *bytes = NULL;
  fy_scope {
    FyText *text = fy_text_new();
    fy_text_add(text, "kept");
    bytes = fy_text_take(text);
  }
  assert_string_equal(bytes, "kept");
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_grows),
      cmocka_unit_test(at_the_edge_of_its_room),
      cmocka_unit_test(it_holds_any_byte),
      cmocka_unit_test(a_string_of_json),
      cmocka_unit_test(its_bytes_can_be_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
