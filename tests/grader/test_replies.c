// SPDX-License-Identifier: MIT
// The grader against hostile replies: the reader of messages under mutated bytes, and every exercise's check under replies that
// are made up while it looks at them. Nothing may crash: a check that does would take the exercise out of the score.
// FERRY_FUZZ_COUNT sets how many replies each test of an exercise gets (12 when not set), FERRY_FUZZ_SEED which ones.
// run: FERRY_CUDA=off
#include "case.h"
#include "registry.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t random_state;

static uint64_t draw(void) {
  random_state += 0x9e3779b97f4a7c15u;
  return mix64(random_state);
}

static int64_t below(int64_t n) {
  return (int64_t)(draw() % (uint64_t)n);
}

static bool one_in(int n) {
  return below(n) == 0;
}

static long setting(const char *name, long otherwise) {
  const char *value = getenv(name);
  return value && *value ? strtol(value, NULL, 0) : otherwise;
}

// ---- made-up items -------------------------------------------------------------------------------------------------------

static double odd_number(void) {
  const double odd[] = {0, 1, -1, 2, 0.5, NAN, INFINITY, -INFINITY, 1e308, -1e308, 1e18, 4294967296.0, 1e-310};
  return one_in(2) ? (double)below(40) : odd[below((int64_t)(sizeof odd / sizeof odd[0]))];
}

static FyDType any_dtype(void) {
  for (;;) {
    FyDType dtype = (FyDType)below(16);
    if (fy_dtype_size(dtype) > 0)
      return dtype;
  }
}

static Shape any_shape(const Message *request) {
  const Item *like = &request->items[below(request->count)];
  Shape shape = {0};
  if (like->kind == 'a' && !one_in(3)) {
    shape = like->array.shape;
    for (int i = 0; i < shape.rank; i++)
      shape.size[i] = one_in(6) ? below(9) : shape.size[i];
    if (shape.rank > 1 && one_in(4)) {
      int64_t size = shape.size[0];
      shape.size[0] = shape.size[1];
      shape.size[1] = size;
    }
    return shape;
  }
  shape.rank = (int)below(MAX_RANK + 1);
  for (int i = 0; i < shape.rank; i++)
    shape.size[i] = below(7);
  return shape;
}

static void fill(Array *a) {
  size_t bytes = (size_t)a->count * fy_dtype_size(a->dtype);
  a->data = calloc((size_t)a->count + 1, sizeof(double)); // as message_unpack does
  assert_non_null(a->data);
  bool noise = one_in(3);
  for (size_t i = 0; noise && i < bytes; i++)
    ((uint8_t *)a->data)[i] = (uint8_t)draw();
  for (int64_t i = 0; !noise && i < a->count; i++)
    array_set(a, i, (double)below(50));
}

static void make_array(Array *a, const Message *request) {
  *a = (Array){.dtype = one_in(4) ? any_dtype() : FY_FLOAT32,
               .device = one_in(6) ? (int)below(256) - 128 : (int)below(3) - 1,
               .flags = (int)below(256)};
  if (!one_in(8))
    a->flags &= ~ARRAY_NULL;
  a->shape = any_shape(request);
  a->count = shape_count(a->shape);
  if (!(a->flags & ARRAY_NULL))
    fill(a);
}

static char *any_text(void) {
  static const char *const some[] = {
      "",       "cpu",           "cuda:0",   "cuda:1",      "fc.weight", "RuntimeError: CUDA error: illegal",
      "%s%n%s", "RandomSampler", "\xff\xfe", "weight, bias"};
  if (!one_in(6))
    return strdup(some[below((int64_t)(sizeof some / sizeof some[0]))]);
  size_t length = (size_t)below(20000);
  char *text = calloc(length + 1, 1);
  assert_non_null(text);
  memset(text, 'x', length);
  return text;
}

static void make_item(Item *item, const Message *request) {
  int64_t *counts = (int64_t *)&item->counts;
  switch (item->kind) {
  case 'n':
    item->number = odd_number();
    break;
  case 'a':
    make_array(&item->array, request);
    break;
  case 'c':
    for (size_t i = 0; i < sizeof item->counts / sizeof counts[0]; i++)
      counts[i] = one_in(8) ? (int64_t)(draw() >> 11) * (one_in(2) ? -1 : 1) : below(4);
    break;
  default:
    item->text = any_text();
  }
}

// ---- replies made up while they are looked at ------------------------------------------------------------------------------

static Case tried; // large
static bool making;

