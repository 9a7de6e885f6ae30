// SPDX-License-Identifier: MIT
// What a check expects, and how it is said when it does not hold: the first mismatch, how many, a map, a known mistake.
#include "case.h"
#include "registry.h"
#include "tool/print/language.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- saying it -------------------------------------------------------------------------------------------------------

int star_of(const Exercise *e, const Mistake *mistake) {
  for (int star = 0; mistake && star < EXTRA_STARS; star++)
    for (int i = 0; i < MAX_LOST_BY; i++)
      if (e->stars[star].lost_by[i] == mistake)
        return star;
  return -1;
}

// The first that does not hold is said, and its mistake named. That of a later one may be no more than what follows from it.
bool case_fail(Case *c, const Mistake *mistake, const char *format, ...) {
  const int star = star_of(c->exercise, mistake);
  const bool first = star >= 0 ? !c->lost[star].finding[0] : !c->failed;
  va_list arguments;
  va_start(arguments, format);
  if (first && star >= 0)
    vsnprintf(c->lost[star].finding, sizeof c->lost[star].finding, format, arguments);
  else if (first)
    vsnprintf(c->finding, sizeof c->finding, format, arguments);
  va_end(arguments);
  if (star >= 0) {
    if (first)
      c->lost[star].mistake = mistake;
    return true;
  }
  const Mistake **named = c->failed ? &c->later : &c->mistake;
  if (!*named && mistake_is_evident(c, mistake))
    *named = mistake;
  c->failed = true;
  return false;
}

