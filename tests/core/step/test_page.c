// SPDX-License-Identifier: MIT
// Values of ./ferry step as text: patterns, costs of accesses, and the page of a step.
// run check:
#include "step/format.h"
#include "step/page.h"
#include "step/step.h"
#include "core/step/sample.h"

// ---- values as text --------------------------------------------------------------------------------------------------------

static void pattern_is(uint32_t known, int64_t (*of)(int), const char *expected) {
  StepLanes l = {.known = known};
  char text[256] = "";
  for (int lane = 0; lane < STEP_LANES; lane++)
    l.values[lane] = (StepValue){.kind = STEP_INTEGER, .integer = of(lane)};
  const bool found = step_pattern(&l, UINT32_MAX, "i32", text, sizeof text);
  assert_string_equal(found ? text : "", expected);
}

static int64_t four(int lane) {
  return 4 + 0 * lane;
}

static int64_t self(int lane) {
  return lane;
}

static int64_t doubled(int lane) {
  return 32 + 2 * lane;
}

static int64_t even_before(int lane) {
  return 2 * lane - 3;
}

static int64_t down(int lane) {
  return 63 - lane;
}

static int64_t negative(int lane) {
  return -lane;
}

static int64_t by_16(int lane) {
  return 5 + lane / 16 * 8;
}

static int64_t mod_8(int lane) {
  return lane % 8;
}

static int64_t partner(int lane) {
  return lane ^ 16;
}

static int64_t halves(int lane) {
  return lane < 16;
}

static int64_t square(int lane) {
  return lane * lane;
}

static int64_t largest(int lane) {
  return lane ? INT64_MAX : INT64_MIN;
}

static void test_patterns(void **unused) {
  (void)unused;
  pattern_is(UINT32_MAX, four, "4  (all)");
  pattern_is(8, four, "4  (lane 3)");
  pattern_is(0x55555555, four, "4  (16 lanes)");
  pattern_is(UINT32_MAX, self, "lane");
  pattern_is(255, self, "lane  (lanes 0-7)");
  pattern_is(UINT32_MAX, doubled, "32 + 2 * lane");
  pattern_is(UINT32_MAX, even_before, "2 * lane - 3");
  pattern_is(UINT32_MAX, down, "63 - lane");
  pattern_is(UINT32_MAX, negative, "-lane");
  pattern_is(UINT32_MAX, by_16, "5 + 8 * (lane / 16)");
  pattern_is(UINT32_MAX, mod_8, "lane % 8");
  pattern_is(UINT32_MAX, partner, "lane ^ 16");
  pattern_is(UINT32_MAX & ~UINT32_C(3), halves, "1 in lanes 2-15, 0 in 16-31");
  pattern_is(UINT32_MAX, square, "");
  pattern_is(UINT32_MAX, largest, "-9223372036854775808 in lane 0, 9223372036854775807 in 1-31");
  pattern_is(0, self, "");
}

static void text_is(StepValue v, const char *type, int room, const char *expected) {
  char text[64];
  step_text(v, type, room, text, sizeof text);
  assert_string_equal(text, expected);
}

static void test_texts(void **unused) {
  (void)unused;
  const StepValue tenth = {.kind = STEP_REAL, .real = 0.1f}, third = {.kind = STEP_REAL, .real = 1. / 3};
  const StepValue large = {.kind = STEP_INTEGER, .integer = 12345678}, one = {.kind = STEP_INTEGER, .integer = 1};
  const StepValue letter = {.kind = STEP_INTEGER, .integer = 'q'}, none = {.kind = STEP_NONE};
  text_is(tenth, "f32", 0, "0.1");
  text_is(tenth, "f64", 0, "0.10000000149011612");
  const StepValue nine = {.kind = STEP_REAL, .real = 0.100000001};
  text_is(nine, "", 0, "0.1");
  text_is(third, "", 0, "0.3333333333333333");
  text_is(third, "f64", 6, "0.3333");
  text_is(large, "i32", 0, "12345678");
  text_is(large, "i32", 6, "1e+07");
  text_is(one, "b8", 0, "true");
  text_is(letter, "c8", 0, "'q'");
  text_is(none, "f32", 6, ".");
  text_is((StepValue){.kind = STEP_TEXT, .text = "&part[100]"}, "p64", 6, "&part~");
}

static StepCost cost(const char *offsets, const char *mask, int bytes, int array) {
  char access[400], *text;
  snprintf(access, sizeof access, "\"m\":255,\"a\":[[\"w\",%d,%d,%s,%s,[0]]],\"met\"", array, bytes, mask, offsets);
  text = changed("\"m\":255,\"met\"", access);
  Record *r = reads(text);
  const StepCost c = step_cost(r, &r->steps[16].accesses[0]);
  step_record_free(r);
  free(text);
  return c;
}

static void cost_is(StepCost c, int units, int ideal) {
  assert_int_equal(c.units, units);
  assert_int_equal(c.ideal, ideal);
}

