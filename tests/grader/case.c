// SPDX-License-Identifier: MIT
// Cases: random numbers, asking, and what came back.
#include "case.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t hash_text(uint64_t seed, const char *text) {
  uint64_t hash = mix64(seed + 0x9e3779b97f4a7c15u);
  for (; *text; text++)
    hash = mix64(hash ^ (uint8_t)*text) + 0x9e3779b97f4a7c15u;
  return mix64(hash);
}

void case_begin(Case *c, const Exercise *exercise, const Test *test, uint64_t seed, int devices) {
  memset(c, 0, sizeof *c);
  c->exercise = exercise;
  c->test = test;
  c->seed = seed;
  c->random = seed;
  c->devices = test->no_cuda ? 0 : devices;
}

void *case_own(Case *c, void *memory) {
  if (!memory || c->owned_count == MAX_OWNED)
    fatal_error("%s: no memory, or more than %d arrays and names in a test", c->exercise->id, MAX_OWNED);
  c->owned[c->owned_count++] = memory;
  return memory;
}

void case_free(Case *c) {
  for (int i = 0; i < c->owned_count; i++)
    free(c->owned[i]);
  c->owned_count = 0;
  message_free(&c->request);
  message_free(&c->reply);
}

// ---- drawing ---------------------------------------------------------------------------------------------------------

static uint64_t draw(Case *c) {
  c->random += 0x9e3779b97f4a7c15u;
  return mix64(c->random);
}

int64_t draw_int(Case *c, int64_t low, int64_t high) {
  return low + (int64_t)(draw(c) % (uint64_t)(high - low + 1));
}

int64_t draw_odd(Case *c, int64_t low, int64_t high) {
  int64_t n = draw_int(c, low, high);
  return n % 2 ? n : n + 1 <= high ? n + 1 : n - 1;
}

double draw_real(Case *c, double low, double high) {
  return low + (high - low) * (double)(draw(c) >> 11) * 0x1p-53;
}

Array *new_array(Case *c, FyDType dtype, Shape shape) {
  Array *a = case_own(c, calloc(1, sizeof *a));
  *a = (Array){.dtype = dtype, .shape = shape, .count = shape_count(shape), .device = -1};
  if (a->count < 0 || fy_dtype_size(dtype) == 0)
    fatal_error("%s: an array of no possible shape or dtype", c->exercise->id);
  a->data = case_own(c, calloc((size_t)a->count + 1, fy_dtype_size(dtype)));
  return a;
}

Array *draw_array(Case *c, FyDType dtype, Shape shape, double low, double high) {
  Array *a = new_array(c, dtype, shape);
  bool floating = dtype == FY_FLOAT16 || dtype == FY_BFLOAT16 || dtype == FY_FLOAT32 || dtype == FY_FLOAT64;
  for (int64_t i = 0; i < a->count; i++)
    array_set(a, i,
              floating ? nearbyint(draw_real(c, low, high) * 1024) / 1024
                       : (double)draw_int(c, (int64_t)low, (int64_t)high));
  return a;
}

Array *draw_steps(Case *c, Shape shape, double low, double high, double step) {
  Array *a = array_cast(c, draw_array(c, FY_INT32, shape, low / step, high / step), FY_FLOAT32);
  for (int64_t i = 0; i < a->count; i++)
    a->f32[i] *= (float)step;
  return a;
}

bool array_has_nan(const Array *a) {
  for (int64_t i = 0; a && a->dtype == FY_FLOAT32 && i < a->count; i++)
    if (isnan(a->f32[i]))
      return true;
  return false;
}

Array *array_cast(Case *c, const Array *a, FyDType dtype) {
  Array *cast = new_array(c, dtype, a->shape);
  for (int64_t i = 0; i < a->count; i++)
    array_set(cast, i, array_at(a, i));
  return cast;
}

Array *array_negated(Case *c, const Array *a) {
  Array *negated = new_array(c, FY_FLOAT32, a->shape);
  for (int64_t i = 0; i < a->count; i++)
    negated->f32[i] = -a->f32[i];
  return negated;
}

CaseSchedule case_schedule(const Case *c) {
  return c->schedule;
}

