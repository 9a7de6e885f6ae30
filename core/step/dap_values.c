// SPDX-License-Identifier: MIT
// What the debug adapter shows of a step: warps as threads, calls as frames, variables, accesses and memory.
#include "step/dap.h"
#include "step/format.h"
#include "step/page.h"
#include "step/record_impl.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 1 << 12, LONGEST = 600 };

// ---- warps and calls -------------------------------------------------------------------------------------------------------

void dap_threads(Dap *d, DapRequest *q) {
  text_add(&q->body, "\"threads\": [");
  for (int warp = 0; warp < d->r->warps; warp++) {
    char signs[STEP_LANES + 1];
    step_signs(d->r, d->step, warp, signs);
    text_add(&q->body, "%s{\"id\": %d, \"name\": \"warp %d  %s\"}", warp ? ", " : "", warp + 1, warp, signs);
  }
  text_add(&q->body, "]");
}

bool dap_frame(const Dap *d, int id, int *warp, int *depth) {
  const int frame_warp = (id - 1) / MOST_DEPTH, frame_depth = (id - 1) % MOST_DEPTH;
  const int at = id < 1 || frame_warp >= d->r->warps ? -1 : step_of_warp(d->r, d->step, frame_warp);
  if (at < 0 || frame_depth > d->r->steps[at].call_count)
    return false;
  *warp = frame_warp;
  *depth = frame_depth;
  return true;
}

static void frame(const Dap *d, int warp, int at, int depth, Text *to) {
  const Step *s = &d->r->steps[at];
  const int function = step_frame_function(d->r, at, depth), line = step_frame_line(d->r, at, depth);
  const int statement = depth < s->call_count ? s->calls[depth] : s->statement;
  text_add(to, "{\"id\": %d, \"name\": ", warp * MOST_DEPTH + depth + 1);
  text_json(to, function < 0 ? "(returned)" : d->r->functions[function].name);
  text_add(to, ", \"line\": %d, \"column\": %d", line ? line - d->lines_from_0 : 0,
           line ? (statement < 0 ? 1 : d->r->statements[statement].column + 1) - d->columns_from_0 : 0);
  if (statement >= 0 && d->r->statements[statement].end == line)
    text_add(to, ", \"endLine\": %d, \"endColumn\": %d", line - d->lines_from_0,
             d->r->statements[statement].column + d->r->statements[statement].length + 1 - d->columns_from_0);
  if (function >= 0) {
    text_add(to, ", ");
    dap_source(d, d->r->functions[function].file, to);
  }
  text_add(to, "}");
}

void dap_stack_trace(Dap *d, DapRequest *q) {
  const int warp = dap_number(q->arguments, "threadId", 0) - 1;
  if (warp < 0 || warp >= d->r->warps) {
    snprintf(q->why, sizeof q->why, "there is no such warp");
    return;
  }
  const int at = step_of_warp(d->r, d->step, warp), all = at < 0 ? 0 : d->r->steps[at].call_count + 1;
  const int first = dap_number(q->arguments, "startFrame", 0), levels = dap_number(q->arguments, "levels", 0);
  bool comma = false;
  text_add(&q->body, "\"totalFrames\": %d, \"stackFrames\": [", all);
  for (int i = first < 0 ? 0 : first; i < all && (levels <= 0 || i < first + levels); i++, comma = true) {
    text_add(&q->body, comma ? ", " : "");
    frame(d, warp, at, all - 1 - i, &q->body);
  }
  text_add(&q->body, "]");
}

// ---- scopes ----------------------------------------------------------------------------------------------------------------

static int handle(Dap *d, DapHandle h) {
  d->handles = step_grown(d->handles, d->handle_count, sizeof h);
  d->handles[d->handle_count++] = h;
  return d->handle_count;
}

static void scope(Dap *d, const char *name, bool expensive, DapHandle h, Text *to) {
  text_add(to, "{\"name\": \"%s\", \"expensive\": %s, \"variablesReference\": %d}", name, expensive ? "true" : "false",
           handle(d, h));
}

