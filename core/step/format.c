// SPDX-License-Identifier: MIT
// Values as text.
#include "step/format.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- a value ---------------------------------------------------------------------------------------------------------------

// The fewest digits from which the number can be read again; most numbers need no more than six.
static void real_text(double x, bool is_float, int room, char *to, size_t bytes) {
  for (int digits = 6; digits <= 17; digits = !is_float && digits == 6 ? 15 : digits + 1) {
    snprintf(to, bytes, "%.*g", digits, x);
    if (is_float ? (float)strtod(to, NULL) == (float)x : strtod(to, NULL) == x)
      break;
  }
  for (int digits = room; room && digits > 0 && (int)strlen(to) > room; digits--)
    snprintf(to, bytes, "%.*g", digits, x);
}

// A number of unknown type is a float if nine digits say all of it: that many are recorded of a float.
static bool is_float(const char *type, double x) {
  char nine[40];
  snprintf(nine, sizeof nine, "%.9g", x);
  return type[0] ? type[0] == 'f' && strcmp(type, "f64") != 0 : strtod(nine, NULL) == x;
}

static void list_text(StepValue v, const char *type, char *to, size_t bytes) {
  char item[64];
  size_t used = (size_t)snprintf(to, bytes, "{");
  for (int i = 0; i < v.count; i++) {
    step_text(v.list[i], type, 0, item, sizeof item);
    if (used + strlen(item) + 8 > bytes) {
      snprintf(to + used, bytes - used, ", ...");
      return;
    }
    used += (size_t)snprintf(to + used, bytes - used, "%s%s", i ? ", " : "", item);
  }
  snprintf(to + used, bytes - used, "}");
}

void step_text(StepValue v, const char *type, int room, char *to, size_t bytes) {
  switch (v.kind) {
  case STEP_NONE:
    snprintf(to, bytes, ".");
    break;
  case STEP_INTEGER:
    if (type[0] == 'b' && (v.integer == 0 || v.integer == 1))
      snprintf(to, bytes, "%s", v.integer ? "true" : "false");
    else if (type[0] == 'c' && v.integer >= 32 && v.integer < 127)
      snprintf(to, bytes, "'%c'", (char)v.integer);
    else
      snprintf(to, bytes, "%lld", (long long)v.integer);
    break;
  case STEP_NATURAL:
    snprintf(to, bytes, "%llu", (unsigned long long)v.integer);
    break;
  case STEP_REAL:
    real_text(v.real, is_float(type, v.real), room, to, bytes);
    break;
  case STEP_TEXT:
    snprintf(to, bytes, "%s", v.text);
    break;
  default:
    list_text(v, type, to, bytes);
  }
  if (room && (int)strlen(to) > room && v.kind <= STEP_REAL)
    real_text(step_number(v), false, room, to, bytes);
  if (room && (int)strlen(to) > room) {
    to[room - 1] = '~';
    to[room] = '\0';
  }
}

// ---- lists of numbers ------------------------------------------------------------------------------------------------------

void step_number_list(const int64_t *sorted, int count, int room, char *to, size_t bytes) {
  char item[64], last[32];
  size_t used = 0;
  snprintf(last, sizeof last, " .. %lld", count ? (long long)sorted[count - 1] : 0);
  to[0] = '\0';
  for (int i = 0; i < count;) {
    int end = i;
    while (end + 1 < count && sorted[end + 1] == sorted[end] + 1)
      end++;
    if (end == i)
      snprintf(item, sizeof item, "%s%lld", i ? " " : "", (long long)sorted[i]);
    else
      snprintf(item, sizeof item, "%s%lld-%lld", i ? " " : "", (long long)sorted[i], (long long)sorted[end]);
    const size_t needed = strlen(item) + (end + 1 < count ? strlen(last) : 0);
    if (i && (used + needed > (size_t)room || used + needed >= bytes)) {
      snprintf(to + used, bytes - used, "%s", last);
      return;
    }
    used += (size_t)snprintf(to + used, bytes - used, "%s", item);
    i = end + 1;
  }
}

void step_lane_list(uint32_t mask, char *to, size_t bytes) {
  int64_t lanes[STEP_LANES];
  int count = 0;
  for (; mask; mask &= mask - 1)
    lanes[count++] = __builtin_ctz(mask);
  step_number_list(lanes, count, 100, to, bytes);
}