Item *__real_message_find(Message *m, char kind, const char *name);
Item *__wrap_message_find(Message *m, char kind, const char *name);
bool __real_expect_array(Case *c, const char *name, const Array *want, double tolerance);
bool __wrap_expect_array(Case *c, const char *name, const Array *want, double tolerance);
bool __real_expect_number(Case *c, const char *name, double want, double tolerance);
bool __wrap_expect_number(Case *c, const char *name, double want, double tolerance);

static char missing[64][NAME_BYTES + 1]; // what has been looked for and was not there stays away
static int missing_count;

static bool is_missing(char kind, const char *name) {
  for (int i = 0; i < missing_count; i++)
    if (missing[i][0] == kind && strcmp(missing[i] + 1, name) == 0)
      return true;
  return false;
}

// The linker sends the grader's look-ups here (--wrap): what is not in the reply yet is invented, or is missing from now on.
Item *__wrap_message_find(Message *m, char kind, const char *name) {
  Item *item = __real_message_find(m, kind, name);
  if (item || m != &tried.reply || !making || strlen(name) >= NAME_BYTES || is_missing(kind, name))
    return item;
  item = one_in(kind == 'e' ? 2 : 20) ? NULL : message_add(m, kind, name);
  if (!item) {
    assert_true(missing_count < 64);
    snprintf(missing[missing_count++], sizeof missing[0], "%c%s", kind, name);
    return NULL;
  }
  make_item(item, &tried.request);
  if (kind == 'e' && !one_in(10))
    item->text[0] = '\0'; // mostly none
  return item;
}

// A check goes on only where values are right, so here they mostly are, with flags and devices that need not be.
bool __wrap_expect_array(Case *c, const char *name, const Array *want, double tolerance) {
  Item *item = __wrap_message_find(&c->reply, 'a', name);
  if (item && !(item->array.flags & ARRAY_NULL) && !one_in(5)) {
    free(item->array.data);
    int flags = item->array.flags & ~(one_in(5) ? 0 : ARRAY_GUARD_BROKEN);
    item->array = (Array){
        .dtype = want->dtype, .shape = want->shape, .count = want->count, .flags = flags, .device = item->array.device};
    size_t bytes = (size_t)want->count * fy_dtype_size(want->dtype);
    item->array.data = calloc((size_t)want->count + 1, sizeof(double));
    assert_non_null(item->array.data);
    memcpy(item->array.data, want->data, bytes);
  }
  return __real_expect_array(c, name, want, tolerance);
}

bool __wrap_expect_number(Case *c, const char *name, double want, double tolerance) {
  Item *item = __wrap_message_find(&c->reply, 'n', name);
  if (item && !one_in(5))
    item->number = want;
  return __real_expect_number(c, name, want, tolerance);
}

static void judge_replies(const Exercise *e, const Test *test, long count) {
  for (long i = 0; i < count; i++) {
    char given[2048];
    case_begin(&tried, e, test, draw(), test->devices > 2 ? test->devices : 2);
    making = false;
    case_ask(&tried);
    making = true;
    missing_count = 0;
    case_judge(&tried);
    assert_true(strlen(tried.finding) < sizeof tried.finding && strlen(tried.map) < sizeof tried.map);
    assert_true(!tried.failed || tried.finding[0]);
    case_describe(&tried, given, sizeof given);
    making = false;
    case_free(&tried);
  }
}

static void test_check(void **state) {
  const Exercise *e = *state;
  long count = setting("FERRY_FUZZ_COUNT", 12);
  for (const Test *test = e->tests; test < e->tests + MAX_TESTS && test->name; test++)
    judge_replies(e, test, count);
}

// ---- messages ----------------------------------------------------------------------------------------------------------

static void make_message(Message *m) {
  static const char kinds[] = "natce";
  static const Message like = {.count = 1, .items = {{.kind = 'n'}}};
  m->count = 0;
  m->nonce = draw();
  for (int64_t i = below(8); i >= 0; i--) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%lld", (long long)i);
    make_item(message_add(m, kinds[below(5)], name), &like);
  }
}

static void assert_same(const Message *a, const Message *b) {
  assert_int_equal(a->count, b->count);
  for (int i = 0; i < a->count; i++) {
    const Item *x = &a->items[i], *y = &b->items[i];
    assert_int_equal(x->kind, y->kind);
    assert_string_equal(x->name, y->name);
    assert_memory_equal(&x->number, &y->number, sizeof x->number);
    assert_memory_equal(&x->counts, &y->counts, sizeof x->counts);
    assert_string_equal(x->text ? x->text : "", y->text ? y->text : "");
    assert_int_equal(x->array.count, y->array.count);
    if (x->kind == 'a' && !(x->array.flags & ARRAY_NULL))
      assert_memory_equal(x->array.data, y->array.data, (size_t)x->array.count * fy_dtype_size(x->array.dtype));
  }
}