void dap_scopes(Dap *d, DapRequest *q) {
  int warp, depth;
  if (!dap_frame(d, dap_number(q->arguments, "frameId", 0), &warp, &depth)) {
    snprintf(q->why, sizeof q->why, "this frame is of an earlier stop");
    return;
  }
  text_add(&q->body, "\"scopes\": [");
  scope(d, "Variables", false, (DapHandle){DAP_FRAME, warp, depth, 0, ""}, &q->body);
  text_add(&q->body, ", ");
  scope(d, "Accesses of this step", false, (DapHandle){DAP_ACCESSES, warp, depth, 0, ""}, &q->body);
  text_add(&q->body, ", ");
  scope(d, "Shared memory", true, (DapHandle){DAP_SHARED, warp, depth, 0, ""}, &q->body);
  text_add(&q->body, "]");
}

// ---- variables -------------------------------------------------------------------------------------------------------------

// The variables of a response; a client may want a part of them.
typedef struct List {
  Dap *d;
  Text *to;
  int first, count, at;
  const DapHandle *of;
} List;

static bool wanted(List *l) {
  const int at = l->at++;
  return at >= l->first && (l->count <= 0 || at < l->first + l->count);
}

static void add(List *l, const char *name, const char *value, const char *type, const char *expression, int reference) {
  text_add(l->to, "%s{\"name\": ", l->to->at[l->to->used - 1] == '[' ? "" : ", ");
  text_json(l->to, name);
  text_add(l->to, ", \"value\": ");
  text_json(l->to, value);
  if (type) {
    text_add(l->to, ", \"type\": ");
    text_json(l->to, type);
  }
  if (expression) {
    text_add(l->to, ", \"evaluateName\": ");
    text_json(l->to, expression);
  }
  text_add(l->to, ", \"variablesReference\": %d}", reference);
}

static void add_scalar(const StepScalar *s, void *context) {
  List *l = context;
  char value[LONGEST];
  DapHandle lanes = {DAP_LANES, l->of->warp, l->of->depth, 0, ""};
  const StepVariable type = {.type = s->type};
  if (!wanted(l))
    return;
  snprintf(lanes.name, sizeof lanes.name, "%s", s->name);
  step_summary(&s->lanes, step_warp_mask(l->d->r, l->of->warp), s->type, value, sizeof value);
  add(l, s->name, value, step_type_name(&type), s->name, handle(l->d, lanes));
}

static void list_frame(List *l) {
  const Dap *d = l->d;
  const int at = step_of_warp(d->r, d->step, l->of->warp);
  const int function = at < 0 ? -1 : step_frame_function(d->r, at, l->of->depth);
  for (int i = 0; i < d->r->variable_count && function >= 0; i++) {
    StepLanes now, last;
    if (d->r->variables[i].function != function)
      continue;
    step_variable(d->r, d->step, l->of->warp, l->of->depth, i, &now);
    step_variable(d->r, d->step - 1, l->of->warp, l->of->depth, i, &last);
    if (now.known)
      step_scalars(&d->r->variables[i], &now, &last, add_scalar, l);
  }
}

// The values of an expression in a frame, and its type. False: `why` says what is wrong.
static bool values_of(const Dap *d, int warp, int depth, const StepQuery *q, StepLanes *lanes, StepPlace *place,
                      const char **type, char *why, size_t why_bytes) {
  const int at = step_of_warp(d->r, d->step, warp);
  if (at < 0) {
    snprintf(why, why_bytes, "this warp has not begun");
    return false;
  }
  if (!step_query_place(d->r, at, depth, q, place, why, why_bytes))
    return false;
  step_query_lanes(d->r, at, q, place, lanes);
  *type = step_query_type(d->r, q, place);
  if (place->array >= 0) { // another warp may have written it since
    const StepWord w = step_word(d->r, d->step, place->array, place->word);
    *lanes = (StepLanes){.known = 1, .values = {w.known ? w.value : (StepValue){.kind = STEP_NONE}}};
  }
  return true;
}

