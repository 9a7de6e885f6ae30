// SPDX-License-Identifier: MIT
// Expressions of a variable or an array's element, a lane and a comparison: "x@5 > 3".
#include "step/record.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- reading ---------------------------------------------------------------------------------------------------------------

static const char *blanks(const char *s) {
  return s + strspn(s, " \t");
}

static const char *word(const char *s, char *to, size_t room) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_')
    n++;
  if (n == 0 || n >= room || isdigit((unsigned char)*s))
    return NULL;
  memcpy(to, s, n);
  to[n] = '\0';
  return s + n;
}

static const char *path(const char *s, StepQuery *q) {
  for (; *s == '.' || *s == '['; q->path_count++) {
    char *end;
    if (q->path_count == STEP_PATH)
      return NULL;
    q->path[q->path_count].member[0] = '\0';
    if (*s == '.') {
      s = word(s + 1, q->path[q->path_count].member, sizeof q->path[0].member);
      if (!s)
        return NULL;
      continue;
    }
    q->path[q->path_count].index = strtoll(s + 1, &end, 0);
    if (end == s + 1 || *blanks(end) != ']')
      return NULL;
    s = blanks(end) + 1;
  }
  return s;
}

static const char *comparison(const char *s, StepQuery *q) {
  static const char *const known[] = {"==", "!=", "<=", ">=", "<", ">", "="};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const size_t length = strlen(known[i]);
    if (strncmp(s, known[i], length) != 0)
      continue;
    char *end;
    strcpy(q->compare, i == 6 ? "==" : known[i]);
    s = blanks(s + length);
    q->with = strncmp(s, "true", 4) == 0 ? 1 : strncmp(s, "false", 5) == 0 ? 0 : strtod(s, &end);
    return isalpha((unsigned char)*s) && (*s == 't' || *s == 'f') ? s + (q->with > 0 ? 4 : 5) : end == s ? NULL : end;
  }
  return NULL;
}

bool step_query_read(const char *text, StepQuery *q, char *why, size_t why_bytes) {
  char *end;
  *q = (StepQuery){.lane = -1};
  const char *s = word(blanks(text), q->name, sizeof q->name);
  if (s)
    s = path(s, q);
  if (s && *blanks(s) == '@') {
    const char *digits = blanks(blanks(s) + 1);
    const long lane = strtol(digits, &end, 10);
    if (end == digits || lane < 0 || lane >= STEP_LANES) {
      snprintf(why, why_bytes, "after @ is a lane, 0 to 31: x@5");
      return false;
    }
    q->lane = (int)lane;
    s = end;
  }
  if (s && *blanks(s))
    s = comparison(blanks(s), q);
  if (s && !*blanks(s))
    return true;
  snprintf(why, why_bytes,
           "\"%.40s\" is not understood. Type a variable or an element, and a comparison with a number if "
           "you like: x, x@5 > 3, part[62] == 4",
           text);
  return false;
}

// ---- names -----------------------------------------------------------------------------------------------------------------

static int find_array(const Record *r, const char *name) {
  for (int i = 0; i < r->array_count; i++)
    if (strcmp(r->arrays[i].name, name) == 0)
      return i;
  return -1;
}

static bool has_value(const Record *r, int step, int depth, int variable) {
  StepLanes lanes;
  step_variable(r, step, r->steps[step].warp, depth, variable, &lanes);
  return lanes.known != 0;
}

// Of several variables of this name the last that has a value.
static int find_variable(const Record *r, int step, int depth, const char *name) {
  const int function = r->steps[step].warp < 0 ? -1 : step_frame_function(r, step, depth);
  int found = -1;
  for (int i = 0; function >= 0 && i < r->variable_count; i++)
    if (r->variables[i].function == function && strcmp(r->variables[i].name, name) == 0 &&
        (found < 0 || has_value(r, step, depth, i)))
      found = i;
  return found;
}

static bool is_built_in(const char *name) {
  return strcmp(name, "lane") == 0 || strcmp(name, "warp") == 0 || strcmp(name, "thread") == 0;
}

// part[3][5]: the element's number. False: as many indices as the array has not.
static bool linear(const StepArray *a, const StepQuery *q, int64_t *element) {
  int dims = 0;
  while (dims < 3 && a->dims[dims])
    dims++;
  *element = 0;
  for (int i = 0; i < q->path_count; i++) {
    if (q->path[i].member[0])
      return false;
    *element = *element * (i && i < dims ? a->dims[i] : 1) + q->path[i].index;
  }
  return q->path_count == 1 || (q->path_count > 0 && q->path_count == dims);
}

bool step_query_place(const Record *r, int step, int depth, const StepQuery *q, StepPlace *place, char *why,
                      size_t why_bytes) {
  *place = (StepPlace){.variable = find_variable(r, step, depth, q->name), .depth = depth, .array = -1};
  const int array = find_array(r, q->name);
  const bool pointer = place->variable >= 0 && r->variables[place->variable].type[0] == 'p';
  if (place->variable >= 0 && !(pointer && q->path_count))
    return true;
  if (array >= 0 && linear(&r->arrays[array], q, &place->word)) {
    place->variable = -1;
    place->array = array;
    return true;
  }
  if (place->variable < 0 && array < 0 && is_built_in(q->name))
    return true;
  if (array >= 0)
    snprintf(why, why_bytes, "%s is an array: name an element, such as %s[3]", q->name, q->name);
  else
    snprintf(why, why_bytes, "there is no variable %s in this function, and no array of this name", q->name);
  return false;
}