static void index_text(const Array *a, int64_t flat, char *text, size_t bytes) {
  int64_t index[MAX_RANK] = {0};
  for (int d = a->shape.rank - 1; d >= 0; d--) {
    index[d] = flat % a->shape.size[d];
    flat /= a->shape.size[d];
  }
  size_t used = (size_t)snprintf(text, bytes, "[");
  for (int d = 0; d < a->shape.rank && used < bytes; d++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld", d ? ", " : "", (long long)index[d]);
  if (used < bytes)
    snprintf(text + used, bytes - used, "]");
}

enum { MAP_ROWS = 8, MAP_COLUMNS = 48 };

// One character for a rectangle of elements: '.' all right, '#' all wrong, '+' some of each.
static char map_cell(const Array *a, const Array *want, double tolerance, const int64_t from[2], const int64_t to[2]) {
  int64_t wrong = 0, all = 0;
  for (int64_t i = from[0]; i < to[0]; i++)
    for (int64_t j = from[1]; j < to[1]; j++) {
      int64_t at = i * want->shape.size[1] + j;
      wrong += !array_is_close(array_at(a, at), array_at(want, at), tolerance);
      all++;
    }
  return wrong == 0 ? '.' : wrong == all ? '#' : '+';
}

static void draw_map(Case *c, const Array *a, const Array *want, double tolerance) {
  int64_t rows = want->shape.size[0], columns = want->shape.size[1];
  int64_t shown_rows = rows < MAP_ROWS ? rows : MAP_ROWS, shown = columns < MAP_COLUMNS ? columns : MAP_COLUMNS;
  size_t used = 0;
  for (int64_t r = 0; r < shown_rows; r++) {
    for (int64_t k = 0; k < shown; k++) {
      int64_t from[2] = {r * rows / shown_rows, k * columns / shown};
      int64_t to[2] = {(r + 1) * rows / shown_rows, (k + 1) * columns / shown};
      c->map[used++] = map_cell(a, want, tolerance, from, to);
    }
    c->map[used++] = '\n';
  }
  c->map[used] = '\0';
}

enum { NO_FILLING, OWN_FILLING, HANDED_ON };

static int filling_at(const Array *a, int64_t i) {
  uint32_t bits = 0;
  if (a->dtype != FY_FLOAT32)
    return NO_FILLING;
  memcpy(&bits, &a->f32[i], sizeof bits);
  bits |= 0x80000000u; // its sign may have been turned
  return bits == WIRE_UNWRITTEN ? OWN_FILLING : bits == WIRE_HANDED_ON ? HANDED_ON : NO_FILLING;
}

bool array_is_filling(const Array *a, int64_t i) {
  return filling_at(a, i) != NO_FILLING;
}

// As fresh memory is, whatever number that is.
static bool is_untouched(const Array *a, int64_t i) {
  return a->dtype == FY_INT32 ? a->i32[i] == -1 : array_is_filling(a, i);
}

int64_t columns_written(const Array *a) {
  const int64_t columns = a && a->count > 0 && a->shape.rank > 0 ? a->shape.size[a->shape.rank - 1] : 0;
  int64_t end = columns;
  while (end > 0 && is_untouched(a, end - 1))
    end--;
  for (int64_t i = 0; columns > 0 && i < a->count; i++)
    if (i % columns < end ? a->dtype == FY_FLOAT32 && is_untouched(a, i) : !is_untouched(a, i))
      return -1;
  return a ? end : -1;
}

static const Mistake *kernel_mistake(const Array *a, int64_t at) {
  if (a->flags & ARRAY_GUARD_BROKEN)
    return &PAST_THE_END;
  bool from_kernel = a->device >= 0 && !(a->flags & (ARRAY_CONTIGUOUS | ARRAY_REQUIRES_GRAD | ARRAY_PINNED));
  if (!from_kernel)
    return NULL;
  if (filling_at(a, at) == HANDED_ON)
    return &READ_UNWRITTEN;
  const bool unwritten = a->dtype == FY_FLOAT32 ? array_is_filling(a, at) : isnan(array_at(a, at));
  return unwritten ? &NOT_WRITTEN : NULL;
}

// A NaN's sign says nothing.
static void number_text(double x, char text[64]) {
  if (isnan(x))
    strcpy(text, "nan");
  else
    snprintf(text, 64, "%.9g", x);
}

// What is expected of an element and what it is; in words for memory that a kernel had to leave alone, or left alone.
static void element_texts(const Array *a, const Array *want, int64_t at, char expected[64], char is[64]) {
  double wanted = array_at(want, at), x = array_at(a, at);
  bool kernels = a->dtype == FY_FLOAT32 && a->device >= 0 && !(a->flags & ~ARRAY_GUARD_BROKEN);
  number_text(wanted, expected);
  number_text(x, is);
  if (kernels && isnan(wanted))
    snprintf(expected, 64, "%s", _("unchanged memory"));
  if (kernels && memcmp(&a->f32[at], "\xff\xff\xff\xff", sizeof(float)) == 0)
    snprintf(is, 64, "%s", _("memory that was never written"));
  if (kernels && filling_at(a, at) == HANDED_ON)
    snprintf(is, 64, "%s", _("a NaN from uninitialized memory"));
}

static bool values_match(Case *c, const char *name, const Array *a, const Array *want, double tolerance) {
  int64_t first, wrong = array_mismatches(a, want, tolerance, &first);
  if (wrong == 0)
    return true;
  char index[160], expected[64], is[64];
  index_text(want, first, index, sizeof index);
  element_texts(a, want, first, expected, is);
  bool earlier = c->failed;
  if (!c->fallback)
    c->fallback = kernel_mistake(a, first);
  case_fail(c, NULL, _("%s%s: expected %s, got %s\n%lld of %lld elements differ"), name, want->shape.rank ? index : "",
            expected, is, (long long)wrong, (long long)want->count);
  if (!earlier && want->shape.rank == 2 && want->count > 1)
    draw_map(c, a, want, tolerance);
  return false;
}

// ---- expectations ----------------------------------------------------------------------------------------------------

static const Array *expect_something(Case *c, const char *name) {
  const Array *a = got(c, name);
  if (!a) {
    bool null = message_find(&c->reply, 'a', name) != NULL;
    case_fail(c, NULL, null ? _("%s: expected a tensor, got NULL") : _("%s: expected a result, got none"), name);
  }
  return a;
}

static void fail_for_guards(Case *c, const char *name) {
  c->fallback = &PAST_THE_END;
  case_fail(c, NULL, _("%s: memory before or after this array was overwritten"), name);
}

bool expect_array(Case *c, const char *name, const Array *want, double tolerance) {
  const Array *a = expect_something(c, name);
  if (!a)
    return false;
  char have[160], wanted[160];
  array_describe(a, have, sizeof have);
  array_describe(want, wanted, sizeof wanted);
  if (a->dtype != want->dtype || !same_shape(a->shape, want->shape)) {
    case_fail(c, NULL, _("%s: expected %s, got %s"), name, wanted, have);
    return false;
  }
  bool right = values_match(c, name, a, want, tolerance);
  if (!right && c->refused_count < MAX_REFUSED)
    c->refused[c->refused_count++] = case_own(c, strdup(name));
  if (a->flags & ARRAY_GUARD_BROKEN) {
    fail_for_guards(c, name);
    return false;
  }
  return right;
}

bool expect_number(Case *c, const char *name, double want, double tolerance) {
  double x = got_number(c, name);
  if (array_is_close(x, want, tolerance))
    return true;
  if (!message_find(&c->reply, 'n', name))
    case_fail(c, NULL, _("%s: expected a result, got none"), name);
  else {
    char expected[64], is[64];
    number_text(want, expected);
    number_text(x, is);
    case_fail(c, NULL, _("%s: expected %s, got %s"), name, expected, is);
  }
  return false;
}

bool expect_text(Case *c, const char *name, const char *want) {
  if (strcmp(got_text(c, name), want) == 0)
    return true;
  case_fail(c, NULL, _("%s: expected \"%s\", got \"%.200s\""), name, want, got_text(c, name));
  return false;
}

bool expect_device(Case *c, const char *name, const char *device, const Mistake *mistake) {
  if (!expect_something(c, name))
    return false;
  if (strcmp(got_device(c, name), device) == 0)
    return true;
  return case_fail(c, mistake, _("%s: expected device %s, got %s"), name, device, got_device(c, name));
}

bool expect_at_most(Case *c, const char *what, int64_t have, int64_t most, const Mistake *mistake) {
  if (have <= most)
    return true;
  return case_fail(c, mistake, _("%s: expected at most %lld, counted %lld"), what, (long long)most, (long long)have);
}

bool expect_at_least(Case *c, const char *what, int64_t have, int64_t least, const Mistake *mistake) {
  if (have >= least)
    return true;
  return case_fail(c, mistake, _("%s: expected at least %lld, counted %lld"), what, (long long)least, (long long)have);
}

bool expect_exactly(Case *c, const char *what, int64_t have, int64_t want, const Mistake *mistake) {
  if (have == want)
    return true;
  return case_fail(c, mistake, _("%s: expected %lld, counted %lld"), what, (long long)want, (long long)have);
}

bool expect_that(Case *c, bool holds, const Mistake *mistake, const char *format, ...) {
  if (holds)
    return true;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return case_fail(c, mistake, "%s", text);
}

// So few bytes tell how to go on; where far more was given, nobody computed the result of them.
static bool fetched_a_number(const Case *c) {
  enum { NUMBER = 16, FEW = 64 };
  int64_t most = 0;
  for (int i = 0; i < c->request.count; i++)
    if (c->request.items[i].kind == 'a' && c->request.items[i].array.count > most)
      most = c->request.items[i].array.count;
  return counts(c)->device_to_host_bytes <= NUMBER && most >= FEW;
}

bool expect_by_kernel(Case *c) {
  return expect_at_least(c, "launches", counts(c)->launches, 1, &NO_KERNEL) &&
         expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0,
                        fetched_a_number(c) ? &NUMBER_FETCHED : &COMPUTED_ON_HOST);
}