static void list_lanes(List *l) {
  char why[200], name[40], value[200], expression[160];
  const char *type;
  StepQuery query;
  StepPlace place;
  StepLanes lanes;
  if (!step_query_read(l->of->name, &query, why, sizeof why) ||
      !values_of(l->d, l->of->warp, l->of->depth, &query, &lanes, &place, &type, why, sizeof why))
    return;
  for (int lane = 0; lane < STEP_LANES; lane++)
    if (lanes.known >> lane & 1 && wanted(l)) {
      snprintf(name, sizeof name, "lane %d", lane);
      snprintf(expression, sizeof expression, "%s@%d", l->of->name, lane);
      step_text(lanes.values[lane], type, 0, value, sizeof value);
      add(l, name, value, NULL, expression, 0);
    }
}

static void list_accesses(List *l) {
  const Record *r = l->d->r;
  const Step *s = &r->steps[l->d->step];
  char value[LONGEST];
  StepLanes lanes;
  if (s->warp != l->of->warp)
    return;
  if (s->meeting && wanted(l)) {
    step_lanes_of(&s->meeting->brings, &lanes);
    step_summary(&lanes, step_warp_mask(r, s->warp), "", value, sizeof value);
    add(l, "brings", value, NULL, NULL, 0);
  }
  if (s->meeting && s->meeting->has_from && wanted(l)) {
    step_lanes_of(&s->meeting->from, &lanes);
    step_summary(&lanes, step_warp_mask(r, s->warp), "", value, sizeof value);
    add(l, "from lane", value, NULL, NULL, 0);
  }
  for (int i = 0; i < s->access_count; i++) {
    const StepAccess *a = &s->accesses[i];
    Text line = {0};
    if (!wanted(l))
      continue;
    page_access_line(r, s, a, LONGEST, &line);
    const char *second = strchr(line.at + 1, ' '); // the kind is the name
    snprintf(value, sizeof value, "%s%s", line.at[0] == '!' ? "! " : "", second + strspn(second, " "));
    add(l,
        a->kind == 'r'   ? "reads"
        : a->kind == 'w' ? "writes"
                         : "atomic",
        value, NULL, NULL, handle(l->d, (DapHandle){DAP_ACCESS, s->warp, l->of->depth, i, ""}));
    text_free(&line);
  }
}

static void list_access(List *l) {
  const Record *r = l->d->r;
  const Step *s = &r->steps[l->d->step];
  if (s->warp != l->of->warp || l->of->item >= s->access_count)
    return;
  const StepAccess *a = &s->accesses[l->of->item];
  char array_type[16];
  const char *type = step_array_type(&r->arrays[a->array], array_type);
  for (uint32_t left = a->offsets.mask; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    char name[40], element[80], number[80], value[200];
    if (!wanted(l))
      continue;
    snprintf(name, sizeof name, "lane %d", lane);
    step_element_name(r, a->array, step_value(&a->offsets, lane).integer / r->arrays[a->array].element, element,
                      sizeof element);
    step_text(step_value(&a->values, lane), type, 0, number, sizeof number);
    snprintf(value, sizeof value, "%s = %s", element, number);
    add(l, name, value, NULL, element, 0);
  }
}

static void list_shared(List *l) {
  const Record *r = l->d->r;
  for (int i = 0; i < r->array_count; i++) {
    char value[80];
    if (!r->arrays[i].shared || !wanted(l))
      continue;
    snprintf(value, sizeof value, "%lld bytes", (long long)r->arrays[i].bytes);
    add(l, r->arrays[i].name, value, NULL, NULL,
        handle(l->d, (DapHandle){DAP_ARRAY, l->of->warp, l->of->depth, i, ""}));
    l->to->used--;
    text_add(l->to, ", \"indexedVariables\": %lld}", (long long)(r->arrays[i].bytes / r->arrays[i].element));
  }
}

