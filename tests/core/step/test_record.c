// SPDX-License-Identifier: MIT
// Records of ./ferry step: what is read and refused, states behind steps, and other steps.
// run check:
#include "core/step/sample.h"

static void refuses(const char *text, size_t bytes, const char *expected) {
  char why[400] = "";
  Record *r = step_record_read("x.json", text, bytes, why, sizeof why);
  if (r || !strstr(why, expected))
    fail_msg("%s, not %s", r ? "it was read" : why, expected);
}

static void refuses_changed(const char *from, const char *to, const char *expected) {
  char *text = changed(from, to);
  refuses(text, strlen(text), expected);
  free(text);
}

// ---- reading ---------------------------------------------------------------------------------------------------------------

static void test_tables(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  assert_string_equal(r->kernel, "demo");
  assert_int_equal(r->threads, 40);
  assert_int_equal(r->warps, 2);
  assert_int_equal(r->launch, 2);
  assert_int_equal(r->at[0], 1);
  assert_int_equal(r->files[0].line_count, 12);
  assert_string_equal(r->files[0].lines[3], "\tif (t < 8)");
  assert_string_equal(r->functions[1].name, "twice");
  assert_string_equal(r->skippeds[0].why, "asm");
  assert_int_equal(r->statements[5].line, 8);
  assert_int_equal(r->variables[3].member_count, 2);
  assert_int_equal(r->variables[4].dims[1], 3);
  assert_int_equal(r->arrays[1].at, 16);
  assert_int_equal(r->step_count, 17);
  assert_int_equal(step_line(r, 13), 8); // statement 8 is the sixth
  assert_true(r->steps[15].finding_count == 1 && r->steps[15].findings[0] == 1);
  assert_true(r->steps[15].accesses[2].has_before);
  step_record_free(r);
}

static void test_refused(void **unused) {
  (void)unused;
  refuses_changed("ferry-step 1", "ferry-step 2", "x.json, line 1: expected the format \"ferry-step 1\"");
  refuses_changed("ferry-step 1", "ferry-step 2", "record it again");
  refuses_changed("ferry-step 1", "inspect 1", "This is no record of ./ferry step");
  refuses_changed("\"format\":\"ferry-step 1\",", "", "no record of ./ferry step");
  refuses("{}", 2, "it has no \"format\"");
  refuses("[]", 2, "expected an object");
  refuses_changed("\"block\":[40,1,1]", "\"block\":[1025,1,1]", "1025 x 1 x 1 threads");
  refuses_changed("\"s\":9,", "\"s\":7,", "a statement that the record does not have");
  refuses_changed("\"c\":[5]", "\"c\":[7]", "a statement that the record does not have");
  refuses_changed("[2,1,256,[8]]", "[7,1,256,[8]]", "step 6 refers to");
  refuses_changed("[\"w\",0,4,255", "[\"w\",3,4,255", "step 5 refers to");
  refuses_changed("\"w\":1,\"s\":4", "\"w\":2,\"s\":4", "step 9 refers to");
  refuses_changed("\"step\":15,\"thread\":33", "\"step\":17,\"thread\":33", "a table refers to");
  refuses_changed("{\"a\":[32,1]}]]", "[1,2,3]]]", "line 11: expected a value for each lane of the mask");
  refuses_changed("\"k\":\"e\"", "\"k\":\"q\"", "a step of kind");
  refuses_changed("\"m\":2}", "\"m\":4294967296}", "a whole number in its range");
  for (size_t bytes = 0; bytes + 2 < sizeof sample; bytes++)
    refuses(sample, bytes, "x.json");
}

static void test_hostile_text(void **unused) {
  (void)unused;
  char *text = changed("\"kernel\":\"demo\"", "\"kernel\":\"d\\u001b[31m\"");
  Record *r = reads(text);
  assert_string_equal(r->kernel, "d\\x1b[31m");
  step_record_free(r);
  free(text);
}