uint32_t step_warp_mask(const Record *r, int warp) {
  const int lanes = r->threads - warp * STEP_LANES;
  return lanes >= STEP_LANES ? UINT32_MAX : (UINT32_C(1) << lanes) - 1;
}

void step_lanes_of(const StepVector *v, StepLanes *lanes) {
  *lanes = (StepLanes){.known = v->mask};
  for (uint32_t left = v->mask; left; left &= left - 1)
    lanes->values[__builtin_ctz(left)] = step_value(v, __builtin_ctz(left));
}

// ---- patterns --------------------------------------------------------------------------------------------------------------

static bool all_same(const StepLanes *lanes) {
  const int first = __builtin_ctz(lanes->known);
  for (uint32_t left = lanes->known; left; left &= left - 1)
    if (!step_same(lanes->values[first], lanes->values[__builtin_ctz(left)]))
      return false;
  return true;
}

static bool all_integers(const StepLanes *lanes) {
  for (uint32_t left = lanes->known; left; left &= left - 1) {
    const StepValue *v = &lanes->values[__builtin_ctz(left)];
    if (v->kind != STEP_INTEGER && !(v->kind == STEP_REAL && v->real == floor(v->real) && fabs(v->real) < 1e15))
      return false;
  }
  return true;
}

static int64_t whole(const StepLanes *lanes, int lane) {
  const StepValue *v = &lanes->values[lane];
  return v->kind == STEP_REAL ? (int64_t)v->real : v->integer;
}

// The part of a pattern that depends on the lane: 0 the lane, 1 lane / k, 2 lane % k, 3 lane ^ k.
static int64_t shape(int kind, int k, int lane) {
  return kind == 0 ? lane : kind == 1 ? lane / k : kind == 2 ? lane % k : lane ^ k;
}

// Whether all values are base + factor * shape.
static bool fits(const StepLanes *lanes, int kind, int k, int64_t *base, int64_t *factor) {
  const int first = __builtin_ctz(lanes->known);
  int64_t rise = 0, run = 0;
  for (uint32_t left = lanes->known & (lanes->known - 1); left && !run; left &= left - 1) {
    run = shape(kind, k, __builtin_ctz(left)) - shape(kind, k, first);
    if (__builtin_sub_overflow(whole(lanes, __builtin_ctz(left)), whole(lanes, first), &rise))
      return false;
  }
  if (!run || rise % run || rise == 0)
    return false;
  *factor = rise / run;
  if (__builtin_mul_overflow(*factor, shape(kind, k, first), base) ||
      __builtin_sub_overflow(whole(lanes, first), *base, base) || (kind > 0 && *factor < 0))
    return false;
  for (uint32_t left = lanes->known; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if ((uint64_t)*base + (uint64_t)*factor * (uint64_t)shape(kind, k, lane) != (uint64_t)whole(lanes, lane))
      return false;
  }
  return true;
}

static void write_shape(int kind, int k, int64_t base, int64_t factor, char *to, size_t bytes) {
  char varies[40], scaled[80];
  const bool alone = base == 0 && factor == 1;
  if (kind == 0)
    snprintf(varies, sizeof varies, "lane");
  else
    snprintf(varies, sizeof varies, alone || kind < 3 ? "lane %c %d" : "(lane %c %d)", "/%^"[kind - 1], k);
  if (factor == 1 || (factor == -1 && base))
    snprintf(scaled, sizeof scaled, "%s", varies);
  else if (factor == -1)
    snprintf(scaled, sizeof scaled, "-%s", varies);
  else
    snprintf(scaled, sizeof scaled, kind == 1 || kind == 2 ? "%lld * (%s)" : "%lld * %s",
             (long long)(base && factor < 0 ? -factor : factor), varies);
  if (base < 0 && factor > 0)
    snprintf(to, bytes, "%s - %llu", scaled, 0 - (unsigned long long)base);
  else if (base)
    snprintf(to, bytes, "%lld %c %s", (long long)base, factor < 0 ? '-' : '+', scaled);
  else
    snprintf(to, bytes, "%s", scaled);
}