static void list_array(List *l) {
  const Record *r = l->d->r;
  const StepArray *a = &r->arrays[l->of->item];
  char array_type[16];
  const char *type = step_array_type(a, array_type);
  for (int64_t word = 0; word < a->bytes / a->element; word++) {
    char name[80], value[80];
    if (!wanted(l))
      continue;
    const StepWord w = step_word(r, l->d->step, l->of->item, word);
    step_element_name(r, l->of->item, word, name, sizeof name);
    step_text(w.known ? w.value : (StepValue){.kind = STEP_NONE}, type, 0, value, sizeof value);
    add(l, strchr(name, '['), value, NULL, name, 0);
  }
}

void dap_variables(Dap *d, DapRequest *q) {
  static void (*const lists[])(List *) = {list_frame, list_lanes, list_accesses, list_access, list_shared, list_array};
  const int reference = dap_number(q->arguments, "variablesReference", 0);
  if (reference < 1 || reference > d->handle_count) {
    snprintf(q->why, sizeof q->why, "this variable is of an earlier stop");
    return;
  }
  const DapHandle of = d->handles[reference - 1]; // the list adds handles
  const char *filter = dap_string(q->arguments, "filter");
  List l = {.d = d,
            .to = &q->body,
            .first = dap_number(q->arguments, "start", 0),
            .count = dap_number(q->arguments, "count", 0),
            .of = &of};
  text_add(&q->body, "\"variables\": [");
  if (!filter || (strcmp(filter, "named") == 0) == (of.kind != DAP_ARRAY))
    lists[of.kind](&l);
  text_add(&q->body, "]");
}

// ---- expressions -----------------------------------------------------------------------------------------------------------

static void answer_word(const Dap *d, const StepPlace *place, const char *value, char *to, size_t bytes) {
  const StepWord w = step_word(d->r, d->step, place->array, place->word);
  if (w.writer >= 0)
    snprintf(to, bytes, "%s (thread %d wrote it in step %d, line %d)", value, w.thread, w.writer,
             step_line(d->r, w.writer));
  else
    snprintf(to, bytes, "%s", w.known ? value : "nothing written yet");
}

void dap_evaluate(Dap *d, DapRequest *q) {
  const char *expression = dap_string(q->arguments, "expression"), *type;
  char value[LONGEST], result[2 * LONGEST], name[96] = "";
  int warp = d->warp, depth;
  StepQuery query;
  StepPlace place;
  StepLanes lanes;
  const int at = step_of_warp(d->r, d->step, warp);
  depth = at < 0 ? 0 : d->r->steps[at].call_count;
  dap_frame(d, dap_number(q->arguments, "frameId", 0), &warp, &depth);
  if (!step_query_read(expression ? expression : "", &query, q->why, sizeof q->why) ||
      !values_of(d, warp, depth, &query, &lanes, &place, &type, q->why, sizeof q->why))
    return;
  const bool one_lane = query.lane >= 0 && place.array < 0;
  if (query.compare[0]) {
    const int here = step_of_warp(d->r, d->step, warp);
    snprintf(result, sizeof result, "%s",
             step_query_holds(d->r, place.array >= 0 ? d->step : here, &query) ? "true" : "false");
  } else if (place.array >= 0) {
    step_text(lanes.values[0], type, 0, value, sizeof value);
    answer_word(d, &place, value, result, sizeof result);
  } else if (one_lane && !(lanes.known >> query.lane & 1)) {
    snprintf(result, sizeof result, "no value in lane %d", query.lane);
  } else if (one_lane) {
    step_text(lanes.values[query.lane], type, 0, result, sizeof result);
  } else {
    step_summary(&lanes, step_warp_mask(d->r, warp), type, result, sizeof result);
    snprintf(name, sizeof name, "%.95s", expression);
  }
  text_add(&q->body, "\"result\": ");
  text_json(&q->body, result);
  text_add(&q->body, ", \"variablesReference\": %d",
           name[0] ? handle(d, (DapHandle){DAP_LANES, warp, depth, 0, ""}) : 0);
  if (name[0])
    memcpy(d->handles[d->handle_count - 1].name, name, sizeof name);
}