// ---- states ----------------------------------------------------------------------------------------------------------------

static void test_variables(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  StepLanes l;
  step_variable(r, 0, 0, 0, 1, &l);
  assert_int_equal(l.known, 0);
  step_variable(r, 1, 0, 0, 1, &l);
  assert_true(l.known == UINT32_MAX && l.changed == UINT32_MAX && l.values[31].integer == 31);
  step_variable(r, 16, 0, 0, 1, &l);
  assert_true(l.known == UINT32_MAX && l.changed == 0 && l.since[4] == 1);
  step_variable(r, 16, 1, 0, 1, &l);
  assert_true(l.known == 255 && l.values[7].integer == 39);
  step_variable(r, 1, 0, 0, 5, &l);
  assert_true(l.values[0].kind == STEP_NATURAL && (uint64_t)l.values[0].integer == UINT64_MAX);
  step_variable(r, 4, 0, 1, 6, &l); // it had no value in step 3
  assert_true(l.known == 255 && l.values[2].real == 0.5);
  step_variable(r, 3, 0, 1, 6, &l);
  assert_true(l.known == 255 && l.values[2].kind == STEP_NONE);
  step_variable(r, 6, 0, 1, 2, &l); // lane 8 has begun a call of its own
  assert_true(l.known == 511 && l.values[8].integer == 8);
  step_record_free(r);
  char *text = changed("\"n\":1,\"m\":256,\"c\":[5],\"v\":[[2,1,256,[8]]]", "\"n\":1,\"m\":15,\"c\":[5]");
  r = reads(text);
  step_variable(r, 6, 0, 1, 6, &l); // of the call before, in the lanes that have begun another
  assert_int_equal(l.known, 0xf0);
  step_record_free(r);
  free(text);
}

static void test_words(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  assert_false(step_word(r, 4, 0, 3).known);
  StepWord w = step_word(r, 5, 0, 3);
  assert_true(w.known && w.writer == 5 && w.thread == 3 && step_number(w.value) == 6);
  w = step_word(r, 14, 0, 3);
  assert_true(w.writer == 13 && step_number(w.value) == 3);
  w = step_word(r, 16, 0, 3);
  assert_true(w.writer == 15 && w.thread == 35 && w.value.real == 9.25);
  assert_false(step_word(r, 16, 0, 63).known);
  w = step_word(r, 15, 1, 2); // of a wide read: known, and not written
  assert_true(w.known && w.writer == -1 && step_number(w.value) == 3);
  w = step_word(r, 15, 1, 10);
  assert_true(step_number(w.value) == 7);
  w = step_word(r, 15, 1, 16); // of an atomic the last lane's
  assert_true(w.writer == 15 && w.thread == 39 && step_number(w.value) == 8);
  assert_int_equal(step_next_write(r, 16, 0, 3, -1), 15);
  assert_int_equal(step_next_write(r, 15, 0, 3, -1), 13);
  assert_int_equal(step_next_write(r, 5, 0, 3, -1), -1);
  assert_int_equal(step_next_write(r, 5, 0, 3, 1), 13);
  assert_int_equal(step_next_write(r, 15, 0, 3, 1), -1);
  assert_int_equal(step_next_write(r, 16, 1, 2, -1), -1);
  step_record_free(r);
}

static void signs_are(const Record *r, int step, int warp, const char *expected) {
  char signs[STEP_LANES + 1];
  step_signs(r, step, warp, signs);
  assert_string_equal(signs, expected);
}

static void test_signs(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  signs_are(r, 4, 0, "########........................");
  signs_are(r, 4, 1, "                                ");
  signs_are(r, 8, 0, "||||||||||||||||||||||||||||||||");
  signs_are(r, 8, 1, "########                        ");
  signs_are(r, 11, 1, "........                        ");
  signs_are(r, 15, 0, ".-..............................");
  assert_int_equal(step_barriers(r, 10), 0);
  assert_int_equal(step_barriers(r, 11), 1);
  assert_int_equal(step_of_warp(r, 7, 1), -1);
  assert_int_equal(step_of_warp(r, 12, 1), 10);
  assert_int_equal(step_frame_line(r, 4, 0), 5);
  assert_int_equal(step_frame_function(r, 4, 0), 0);
  assert_int_equal(step_frame_function(r, 4, 1), 1);
  assert_int_equal(step_line(r, 3), 10);
  step_record_free(r);
}