bool step_expression(const StepLanes *lanes, const char *type, char *to, size_t bytes) {
  int64_t base, factor;
  if (!lanes->known)
    return false;
  if (all_same(lanes)) {
    const StepValue first = lanes->values[__builtin_ctz(lanes->known)];
    if (first.kind == STEP_NONE)
      snprintf(to, bytes, "no value yet");
    else
      step_text(first, type, 0, to, bytes);
    return true;
  }
  if (__builtin_popcount(lanes->known) < 3 || type[0] == 'b' || type[0] == 'c' || !all_integers(lanes))
    return false;
  for (int kind = 0; kind < 4; kind++)
    for (int k = kind == 3 ? 1 : 2; k <= (kind == 3 ? 31 : 16); k = kind == 3 ? k + 1 : 2 * k) {
      if (__builtin_popcount(lanes->known) > (kind ? k : 2) && fits(lanes, kind, k, &base, &factor) &&
          (kind < 3 || factor == 1)) {
        write_shape(kind, k, base, factor, to, bytes);
        return true;
      }
      if (kind == 0)
        break;
    }
  return false;
}

// "1 in lanes 0-15, 0 in 16-31": at most three values.
static bool groups(const StepLanes *lanes, const char *type, char *to, size_t bytes) {
  char value[64], list[128];
  uint32_t left = lanes->known;
  size_t used = 0;
  for (int n = 0; left; n++) {
    const StepValue first = lanes->values[__builtin_ctz(left)];
    uint32_t same = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1)
      if (step_same(first, lanes->values[__builtin_ctz(rest)]))
        same |= rest & -rest;
    left &= ~same;
    step_lane_list(same, list, sizeof list);
    step_text(first, type, 0, value, sizeof value);
    if (first.kind == STEP_NONE)
      snprintf(value, sizeof value, "no value");
    if (n == 3 || strlen(list) > 24 || used + strlen(list) + strlen(value) > 56)
      return false;
    used += (size_t)snprintf(to + used, bytes - used, "%s%s in %s%s", n ? ", " : "", value,
                             n                   ? ""
                             : same & (same - 1) ? "lanes "
                                                 : "lane ",
                             list);
  }
  return true;
}

bool step_pattern(const StepLanes *lanes, uint32_t all, const char *type, char *to, size_t bytes) {
  char list[128];
  if (!lanes->known || !step_expression(lanes, type, to, bytes))
    return lanes->known && groups(lanes, type, to, bytes);
  const size_t used = strlen(to);
  const int count = __builtin_popcount(lanes->known);
  step_lane_list(lanes->known, list, sizeof list);
  if (lanes->known == all)
    snprintf(to + used, bytes - used, "%s", all_same(lanes) ? "  (all)" : "");
  else if (strlen(list) < 24)
    snprintf(to + used, bytes - used, "  (lane%s %s)", count == 1 ? "" : "s", list);
  else
    snprintf(to + used, bytes - used, "  (%d lanes)", count);
  return true;
}

void step_summary(const StepLanes *lanes, uint32_t all, const char *type, char *to, size_t bytes) {
  size_t used = 0;
  char value[64];
  if (step_pattern(lanes, all, type, to, bytes))
    return;
  to[0] = '\0';
  for (int lane = 0; lane < STEP_LANES && used + sizeof value < bytes; lane++)
    if (all >> lane & 1) {
      snprintf(value, sizeof value, "-");
      if (lanes->known >> lane & 1)
        step_text(lanes->values[lane], type, 8, value, sizeof value);
      used += (size_t)snprintf(to + used, bytes - used, "%s%s", lane ? " " : "", value);
    }
}

// ---- names -----------------------------------------------------------------------------------------------------------------

void step_element_name(const Record *r, int array, int64_t word, char *to, size_t bytes) {
  const StepArray *a = &r->arrays[array];
  size_t used = (size_t)snprintf(to, bytes, "%.40s", a->name);
  int64_t inner = 1;
  for (int i = 1; i < 3; i++)
    inner *= a->dims[i] ? a->dims[i] : 1;
  for (int i = 0; i < 3 && (i == 0 || a->dims[i]) && used < bytes; i++) {
    used += (size_t)snprintf(to + used, bytes - used, "[%lld]", (long long)(word / inner));
    word -= word / inner * inner;
    inner /= i < 2 && a->dims[i + 1] ? a->dims[i + 1] : 1;
  }
}

