// SPDX-License-Identifier: MIT
// The values of JSON of which a record consists, and the memory that holds them.
#include "step/record_json.h"
#include "base/json_scan.h"
#include "tool/print/plain.h"
#include "tool/print/usage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 32, CHUNK = 1 << 20 };

// ---- memory ----------------------------------------------------------------------------------------------------------------

struct StepArena {
  struct StepArena *rest;
  size_t used, room;
  char bytes[];
};

void *step_resize(void *memory, size_t bytes) {
  memory = realloc(memory, bytes ? bytes : 1);
  if (!memory)
    fatal_error("no memory for the record: --steps N makes it shorter");
  return memory;
}

void *step_allocate(Record *r, size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  struct StepArena *arena = r->arena;
  if (!arena || arena->room - arena->used < bytes) {
    const size_t room = bytes > CHUNK ? bytes : CHUNK;
    arena = step_resize(NULL, sizeof *arena + room + 16);
    *arena = (struct StepArena){r->arena, 0, room};
    r->arena = arena;
  }
  arena->used += bytes;
  return arena->bytes + arena->used - bytes;
}

void step_arena_free(Record *r) {
  while (r->arena) {
    struct StepArena *rest = r->arena->rest;
    free(r->arena);
    r->arena = rest;
  }
}

void *step_grown(void *items, int count, size_t bytes) {
  return count & (count - 1) ? items : step_resize(items, (size_t)(count ? 2 * count : 1) * bytes);
}

void *step_kept(Record *r, void *items, int count, size_t bytes) {
  void *copy = step_allocate(r, (size_t)count * bytes);
  if (count)
    memcpy(copy, items, (size_t)count * bytes);
  free(items);
  return copy;
}

// ---- JSON ------------------------------------------------------------------------------------------------------------------

bool read_fails(Reader *in, const char *expected) {
  if (!in->wrong) {
    in->scan.wrong_at = in->scan.at;
    in->scan.expected = expected;
  }
  in->wrong = true;
  return false;
}

bool read_accept(Reader *in, char character) {
  return !in->wrong && fy_json_scan_accept(&in->scan, character);
}

static bool expect(Reader *in, char character, const char *expected) {
  return read_accept(in, character) || read_fails(in, expected);
}

// An array's elements: `for (bool more = read_begin(in); more; more = read_more(in))`
bool read_begin(Reader *in) {
  return expect(in, '[', "an array") && !read_accept(in, ']');
}

bool read_more(Reader *in) {
  return read_accept(in, ',') || (expect(in, ']', "',' or the end of the array") && false);
}

const char *read_text(Reader *in) {
  size_t at, length;
  if (in->wrong || !fy_json_scan_string(&in->scan, &at)) {
    in->wrong = true;
    return "";
  }
  length = strlen(in->scan.text + at);
  char *plain = plain_text(in->scan.text + at, length);
  if (!plain)
    fatal_error("no memory for the record");
  length = strlen(plain) + 1;
  char *copy = memcpy(step_allocate(in->r, length), plain, length);
  free(plain);
  return copy;
}

StepValue read_number(Reader *in) {
  size_t at;
  StepValue v = {.kind = STEP_INTEGER};
  if (in->wrong || !fy_json_scan_number(&in->scan, &at)) {
    in->wrong = true;
    return v;
  }
  const char *digits = in->scan.text + at, *end = in->scan.text + in->scan.at;
  const bool negative = *digits == '-';
  uint64_t sum = 0;
  bool exact = true;
  for (const char *d = digits + negative; d < end && exact; d++)
    exact = *d >= '0' && *d <= '9' && !__builtin_mul_overflow(sum, 10, &sum) &&
            !__builtin_add_overflow(sum, (uint64_t)(*d - '0'), &sum);
  if (exact && sum <= INT64_MAX && !(negative && sum == 0)) {
    v.integer = negative ? -(int64_t)sum : (int64_t)sum;
  } else if (exact && !negative) {
    v.kind = STEP_NATURAL;
    v.integer = (int64_t)sum;
  } else {
    v.kind = STEP_REAL;
    v.real = strtod(digits, NULL);
    if (v.real == (double)INT64_MIN && !memchr(digits, '.', (size_t)(end - digits)))
      v = (StepValue){.kind = STEP_INTEGER, .integer = INT64_MIN};
  }
  return v;
}

int64_t read_integer(Reader *in, int64_t least, int64_t most) {
  const size_t at = in->scan.at;
  const StepValue v = read_number(in);
  if (in->wrong || (v.kind == STEP_INTEGER && v.integer >= least && v.integer <= most))
    return v.integer;
  in->scan.at = at;
  read_fails(in, "a whole number in its range");
  return least;
}