// ---- other steps -----------------------------------------------------------------------------------------------------------

static void test_next(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  assert_int_equal(step_next(r, 0, STEP_ANY, 1), 1);
  assert_int_equal(step_next(r, 0, STEP_ANY, -1), -1);
  assert_int_equal(step_next(r, 16, STEP_ANY, 1), -1);
  assert_int_equal(step_next(r, 7, STEP_SAME_WARP, 1), 12);
  assert_int_equal(step_next(r, 12, STEP_SAME_WARP, -1), 7);
  assert_int_equal(step_next(r, 13, STEP_SAME_LINE, 1), 15);
  assert_int_equal(step_next(r, 0, STEP_BARRIER, 1), 11);
  assert_int_equal(step_next(r, 16, STEP_BARRIER, -1), 11);
  assert_int_equal(step_next(r, 0, STEP_DIVERGENCE, 1), 3);
  assert_int_equal(step_next(r, 3, STEP_DIVERGENCE, 1), -1); // neither other lanes nor a return
  assert_int_equal(step_next(r, 3, STEP_RECONVERGENCE, 1), 7);
  assert_int_equal(step_next(r, 0, STEP_FINDING, 1), 4);
  assert_int_equal(step_next(r, 4, STEP_FINDING, 1), 15);
  assert_int_equal(step_next(r, 2, STEP_OVER, 1), 5);
  assert_int_equal(step_next(r, 5, STEP_OVER, -1), 2);
  assert_int_equal(step_next(r, 3, STEP_OUT, 1), 5);
  assert_int_equal(step_next(r, 5, STEP_OUT, 1), -1);
  assert_int_equal(step_next_at_line(r, 0, 6, 1), 7);
  assert_int_equal(step_next_at_line(r, 16, 6, -1), 10);
  step_record_free(r);
}

static void test_find(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  assert_int_equal(step_find(r, "7"), 7);
  assert_int_equal(step_find(r, "17"), -1);
  assert_int_equal(step_find(r, "-1"), -1);
  assert_int_equal(step_find(r, "race"), 15);
  assert_int_equal(step_find(r, "race:1"), 15);
  assert_int_equal(step_find(r, "race:2"), -1);
  assert_int_equal(step_find(r, "racer"), -1);
  assert_int_equal(step_find(r, "finding"), 4);
  assert_int_equal(step_find(r, "finding:2"), 15);
  assert_int_equal(step_find(r, "finding:0"), -1);
  assert_int_equal(step_find(r, "line:8"), 13);
  assert_int_equal(step_find(r, "line:2"), -1);
  assert_int_equal(step_find(r, "line:"), -1);
  assert_int_equal(step_find(r, "end"), 16);
  assert_int_equal(step_find(r, "race-block"), 15);
  assert_int_equal(step_find(r, "race-warp"), -1);
  assert_int_equal(step_find(r, "race@8"), 15);
  assert_int_equal(step_find(r, "race@6"), -1);
  assert_int_equal(step_find(r, "race@"), -1);
  assert_int_equal(step_find(r, "finding@8"), 15);
  assert_int_equal(step_find(r, ""), -1);
  step_record_free(r);
}

static void near_is(const Record *r, const char *at, int step, const char *expected) {
  char said[600];
  assert_int_equal(step_find_near(r, at, said, sizeof said), step);
  if (*expected ? !strstr(said, expected) : *said)
    fail_msg("%s: %s", at, said);
}