bool expect_error(Case *c, const char *text, const Mistake *mistake) {
  c->error_expected = true;
  if (strstr(got_error(c), text))
    return true;
  if (*got_error(c))
    case_fail(c, mistake, "expected an error that contains \"%s\", got: %.400s", text, got_error(c));
  else
    case_fail(c, mistake, "expected an error that contains \"%s\", got none", text);
  return false;
}

// ---- launches of kernels ---------------------------------------------------------------------------------------------

static const int64_t *shape_row(const Case *c, const char *name, int i) {
  const Array *a = got(c, name);
  bool good =
      a && a->dtype == FY_INT64 && a->shape.rank == 2 && a->shape.size[1] == 6 && i >= 0 && i < a->shape.size[0];
  return good ? a->i64 + 6 * (int64_t)i : NULL;
}

// As many as no launch can have are no launch's: products of the others fit their type.
const int64_t *launch_shape(const Case *c, int i) {
  static const int64_t most[6] = {INT32_MAX, 65535, 65535, 1024, 1024, 64};
  const int64_t *row = shape_row(c, "launch shapes", i);
  for (int k = 0; row && k < 6; k++)
    if (row[k] < 1 || row[k] > most[k])
      row = NULL;
  return row;
}

const int64_t *refused_shape(const Case *c) {
  return shape_row(c, "refused launch", 0);
}

bool is_of_another_turn(const Case *c, const Array *planes, const Array *items) {
  const int64_t n = items->shape.size[0], channels = items->shape.size[1], *s = launch_shape(c, 0);
  const int64_t some = planes && planes->dtype == FY_FLOAT32 && n > 0 ? planes->count / n : 0; // of the channels
  int64_t others = 0;
  for (int64_t k = 0; s && k < some; k++)
    for (int64_t i = 0; i < n; i++) {
      const float is = planes->f32[k * n + i];
      if (is == items->f32[i * channels + k])
        continue;
      int64_t other = i % (s[0] * s[3]);
      while (other < n && is != items->f32[other * channels + k])
        other += s[0] * s[3];
      if (other >= n)
        return false;
      others++;
    }
  return others > 0;
}

bool refused_empty_grid(const Case *c) {
  const int64_t *refused = refused_shape(c);
  return refused && (refused[0] == 0 || refused[1] == 0 || refused[2] == 0);
}

// ---- the whole case ----------------------------------------------------------------------------------------------------