static void test_costs(void **unused) {
  (void)unused;
  const char *all = "4294967295";
  cost_is(cost("{\"a\":[0,4]}", all, 4, 0), 1, 1);
  cost_is(cost("{\"a\":[0,128]}", all, 4, 2), 32, 1); // a column of 32 floats
  cost_is(cost("{\"a\":[0,8]}", all, 4, 2), 2, 1);
  cost_is(cost("[0]", all, 4, 0), 1, 1); // the same word
  cost_is(cost("{\"a\":[0,16]}", all, 16, 2), 4, 4);
  cost_is(cost("{\"a\":[16,4]}", all, 4, 1), 4, 4); // the array begins 16 bytes behind a sector's begin
  cost_is(cost("{\"a\":[0,4]}", all, 4, 1), 5, 4);
  cost_is(cost("{\"a\":[0,32]}", all, 4, 1), 32, 4);
  cost_is(cost("[32,0]", "3", 4, 1), 2, 1);
  assert_int_equal(cost("{\"a\":[4,8]}", "7", 4, 0).banks, 1 << 1 | 1 << 3 | 1 << 5);
}

// ---- the page --------------------------------------------------------------------------------------------------------------

static char *printed(const Record *r, int step, int columns) {
  char *text = NULL;
  size_t bytes;
  FILE *to = open_memstream(&text, &bytes);
  step_print(r, step, columns, to);
  fclose(to);
  return text;
}

static void shows(const Record *r, int step, int columns, const char *expected) {
  char *text = printed(r, step, columns);
  if (!strstr(text, expected))
    fail_msg("no \"%s\" in:\n%s", expected, text);
  free(text);
}

static void test_page(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  shows(r, 5, 80, "demo block 1,0,0 launch 2");
  shows(r, 5, 80, "step 5/16  barriers 0  one order of many\n");
  shows(r, 5, 80, ">    5     part[t] = twice(t);\n");
  shows(r, 5, 80, "     4         if (t < 8)\n");
  shows(r, 5, 80, "> warp 0    ######## ........ ........ ........  8 of 32 lanes (after the call)\n");
  shows(r, 3, 80, " called in demo, line 5:  part[t] = twice(t);\n");
  shows(r, 3, 80, "*         x  lane  (lanes 0-7)\n");
  shows(r, 3, 80, "8 of 32 lanes, diverged\n");
  shows(r, 7, 80, "32 of 32 lanes, reconverged\n");
  shows(r, 12, 80, ">    7   for (int i = 0; i < 2; i++)\n                         ^^^^^\n");
  shows(r, 1, 80, "*      hash  18446744073709551615  (all)\n");
  shows(r, 1, 80, "*       p.x  1.5 in lane 0, 2.5 in 1\n");
  shows(r, 1, 80, "*   a[1][0]  4  (lane 0)\n");
  shows(r, 1, 80, "*    p.n[0]  7  (lanes 0-1)\n");
  shows(r, 5, 100, " writes part[lane]  shared, 1 wavefront (ideal 1), banks 0-7; value 2 * lane  (lanes 0-7)\n");
  shows(r, 5, 80, "       part[0]:      0*      2*      4*      6*      8*     10*     12*     14*\n");
  shows(r, 15, 80, "!reads  out[0 8]  global, 2 sectors (ideal 1), 16 bytes each\n");
  shows(r, 15, 80, " atomic out[16]  global, 1 sector (ideal 1); afterwards 1 + lane\n");
  shows(r, 15, 80, "!! finding 2, race-block: thread 33 writes part[1]");
  shows(r, 15, 80, "   this step:  step 15, thread 33, line 8:  part[t] += 1;\n");
  shows(r, 15, 80, "   other side: step 13, thread 1, line 8:  part[t] += 1;\n");
  shows(r, 13, 80, "   it was at:  step 15, thread 33, line 8:");
  shows(r, 11, 80, "==== barrier 1 opens: line 6\n");
  shows(r, 16, 80, " brings 32 + lane\n from   lane 1 + lane");
  shows(r, 16, 80, "at its limit of 17 steps");
  for (int columns = 80; columns < 260; columns += 60)
    for (int step = 0; step < r->step_count; step++) {
      char *text = printed(r, step, columns);
      for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true((int)strlen(line) <= columns);
      free(text);
    }
  step_record_free(r);
}

static void test_rows(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  for (int rows = 12; rows < 60; rows++)
    for (int step = 0; step < r->step_count; step++) {
      const StepView view = {.columns = 80, .rows = rows, .lane = 3, .chosen = "", .memory = step % 2};
      Text page = {0};
      int lines = 0;
      step_page(r, step, &view, &page);
      for (const char *s = page.at; *s; s++)
        lines += *s == '\n';
      assert_true(lines <= rows);
      text_free(&page);
    }
  step_record_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_patterns), cmocka_unit_test(test_texts), cmocka_unit_test(test_costs),
      cmocka_unit_test(test_page),     cmocka_unit_test(test_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