const char *case_test(const Case *c) {
  return c->test->name;
}

int case_devices(const Case *c) {
  return c->devices;
}

// ---- asking ----------------------------------------------------------------------------------------------------------

static Item *ask_item(Case *c, char kind, const char *name) {
  Item *item = message_find(&c->request, kind, name) ? NULL : message_add(&c->request, kind, name);
  if (!item)
    fatal_error("%s: '%s' cannot be given: twice the same name, or more than %d", c->exercise->id, name, MAX_ITEMS);
  return item;
}

static int device_index(const Case *c, const char *device) {
  int index = -1;
  if (!device || strcmp(device, "cpu") == 0)
    return -1;
  if (sscanf(device, "cuda:%d", &index) != 1 || index < 0)
    fatal_error("%s: give_array knows cpu and cuda:N, not '%s'", c->exercise->id, device);
  return index;
}

void give_array(Case *c, const char *name, Array *array, Give how) {
  Item *item = ask_item(c, 'a', name);
  array->device = device_index(c, how.device);
  array->flags = (how.strided ? ARRAY_STRIDED : 0) | (how.transposed ? ARRAY_TRANSPOSED : 0) |
                 (how.requires_grad ? ARRAY_REQUIRES_GRAD : 0) | (how.pinned ? ARRAY_PINNED : 0);
  item->array = *array;
  size_t bytes = (size_t)array->count * fy_dtype_size(array->dtype);
  item->array.data = malloc(bytes + 1);
  if (!item->array.data)
    fatal_error("%s: no memory for '%s'", c->exercise->id, name);
  memcpy(item->array.data, array->data, bytes);
}

void give_number(Case *c, const char *name, double value) {
  ask_item(c, 'n', name)->number = value;
}

void give_text(Case *c, const char *name, const char *text) {
  Item *item = ask_item(c, 't', name);
  item->text = strdup(text);
  if (!item->text)
    fatal_error("%s: no memory for '%s'", c->exercise->id, name);
}

void case_ask(Case *c) {
  c->request.nonce = 0;
  give_text(c, "test", c->test->name);
  c->test->ask(c);
}

// ---- what was given and what came back --------------------------------------------------------------------------------

// Looking does not change the message; the finder is not const because its result may be.
static Item *look(const Message *m, char kind, const char *name) {
  return message_find((Message *)(uintptr_t)m, kind, name);
}

const Array *given(const Case *c, const char *name) {
  Item *item = look(&c->request, 'a', name);
  if (!item)
    fatal_error("%s: '%s' was never given", c->exercise->id, name);
  return &item->array;
}

double given_number(const Case *c, const char *name) {
  Item *item = look(&c->request, 'n', name);
  if (!item)
    fatal_error("%s: '%s' was never given", c->exercise->id, name);
  return item->number;
}

const char *given_text(const Case *c, const char *name) {
  Item *item = look(&c->request, 't', name);
  if (!item)
    fatal_error("%s: '%s' was never given", c->exercise->id, name);
  return item->text;
}

const Array *got(const Case *c, const char *name) {
  Item *item = look(&c->reply, 'a', name);
  return item && !(item->array.flags & ARRAY_NULL) ? &item->array : NULL;
}

const Array *got_shaped(const Case *c, const char *name, Shape shape) {
  const Array *a = got(c, name);
  return a && same_shape(a->shape, shape) ? a : NULL;
}

double got_number(const Case *c, const char *name) {
  Item *item = look(&c->reply, 'n', name);
  return item ? item->number : NAN;
}

int64_t got_count(const Case *c, const char *name) {
  double number = got_number(c, name);
  return isnan(number) ? -1 : (int64_t)fmin(fmax(number, -0x1p53), 0x1p53); // hostile: sums of some must not overflow
}

const char *got_text(const Case *c, const char *name) {
  Item *item = look(&c->reply, 't', name);
  return item ? item->text : "";
}

const char *got_device(const Case *c, const char *name) {
  static const char *const names[] = {"cpu",    "cuda:0", "cuda:1", "cuda:2", "cuda:3",
                                      "cuda:4", "cuda:5", "cuda:6", "cuda:7"};
  const Array *a = got(c, name);
  return a && a->device >= -1 && a->device < 8 ? names[a->device + 1] : "";
}