static void test_find_near(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  near_is(r, "race@8", 15, "");
  near_is(r, "race@6", 7, "no finding of the kind race in line 6 was recorded in block 1,0,0 of launch 2 of demo.");
  near_is(r, "race@6", 7, "This is the first step of line 6 (--at line:6).");
  near_is(r, "bounds@2", -1, "no finding of the kind bounds in line 2");
  near_is(r, "bounds", -1, "no finding of the kind bounds was recorded");
  near_is(r, "finding:3", -1, "no finding number 3 was recorded");
  near_is(r, "line:99", -1, "no thread of block 1,0,0 of launch 2 of demo executed line 99");
  near_is(r, "77", -1, "there is no step 77: the record has the steps 0 to 16");
  near_is(r, "racer", -1, "--at takes a step's number");
  near_is(r, "line:", -1, "--at takes a step's number");
  near_is(r, "race@x", -1, "--at takes a step's number");
  step_record_free(r);
}

// ---- expressions -----------------------------------------------------------------------------------------------------------

static StepQuery query(const char *text) {
  char why[200] = "";
  StepQuery q;
  if (!step_query_read(text, &q, why, sizeof why))
    fail_msg("%s", why);
  return q;
}

static void no_query(const char *text) {
  char why[200] = "";
  StepQuery q;
  assert_false(step_query_read(text, &q, why, sizeof why));
  assert_true(why[0] != '\0');
}

static bool holds(const Record *r, int step, const char *text) {
  const StepQuery q = query(text);
  return step_query_holds(r, step, &q);
}

static int next(const Record *r, int step, const char *text, int direction) {
  const StepQuery q = query(text);
  return step_next_query(r, step, &q, direction);
}

static void test_queries(void **unused) {
  (void)unused;
  Record *r = reads(sample);
  const StepQuery q = query(" tile[3][5] @ 7 >= -2.5 ");
  assert_string_equal(q.name, "tile");
  assert_true(q.path_count == 2 && q.path[1].index == 5 && q.lane == 7 && q.with == -2.5);
  assert_string_equal(q.compare, ">=");
  no_query("");
  no_query("3 > x");
  no_query("x@32");
  no_query("x >");
  no_query("x > 3 4");
  no_query("x[");
  assert_true(holds(r, 1, "t == 31"));
  assert_false(holds(r, 1, "t == 32"));
  assert_true(holds(r, 1, "t@5 > 4"));
  assert_false(holds(r, 1, "t@5 > 5"));
  assert_false(holds(r, 4, "t == 9")); // not in the function
  assert_true(holds(r, 5, "t == 7"));
  assert_false(holds(r, 5, "t == 9")); // not a lane of the step
  assert_true(holds(r, 1, "p.x@1 = 2.5"));
  assert_true(holds(r, 1, "p.n[1]@1 == 9"));
  assert_true(holds(r, 1, "a[1][0] == 4"));
  assert_false(holds(r, 1, "a[1][2] < 100")); // it has no value
  assert_true(holds(r, 13, "part[5] == 3"));
  assert_true(holds(r, 15, "out[2] == 3"));
  assert_true(holds(r, 15, "thread == 33"));
  assert_true(holds(r, 15, "warp == 1"));
  assert_int_equal(next(r, 0, "x", 1), 3);
  assert_int_equal(next(r, 0, "x == 8", 1), 6);
  assert_int_equal(next(r, 6, "x@3", -1), 3);
  assert_int_equal(next(r, 0, "part[2]", 1), 5);
  assert_int_equal(next(r, 16, "part[2] < 9", -1), 13);
  assert_int_equal(next(r, 0, "nothing", 1), -1);
  step_record_free(r);
}

// ---- against a replay ------------------------------------------------------------------------------------------------------

enum { STEPS = 400, VARIABLES = 3, WORDS = 70 };

static uint32_t draw(uint32_t *state, uint32_t below) {
  *state = *state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)*state * below >> 32);
}