// Evidence of its own, whatever else has failed.
static void fail_besides(Case *c, const Mistake *mistake, const char *finding) {
  if (!c->mistake)
    c->mistake = mistake;
  case_fail(c, mistake, "%s", finding);
}

// What the driver found after the call: another mode, a tensor of the caller's that is another one. Values come first.
static void judge_side_effects(Case *c) {
  static const struct {
    const char *what, *finding;
    const Mistake *mistake;
  } left[] = {{"gradients off", "autograd is disabled after the call", &GRAD_LEFT},
              {"gradients on", "autograd is enabled after the call", &GRAD_SWITCHED_ON},
              {"stream", "the current stream is different after the call", &STREAM_LEFT},
              {"device", "the current device is different after the call", &DEVICE_LEFT},
              {"autocast", "the autocast state is different after the call", &AUTOCAST_LEFT},
              {"evaluation", "the model, or a part of it, is in evaluation mode after the call", &MODE_LEFT},
              {"training", "the model, or a part of it, is in training mode after the call", &MODE_LEFT},
              {"scope", "a scope that the call opened is still open", &SCOPE_LEFT}};
  for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
    if (strcmp(got_text(c, "#left"), left[i].what) == 0)
      fail_besides(c, left[i].mistake, left[i].finding);
  if (*got_text(c, "#given up")) {
    char text[256];
    snprintf(text, sizeof text, "the call freed %.64s, which belongs to the caller", got_text(c, "#given up"));
    fail_besides(c, &GIVEN_UP, text);
  }
  if (*got_text(c, "#changed")) {
    char text[256];
    snprintf(text, sizeof text, "after the call: %.200s", got_text(c, "#changed"));
    fail_besides(c, &CALLERS_CHANGED, text);
  }
}

// Before what is the cause of whatever else is missing: an error, a launch that was refused.
static void forget_failures(Case *c) {
  c->failed = false;
  c->mistake = c->later = NULL;
  c->map[0] = '\0';
}

// x, y, z of a refused launch, which may be any numbers: more than 1024 threads?
static bool launch_is_too_large(const int64_t *block) {
  int64_t threads;
  return __builtin_mul_overflow(block[0], block[1], &threads) || __builtin_mul_overflow(threads, block[2], &threads) ||
         threads > 1024;
}

// A launch that could not be is the cause of whatever else is missing. A grid of no blocks is for the check to name.
static void judge_launch(Case *c) {
  const int64_t *n = refused_shape(c);
  if (!n || c->test->may_refuse)
    return;
  if (refused_empty_grid(c)) {
    c->fallback = &NO_BLOCKS;
    return;
  }
  forget_failures(c);
  case_fail(c, launch_is_too_large(n + 3) ? &BLOCK_TOO_LARGE : &LAUNCH_REFUSED,
            "the runtime refused a grid of %lld x %lld x %lld blocks of %lld x %lld x %lld threads", (long long)n[0],
            (long long)n[1], (long long)n[2], (long long)n[3], (long long)n[4], (long long)n[5]);
}

// Memory beside arrays that the check did not look at.
static void judge_guards(Case *c) {
  for (int i = 0; i < c->reply.count && !c->failed; i++) {
    const Item *item = &c->reply.items[i];
    if (item->kind == 'a' && item->array.flags & ARRAY_GUARD_BROKEN)
      fail_for_guards(c, item->name);
  }
}

void case_judge(Case *c) {
  c->test->judge(c);
  judge_guards(c);
  if (*got_error(c) && !c->error_expected) {
    forget_failures(c);
    case_fail(c, NULL, _("the answer raised %.1500s"), got_error(c));
    if (strstr(got_error(c), "is used after its scope has ended")) // without the checked mode it would have crashed
      c->fallback = c->test->crash ? c->test->crash : &USED_AFTER_SCOPE;
    else if (strstr(got_error(c), "is used after it was freed: it was made at tests/")) // not by the answer
      c->mistake = &GIVEN_UP;
    else if (strstr(got_error(c), "host code reads or writes at byte"))
      c->fallback = &INDEX_OUTSIDE;
  }
  if (c->failed)
    judge_launch(c);
  if (c->failed)
    case_add_finding(c);
  if (*got_error(c) && strcmp(exercise_extension(c->exercise), "cu") == 0)
    suspect_faults(c); // behind what the check suspects itself
  if (c->failed)
    case_step_to_fault(c);
  if (c->failed && !c->mistake)
    name_suspect(c);
  if (!*got_error(c) && (!c->failed || !c->mistake))
    judge_side_effects(c);
  if (c->failed && !c->mistake && c->refused_count == 0)
    c->mistake = c->later;
  if (c->failed && !c->mistake)
    c->mistake = c->fallback;
}