int read_whole(Reader *in, int least) {
  return (int)read_integer(in, least, INT32_MAX);
}

uint32_t read_mask(Reader *in) {
  return (uint32_t)read_integer(in, 0, UINT32_MAX);
}

bool read_truth(Reader *in) {
  fy_json_scan_peek(&in->scan);
  return fy_json_scan_word(&in->scan, "true") ||
         (!fy_json_scan_word(&in->scan, "false") && read_integer(in, 0, 1) == 1);
}

bool read_null(Reader *in) {
  fy_json_scan_peek(&in->scan);
  return !in->wrong && fy_json_scan_word(&in->scan, "null");
}

// Keys of an object, one after another; NULL at its end. `first` is true at the first call.
const char *read_key(Reader *in, bool *first) {
  size_t at;
  if (*first ? !expect(in, '{', "an object") : false)
    return NULL;
  if (read_accept(in, '}') || (!*first && !expect(in, ',', "',' or the end of the object")))
    return NULL;
  *first = false;
  if (in->wrong || !fy_json_scan_string(&in->scan, &at)) {
    in->wrong = true;
    return NULL;
  }
  return expect(in, ':', "':' after the key") ? in->scan.text + at : NULL;
}

void read_skip(Reader *in, int level) {
  const char c = fy_json_scan_peek(&in->scan);
  size_t at;
  bool first = true;
  if (level > MOST_LEVELS)
    read_fails(in, "fewer levels of arrays and objects");
  else if (c == '[')
    for (bool more = read_begin(in); more; more = read_more(in))
      read_skip(in, level + 1);
  else if (c == '{')
    while (read_key(in, &first))
      read_skip(in, level + 1);
  else if (c == '"')
    in->wrong |= !fy_json_scan_string(&in->scan, &at);
  else if (!read_null(in) && !fy_json_scan_word(&in->scan, "true") && !fy_json_scan_word(&in->scan, "false"))
    read_number(in);
}

void read_integers(Reader *in, int *to, int count, int least) {
  int n = 0;
  for (bool more = read_begin(in); more; more = read_more(in), n++) {
    const int value = read_whole(in, least);
    if (n < count)
      to[n] = value;
  }
  if (n < count && !in->wrong)
    read_fails(in, "more numbers in the array");
}

// ---- values ----------------------------------------------------------------------------------------------------------------

static StepValue value(Reader *in, int level) {
  const char c = fy_json_scan_peek(&in->scan);
  StepValue v = {.kind = STEP_TEXT};
  if (c == '"') {
    v.text = read_text(in);
    return v;
  }
  if (c != '[')
    return read_null(in) ? (StepValue){.kind = STEP_NONE} : read_number(in);
  StepValue *items = NULL;
  int count = 0;
  if (level > MOST_LEVELS)
    read_fails(in, "fewer levels of lists in a value");
  for (bool more = read_begin(in); more; more = read_more(in)) {
    items = step_grown(items, count, sizeof *items);
    items[count++] = value(in, level + 1);
  }
  v.kind = STEP_LIST;
  v.count = count;
  v.list = step_kept(in->r, items, count, sizeof *items);
  return v;
}

StepVector read_vector(Reader *in, uint32_t lanes) {
  StepVector v = {.mask = lanes, .form = STEP_LINEAR};
  StepValue values[STEP_LANES];
  const int wanted = __builtin_popcount(lanes);
  int count = 0;
  if (fy_json_scan_peek(&in->scan) == '{') {
    bool first = true;
    const char *name = read_key(in, &first);
    if (!name || strcmp(name, "a") != 0)
      read_fails(in, "\"a\": [first, difference]");
    for (bool more = !in->wrong && read_begin(in); more; more = read_more(in), count++)
      values[count < 1 ? 0 : 1] = read_number(in);
    if (!in->wrong && (count != 2 || read_key(in, &first)))
      read_fails(in, "\"a\": [first, difference] alone");
  } else {
    for (bool more = read_begin(in); more; more = read_more(in), count++) {
      if (count == STEP_LANES) {
        read_fails(in, "at most 32 values");
        break;
      }
      values[count] = value(in, 0);
    }
    v.form = count == 1 ? STEP_ALIKE : STEP_EACH;
    if (!in->wrong && count != 1 && count != wanted)
      read_fails(in, "a value for each lane of the mask");
  }
  if (in->wrong)
    return v;
  v.values = memcpy(step_allocate(in->r, (size_t)count * sizeof *values), values, (size_t)count * sizeof *values);
  return v;
}