// A record of arbitrary changes and writes.
static char *arbitrary(uint32_t seed) {
  char *text = NULL;
  size_t bytes;
  FILE *to = open_memstream(&text, &bytes);
  fprintf(to, "{\"format\":\"ferry-step 1\",\"block\":[64,1,1],\"files\":[{\"name\":\"a\",\"text\":\"\"}],"
              "\"functions\":[{\"name\":\"f\",\"file\":0}],\"variables\":[[0,\"a\",\"i32\",1],[0,\"b\",\"i32\",1],"
              "[0,\"c\",\"i32\",1]],\"arrays\":[{\"s\":1,\"name\":\"m\",\"bytes\":280,\"e\":4}],\"steps\":[");
  for (int i = 0; i < STEPS; i++) {
    const uint32_t mask = draw(&seed, 3) ? 1u << draw(&seed, 32) : draw(&seed, UINT32_MAX) | 1;
    const char *comma = "";
    fprintf(to, "%s{\"w\":%u,\"m\":%u,\"v\":[[%u,0,%u,{\"a\":[%u,3]}]],\"a\":[[\"w\",0,4,%u,[", i ? "," : "",
            draw(&seed, 2), mask, draw(&seed, VARIABLES), mask, draw(&seed, 1000), mask);
    for (uint32_t left = mask; left; left &= left - 1, comma = ",")
      fprintf(to, "%s%u", comma, 4 * draw(&seed, WORDS));
    fprintf(to, "],{\"a\":[%u,7]}]]}", draw(&seed, 1000));
  }
  fprintf(to, "]}");
  fclose(to);
  return text;
}

static void test_replay(void **unused) {
  (void)unused;
  for (uint32_t seed = 1; seed < 6; seed++) {
    static int64_t values[2][VARIABLES][STEP_LANES], words[WORDS];
    static int since[2][VARIABLES][STEP_LANES], writers[WORDS];
    char *text = arbitrary(seed);
    Record *r = reads(text);
    memset(since, 0xff, sizeof since);
    memset(writers, 0xff, sizeof writers);
    for (int step = 0; step < STEPS; step++) {
      const Step *s = &r->steps[step];
      const StepAccess *a = &s->accesses[0];
      for (uint32_t left = s->mask; left; left &= left - 1) {
        const int lane = __builtin_ctz(left), variable = s->changes[0].variable;
        const int64_t word = step_value(&a->offsets, lane).integer / 4;
        if (writers[word] < step)
          assert_int_equal(step_next_write(r, step, 0, word, -1), writers[word]);
        values[s->warp][variable][lane] = step_value(&s->changes[0].values, lane).integer;
        since[s->warp][variable][lane] = step;
        words[word] = step_value(&a->values, lane).integer;
        writers[word] = step;
      }
      for (int i = 0; i < 2 * VARIABLES; i++) {
        StepLanes l;
        step_variable(r, step, i % 2, 0, i / 2, &l);
        for (int lane = 0; lane < STEP_LANES; lane++) {
          const int at = since[i % 2][i / 2][lane];
          assert_int_equal(l.known >> lane & 1, at >= 0);
          assert_true(at < 0 || (l.since[lane] == at && l.values[lane].integer == values[i % 2][i / 2][lane]));
        }
      }
      for (int word = 0; word < WORDS; word++) {
        const StepWord w = step_word(r, step, 0, word);
        assert_int_equal(w.writer, writers[word]);
        assert_true(w.writer < 0 || w.value.integer == words[word]);
      }
    }
    step_record_free(r);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tables),    cmocka_unit_test(test_refused), cmocka_unit_test(test_hostile_text),
      cmocka_unit_test(test_variables), cmocka_unit_test(test_words),   cmocka_unit_test(test_signs),
      cmocka_unit_test(test_next),      cmocka_unit_test(test_find),    cmocka_unit_test(test_find_near),
      cmocka_unit_test(test_queries),

      cmocka_unit_test(test_replay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