static void test_messages_come_back(void **state) {
  static Message sent, read; // large
  (void)state;
  for (int i = 0; i < 2000; i++) {
    size_t bytes = 0;
    make_message(&sent);
    uint8_t *packed = message_pack(&sent, &bytes);
    assert_non_null(packed);
    assert_null(message_unpack(&read, packed + HEADER_BYTES, bytes - HEADER_BYTES));
    assert_same(&sent, &read);
    free(packed);
    message_free(&sent);
    message_free(&read);
  }
}

// A body of exactly so many bytes on the heap, so that a sanitizer sees who reads past it.
static void read_mutated(const uint8_t *body, size_t bytes) {
  static Message read;
  size_t kept = one_in(3) ? (size_t)below((int64_t)bytes + 1) : bytes;
  uint8_t *copy = malloc(kept + !kept);
  assert_non_null(copy);
  memcpy(copy, body, kept);
  for (int64_t changes = below(6); changes > 0 && kept > 0; changes--) {
    size_t at = (size_t)below((int64_t)(one_in(2) && kept > 64 ? 64 : kept));
    copy[at] = one_in(3) ? 0xff : (uint8_t)draw();
  }
  message_unpack(&read, copy, kept);
  for (int i = 0; i < read.count; i++)
    if (read.items[i].array.data) // what was believed has to be there
      array_at(&read.items[i].array, read.items[i].array.count > 0 ? read.items[i].array.count - 1 : 0);
  message_free(&read);
  free(copy);
}

static void test_mutated_messages(void **state) {
  static Message sent;
  (void)state;
  for (int i = 0; i < 3000; i++) {
    size_t bytes = 0;
    make_message(&sent);
    uint8_t *packed = message_pack(&sent, &bytes);
    assert_non_null(packed);
    for (int j = 0; j < 8; j++)
      read_mutated(packed + HEADER_BYTES, bytes - HEADER_BYTES);
    free(packed);
    message_free(&sent);
  }
}

// ---- the ledger --------------------------------------------------------------------------------------------------------

static void test_ledger(void **state) {
  (void)state;
  const LedgerRecord begin = {LEDGER_MAGIC, LEDGER_BEGIN, 7}, end = {LEDGER_MAGIC, LEDGER_END, 7},
                     copy = {LEDGER_MAGIC, LEDGER_HOST_TO_DEVICE, 100}, other = {LEDGER_MAGIC, LEDGER_BEGIN, 8},
                     unknown = {LEDGER_MAGIC, LEDGER_KINDS, 0};
  Ledger ledger = {0};
  ledger_take(&ledger, &begin, 7);
  ledger_take(&ledger, &copy, 7);
  ledger_take(&ledger, &copy, 7);
  ledger_take(&ledger, &end, 7);
  assert_true(ledger.begun && ledger.ended && !ledger.broken);
  assert_int_equal(ledger.count[LEDGER_HOST_TO_DEVICE], 2);
  assert_int_equal(ledger.value[LEDGER_HOST_TO_DEVICE], 200);
  const LedgerRecord *const wrong[] = {&copy, &end, &other, &unknown}; // after the end; with another nonce; of no kind
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    Ledger broken = ledger;
    ledger_take(&broken, wrong[i], 7);
    assert_true(broken.broken);
  }
  Ledger early = {0};
  ledger_take(&early, &copy, 7);
  assert_true(early.broken);
  ledger_take(&ledger, &begin, 7); // anew
  assert_true(ledger.begun && !ledger.ended && ledger.count[LEDGER_HOST_TO_DEVICE] == 0);
}

int main(int argc, char **argv) {
  static struct CMUnitTest tests[MAX_TESTS * 10] = {cmocka_unit_test(test_messages_come_back),
                                                    cmocka_unit_test(test_mutated_messages),
                                                    cmocka_unit_test(test_ledger)};
  size_t count = 3;
  random_state = (uint64_t)setting("FERRY_FUZZ_SEED", 1);
  for (int i = 0; i < exercise_count() && count < sizeof tests / sizeof tests[0]; i++) {
    const Exercise *e = exercise_at(i);
    tests[count++] = (struct CMUnitTest){e->id, test_check, NULL, NULL, (void *)(uintptr_t)e};
  }
  if (argc > 1) // an exercise, or a pattern such as "6*"
    cmocka_set_test_filter(argv[1]);
  return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
}