const char *step_type_name(const StepVariable *v) {
  static const char *const names[][2] = {
      {"i8", "signed char"}, {"u8", "unsigned char"}, {"i16", "short"},     {"u16", "unsigned short"},
      {"i32", "int"},        {"u32", "unsigned int"}, {"i64", "long long"}, {"u64", "unsigned long long"},
      {"f16", "half"},       {"f32", "float"},        {"f64", "double"},    {"b8", "bool"},
      {"c8", "char"},        {"p64", "pointer"},      {"x", "struct"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(v->type, names[i][0]) == 0)
      return names[i][1];
  return v->type;
}

// ---- parts of a variable ---------------------------------------------------------------------------------------------------

enum { FEW = 8 };

typedef struct Walk {
  const StepVariable *variable;
  void (*each)(const StepScalar *, void *);
  void *context;
  int left_out;
} Walk;

static void element_of(const StepLanes *of, int i, StepLanes *to) {
  *to = (StepLanes){.known = 0};
  for (uint32_t left = of->known; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const StepValue v = of->values[lane];
    if (v.kind == STEP_NONE || (v.kind == STEP_LIST && i < v.count)) {
      to->values[lane] = v.kind == STEP_NONE ? v : v.list[i];
      to->known |= UINT32_C(1) << lane;
    }
  }
}

static uint32_t differing(const StepLanes *a, const StepLanes *b) {
  uint32_t differs = a->known & ~b->known;
  for (uint32_t left = a->known & b->known; left; left &= left - 1)
    if (!step_same(a->values[__builtin_ctz(left)], b->values[__builtin_ctz(left)]))
      differs |= left & -left;
  return differs;
}

static void name_element(const Walk *w, const char *name, int i, bool outermost, char *to, size_t bytes) {
  const StepVariable *v = w->variable;
  size_t used = (size_t)snprintf(to, bytes, "%.60s", name);
  int inner = 1;
  for (int d = 1; outermost && d < v->dim_count; d++)
    inner *= v->dims[d] ? v->dims[d] : 1;
  for (int d = 0; d < (outermost && v->dim_count > 1 ? v->dim_count : 1) && used < bytes; d++) {
    used += (size_t)snprintf(to + used, bytes - used, "[%d]", i / inner);
    i %= inner;
    inner /= d + 1 < v->dim_count && v->dims[d + 1] ? v->dims[d + 1] : 1;
  }
}

static void walk(Walk *w, const char *name, const char *type, int count, bool outermost, const StepLanes *now,
                 const StepLanes *last) {
  const StepVariable *v = w->variable;
  StepScalar *part = calloc(1, sizeof *part);
  StepLanes *before = calloc(1, sizeof *before);
  int shown = 0, changed = 0;
  if (!part || !before)
    goto done;
  if (count <= 1 && !(type[0] == 'x' && v->member_count)) {
    snprintf(part->name, sizeof part->name, "%s", name);
    part->type = type;
    part->lanes = *now;
    part->lanes.changed = now->changed & differing(now, last);
    w->each(part, w->context);
    goto done;
  }
  const bool members = count <= 1;
  const int parts = members ? v->member_count : count;
  for (int round = 0; round < 2 && (round == 0 || parts <= FEW || !changed); round++)
    for (int i = 0; i < parts; i++) { // of a long array: first those that changed, or else the first
      element_of(now, i, &part->lanes);
      element_of(last, i, before);
      part->lanes.changed = now->changed & differing(&part->lanes, before);
      changed += part->lanes.changed != 0;
      if (!part->lanes.known || shown >= (members ? parts : FEW) ||
          (round == 0 && (parts <= FEW || !part->lanes.changed)))
        continue;
      if (members)
        snprintf(part->name, sizeof part->name, "%.60s.%.30s", name, v->members[i].name);
      else
        name_element(w, name, i, outermost, part->name, sizeof part->name);
      shown++;
      walk(w, part->name, members ? v->members[i].type : type, members ? v->members[i].count : 1, false, &part->lanes,
           before);
    }
  w->left_out += parts - shown;
done:
  free(part);
  free(before);
}

int step_scalars(const StepVariable *v, const StepLanes *now, const StepLanes *last,
                 void (*each)(const StepScalar *, void *), void *context) {
  Walk w = {v, each, context, 0};
  walk(&w, v->name, v->type, v->count, true, now, last);
  return w.left_out;
}