const char *got_error(const Case *c) {
  Item *item = look(&c->reply, 'e', "error");
  return item ? item->text : "";
}

bool case_counted(const Case *c) {
  return look(&c->reply, 'c', "counts") != NULL;
}

const Counts *counts(const Case *c) {
  static const Counts none;
  Item *item = look(&c->reply, 'c', "counts");
  return item ? &item->counts : &none;
}

// It came from the answer's process: what does not look like a trace is none.
EventTrace event_trace(const Case *c) {
  const Array *a = got(c, "#trace");
  if (!a || a->dtype != FY_INT64 || a->shape.rank != 2 || a->shape.size[1] != TRACE_COLUMNS ||
      a->shape.size[0] > TRACE_MOST)
    return (EventTrace){0};
  return (EventTrace){true, a->shape.size[0], (const TraceEntry *)a->i64};
}

int64_t trace_count(const Case *c, TraceKind kind, int device) {
  EventTrace all = event_trace(c);
  int64_t found = 0;
  for (int64_t i = 0; i < all.count; i++)
    found += all.entries[i].kind == (int64_t)kind && (device < 0 || all.entries[i].device == device);
  return found;
}

int64_t trace_unfinished(const Case *c) {
  EventTrace all = event_trace(c);
  int64_t found = 0;
  for (int64_t i = 0; i < all.count; i++)
    found += all.entries[i].kind >= TRACE_KERNEL && all.entries[i].kind <= TRACE_WITHIN && all.entries[i].ran < 0;
  return found;
}

// ---- describing ------------------------------------------------------------------------------------------------------

static const char *short_dtype(FyDType dtype) {
  static const char *const names[FY_DTYPE_COUNT] = {"?",       "bool",     "uint8",   "int32",  "int64",
                                                    "float16", "bfloat16", "float32", "float64"};
  return dtype > 0 && dtype < FY_DTYPE_COUNT ? names[dtype] : names[0];
}

void array_describe(const Array *a, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "(");
  for (int i = 0; i < a->shape.rank && used < bytes; i++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld", i ? ", " : "", (long long)a->shape.size[i]);
  if (used < bytes)
    snprintf(text + used, bytes - used, "%s) %s", a->shape.rank == 1 ? "," : "", short_dtype(a->dtype));
}

static size_t describe_item(const Item *item, char *text, size_t bytes) {
  char shape[160];
  if (item->kind == 'n')
    return (size_t)snprintf(text, bytes, "%s = %.9g", item->name, item->number);
  if (item->kind == 't')
    return (size_t)snprintf(text, bytes, "%s = \"%s\"", item->name, item->text);
  const Array *a = &item->array;
  array_describe(a, shape, sizeof shape);
  char device[16];
  snprintf(device, sizeof device, a->device < 0 ? "cpu" : "cuda:%d", a->device);
  return (size_t)snprintf(
      text, bytes, "%s %s on %s%s%s%s%s", item->name, shape, device, a->flags & ARRAY_STRIDED ? ", non-contiguous" : "",
      a->flags & ARRAY_TRANSPOSED ? ", transposed" : "", a->flags & ARRAY_REQUIRES_GRAD ? ", requires grad" : "",
      a->flags & ARRAY_PINNED ? ", pinned" : "");
}

void case_describe(const Case *c, char *text, size_t bytes) {
  enum { MANY = 12, SHOWN = 8 };
  size_t used = 0;
  int shown = 0;
  text[0] = '\0';
  for (int i = 0; i < c->request.count && used < bytes; i++) {
    const Item *item = &c->request.items[i];
    if (strcmp(item->name, "test") == 0)
      continue;
    if (c->request.count > MANY && shown++ == SHOWN) {
      snprintf(text + used, bytes - used, "; and %d more", c->request.count - i);
      return;
    }
    if (used > 0)
      used += (size_t)snprintf(text + used, bytes - used, "; ");
    if (used < bytes)
      used += describe_item(item, text + used, bytes - used);
  }
}