// ---- values ----------------------------------------------------------------------------------------------------------------

static StepValue followed(const StepVariable *v, StepValue value, const StepQuery *q) {
  const StepValue none = {.kind = STEP_NONE};
  int dim = 0;
  for (int i = 0; i < q->path_count; i++) {
    int64_t index = q->path[i].index;
    if (q->path[i].member[0]) {
      for (index = 0; index < v->member_count && strcmp(v->members[index].name, q->path[i].member) != 0;)
        index++;
    } else if (v->dim_count > 1 && dim < v->dim_count) { // a[1][2] is one element of the list
      while (++dim < v->dim_count && i + 1 < q->path_count && !q->path[i + 1].member[0])
        index = index * v->dims[dim] + q->path[++i].index;
    }
    if (value.kind != STEP_LIST || index < 0 || index >= value.count)
      return none;
    value = value.list[index];
  }
  return value;
}

void step_query_lanes(const Record *r, int step, const StepQuery *q, const StepPlace *place, StepLanes *lanes) {
  const Step *s = &r->steps[step];
  if (place->variable >= 0) {
    step_variable(r, step, s->warp, place->depth, place->variable, lanes);
    for (uint32_t left = lanes->known; left; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      lanes->values[lane] = followed(&r->variables[place->variable], lanes->values[lane], q);
    }
    return;
  }
  *lanes = (StepLanes){0};
  const StepWord w = place->array >= 0 ? step_word(r, step, place->array, place->word) : (StepWord){.known = true};
  lanes->known = w.known ? s->mask : 0;
  lanes->changed = w.known && w.writer == step ? s->mask : 0;
  for (int lane = 0; lane < STEP_LANES; lane++) {
    lanes->since[lane] = w.writer;
    lanes->values[lane] = w.value;
    if (place->array < 0)
      lanes->values[lane] =
          (StepValue){.kind = STEP_INTEGER,
                      .integer = q->name[0] == 'w'   ? s->warp
                                 : q->name[0] == 'l' ? lane
                                                     : (s->warp < 0 ? 0 : s->warp) * STEP_LANES + lane};
  }
}

const char *step_query_type(const Record *r, const StepQuery *q, const StepPlace *place) {
  static char array_type[16];
  if (place->array >= 0)
    return step_array_type(&r->arrays[place->array], array_type);
  if (place->variable < 0)
    return "i32";
  const StepVariable *v = &r->variables[place->variable];
  for (int i = q->path_count - 1; i >= 0; i--)
    for (int m = 0; q->path[i].member[0] && m < v->member_count; m++)
      if (strcmp(v->members[m].name, q->path[i].member) == 0)
        return v->members[m].type;
  return v->type;
}

static bool compares(StepValue value, const StepQuery *q) {
  const double x = step_number(value);
  if (isnan(x))
    return strcmp(q->compare, "!=") == 0 && value.kind != STEP_NONE;
  return q->compare[0] == '<'   ? (q->compare[1] ? x <= q->with : x < q->with)
         : q->compare[0] == '>' ? (q->compare[1] ? x >= q->with : x > q->with)
         : q->compare[0] == '!' ? x != q->with
                                : x == q->with;
}

// Lanes in which it holds behind the step.
static uint32_t holding(const Record *r, int step, const StepQuery *q, uint32_t *changed) {
  StepPlace place;
  StepLanes lanes;
  char why[8];
  *changed = 0;
  if (r->steps[step].warp < 0 || !step_query_place(r, step, r->steps[step].call_count, q, &place, why, sizeof why))
    return 0;
  step_query_lanes(r, step, q, &place, &lanes);
  const uint32_t wanted = q->lane >= 0 ? UINT32_C(1) << q->lane : UINT32_MAX;
  uint32_t holds = lanes.known & wanted;
  for (uint32_t left = q->compare[0] ? holds : 0; left; left &= left - 1)
    if (!compares(lanes.values[__builtin_ctz(left)], q))
      holds &= ~(left & -left);
  *changed = lanes.changed & holds;
  return holds;
}

bool step_query_holds(const Record *r, int step, const StepQuery *q) {
  uint32_t changed;
  const uint32_t holds = holding(r, step, q, &changed);
  return (q->compare[0] ? holds & r->steps[step].mask : changed) != 0;
}

int step_next_query(const Record *r, int step, const StepQuery *q, int direction) {
  for (int i = step + direction; i >= 0 && i < r->step_count; i += direction) {
    uint32_t changed;
    if ((r->steps[i].change_count || r->steps[i].access_count) && (holding(r, i, q, &changed), changed))
      return i;
  }
  return -1;
}
