// SPDX-License-Identifier: MIT
// Moves of the debug adapter, and what stops them: breakpoints, data breakpoints, findings.
#include "step/dap.h"
#include "step/record_impl.h"
#include <stdlib.h>
#include <string.h>

// ---- breakpoints -----------------------------------------------------------------------------------------------------------

// The first line from this one on at which a step can be; 0: none.
static int line_with_statement(const Record *r, int file, int line) {
  int found = 0;
  for (int i = 0; i < r->statement_count; i++) {
    const StepStatement *s = &r->statements[i];
    if (r->functions[s->function].file == file && s->line >= line && (!found || s->line < found))
      found = s->line;
  }
  return found;
}

static void show_breakpoint(const Dap *d, const DapBreakpoint *b, const char *why, Text *to) {
  text_add(to, "{\"id\": %d, \"verified\": %s, \"line\": %d", b->id, b->verified ? "true" : "false",
           b->line - d->lines_from_0);
  if (!b->verified) {
    text_add(to, ", \"message\": ");
    text_json(to, why);
  } else {
    text_add(to, ", ");
    dap_source(d, b->file, to);
  }
  text_add(to, "}");
}

static DapBreakpoint read_breakpoint(Dap *d, int file, const Json *given, char *why, size_t why_bytes) {
  const int line = dap_number(given, "line", 0) + d->lines_from_0;
  const char *condition = dap_string(given, "condition");
  DapBreakpoint b = {.id = ++d->ids, .file = file, .line = line};
  if (file < 0) {
    snprintf(why, why_bytes, "the record has nothing of this file");
    return b;
  }
  const int possible = line_with_statement(d->r, file, line);
  b.has_condition = condition && *condition;
  if (!possible)
    snprintf(why, why_bytes, "no statement of a kernel is at this line or below it");
  else if (!b.has_condition || step_query_read(condition, &b.condition, why, why_bytes)) {
    b.verified = true;
    b.line = possible;
  }
  return b;
}

void dap_set_breakpoints(Dap *d, DapRequest *q) {
  const int file = dap_file(d, json_get(q->arguments, "source", JSON_OBJECT));
  const Json *given = json_get(q->arguments, "breakpoints", JSON_ARRAY);
  int kept = 0;
  for (int i = 0; i < d->breakpoint_count; i++)
    if (d->breakpoints[i].file != file)
      d->breakpoints[kept++] = d->breakpoints[i];
  d->breakpoint_count = kept;
  text_add(&q->body, "\"breakpoints\": [");
  for (const Json *one = given ? given->first : NULL; one; one = one->next) {
    char why[300] = "";
    const DapBreakpoint b = read_breakpoint(d, file, one, why, sizeof why);
    if (b.verified) {
      d->breakpoints = step_resize(d->breakpoints, (size_t)(d->breakpoint_count + 1) * sizeof b);
      d->breakpoints[d->breakpoint_count++] = b;
    }
    text_add(&q->body, one == given->first ? "" : ", ");
    show_breakpoint(d, &b, why, &q->body);
  }
  text_add(&q->body, "]");
}

void dap_set_exception_breakpoints(Dap *d, DapRequest *q) {
  const Json *filters = json_get(q->arguments, "filters", JSON_ARRAY);
  d->stops_at_findings = false;
  for (const Json *one = filters ? filters->first : NULL; one; one = one->next)
    d->stops_at_findings |= one->kind == JSON_STRING && strcmp(one->string, "findings") == 0;
}

// ---- data breakpoints ------------------------------------------------------------------------------------------------------

// What the client means: an expression, a part of a variable, or a lane or element in it.
static void name_data(const Dap *d, const Json *arguments, char *to, size_t bytes) {
  const char *name = dap_string(arguments, "name");
  const int reference = dap_number(arguments, "variablesReference", 0);
  const DapHandle *h = reference > 0 && reference <= d->handle_count ? &d->handles[reference - 1] : NULL;
  int lane;
  name = name ? name : "";
  if (h && h->kind == DAP_LANES && sscanf(name, "lane %d", &lane) == 1)
    snprintf(to, bytes, "%s@%d", h->name, lane);
  else if (h && h->kind == DAP_ARRAY)
    snprintf(to, bytes, "%.60s%.40s", d->r->arrays[h->item].name, name);
  else
    snprintf(to, bytes, "%.120s", name);
}

void dap_data_breakpoint_info(Dap *d, DapRequest *q) {
  char name[200], why[300] = "";
  int warp = d->warp, depth = 0;
  StepQuery query;
  StepPlace place;
  name_data(d, q->arguments, name, sizeof name);
  int at = step_of_warp(d->r, d->step, warp);
  depth = at < 0 ? 0 : d->r->steps[at].call_count;
  if (dap_frame(d, dap_number(q->arguments, "frameId", 0), &warp, &depth))
    at = step_of_warp(d->r, d->step, warp);
  const bool good = at >= 0 && step_query_read(name, &query, why, sizeof why) &&
                    step_query_place(d->r, at, depth, &query, &place, why, sizeof why) &&
                    (place.variable >= 0 || place.array >= 0);
  text_add(&q->body, "\"dataId\": ");
  if (good)
    text_json(&q->body, name);
  else
    text_add(&q->body, "null");
  text_add(&q->body, ", \"accessTypes\": [\"write\"], \"canPersist\": false, \"description\": ");
  text_json(&q->body, good ? name : why[0] ? why : "nothing can be written there");
}

void dap_set_data_breakpoints(Dap *d, DapRequest *q) {
  const Json *given = json_get(q->arguments, "breakpoints", JSON_ARRAY);
  d->data_count = 0;
  text_add(&q->body, "\"breakpoints\": [");
  for (const Json *one = given ? given->first : NULL; one; one = one->next) {
    const char *id = dap_string(one, "dataId"), *condition = dap_string(one, "condition");
    char why[300] = "a dataId is missing";
    DapDataBreakpoint b = {.id = ++d->ids, .has_condition = condition && *condition};
    const bool good = id && step_query_read(id, &b.data, why, sizeof why) &&
                      (!b.has_condition || step_query_read(condition, &b.condition, why, sizeof why));
    if (good) {
      d->data = step_resize(d->data, (size_t)(d->data_count + 1) * sizeof b);
      d->data[d->data_count++] = b;
    }
    text_add(&q->body, "%s{\"id\": %d, \"verified\": %s", one == given->first ? "" : ", ", b.id,
             good ? "true" : "false");
    if (!good) {
      text_add(&q->body, ", \"message\": ");
      text_json(&q->body, why);
    }
    text_add(&q->body, "}");
  }
  text_add(&q->body, "]");
}

// ---- stops -----------------------------------------------------------------------------------------------------------------

static int file_at(const Record *r, int step) {
  const int function = step_frame_function(r, step, r->steps[step].call_count);
  return function < 0 ? -1 : r->functions[function].file;
}

// Why a move stops at a step; NULL: it does not. `id`: the breakpoint, or 0.
static const char *stop_at(const Dap *d, int step, int *id) {
  const Step *s = &d->r->steps[step];
  *id = 0;
  if (d->stops_at_findings && s->finding_count)
    return "exception";
  for (int i = 0; i < d->data_count && s->warp >= 0; i++) {
    const DapDataBreakpoint *b = &d->data[i];
    if ((s->change_count || s->access_count) && step_query_holds(d->r, step, &b->data) &&
        (!b->has_condition || step_query_holds(d->r, step, &b->condition))) {
      *id = b->id;
      return "data breakpoint";
    }
  }
  for (int i = 0; i < d->breakpoint_count && s->warp >= 0 && s->statement >= 0; i++) {
    const DapBreakpoint *b = &d->breakpoints[i];
    if (b->line == step_line(d->r, step) && b->file == file_at(d->r, step) &&
        (!b->has_condition || step_query_holds(d->r, step, &b->condition))) {
      *id = b->id;
      return "breakpoint";
    }
  }
  return NULL;
}

static const StepFinding *finding_here(const Dap *d) {
  const Step *s = &d->r->steps[d->step];
  return s->finding_count ? &d->r->findings[s->findings[0]] : NULL;
}

static void stopped(Dap *d, const char *reason, int id, const char *description) {
  const StepFinding *f = strcmp(reason, "exception") == 0 ? finding_here(d) : NULL;
  Text body = {0};
  text_add(&body, "\"reason\": \"%s\", \"threadId\": %d, \"allThreadsStopped\": true", reason, d->warp + 1);
  if (id)
    text_add(&body, ", \"hitBreakpointIds\": [%d]", id);
  if (f || description) {
    text_add(&body, ", \"description\": ");
    text_json(&body, f ? f->title : description);
  }
  if (f) {
    text_add(&body, ", \"text\": ");
    text_json(&body, f->text);
  }
  dap_event(d, "stopped", body.at);
  text_free(&body);
}

static void arrive(Dap *d, int step, const char *reason, int id, const char *description) {
  d->step = step;
  d->handle_count = 0;
  if (d->r->steps[step].warp >= 0)
    d->warp = d->r->steps[step].warp;
  stopped(d, reason, id, description);
}

// To the step `target`, or as far as nothing stops before (-1: to the end).
static void move_to(Dap *d, int target, int direction) {
  char end[80];
  for (int i = d->step + direction; i >= 0 && i < d->r->step_count; i += direction) {
    int id;
    const char *reason = stop_at(d, i, &id);
    if (reason || i == target) {
      arrive(d, i, reason ? reason : "step", id, NULL);
      return;
    }
  }
  snprintf(end, sizeof end, direction > 0 ? "the record ends (%.40s)" : "the record begins", d->r->end);
  arrive(d, direction > 0 ? d->r->step_count - 1 : 0, direction > 0 ? "pause" : "entry", 0, end);
}

void dap_begin(Dap *d) {
  const int at = d->at ? step_find(d->r, d->at) : 0;
  if (at < 0)
    dap_output(d, "important", "\"at\" names no step of the record; this is the first one\n");
  if (d->stops_at_entry || (d->at && at >= 0))
    arrive(d, at < 0 ? 0 : at, "entry", 0, NULL);
  else
    move_to(d, -1, 1);
}

void dap_exception_info(Dap *d, DapRequest *q) {
  const StepFinding *f = finding_here(d);
  if (!f) {
    snprintf(q->why, sizeof q->why, "this step has no finding");
    return;
  }
  text_add(&q->body, "\"exceptionId\": ");
  text_json(&q->body, f->kind);
  text_add(&q->body, ", \"description\": ");
  text_json(&q->body, f->text);
  text_add(&q->body, ", \"breakMode\": \"always\"");
  if (f->other_step >= 0) {
    char other[200];
    snprintf(other, sizeof other, "The other side is step %d, thread %d, line %d.", f->other_step, f->other,
             step_line(d->r, f->other_step));
    text_add(&q->body, ", \"details\": {\"message\": ");
    text_json(&q->body, other);
    text_add(&q->body, "}");
  }
}

// ---- moves -----------------------------------------------------------------------------------------------------------------

static void go(Dap *d) {
  move_to(d, d->target, d->direction);
}

static void move_after(Dap *d, DapRequest *q, int target, int direction) {
  d->target = target;
  d->direction = direction;
  q->after = go;
}

// Of the warp of the request, from where it is. Forwards, a warp that has not begun goes to its first step.
static void move_warp(Dap *d, DapRequest *q, StepGoal goal, int direction) {
  const int warp = dap_number(q->arguments, "threadId", d->warp + 1) - 1;
  d->warp = warp >= 0 && warp < d->r->warps ? warp : d->warp;
  const int at = step_of_warp(d->r, d->step, d->warp);
  int target = at >= 0 ? step_next(d->r, at, goal, direction) : -1;
  for (int i = d->step; at < 0 && direction > 0 && i < d->r->step_count && target < 0; i++)
    target = d->r->steps[i].warp == d->warp ? i : -1;
  move_after(d, q, target, direction);
}

void dap_next(Dap *d, DapRequest *q) {
  move_warp(d, q, STEP_OVER, 1);
}

void dap_step_in(Dap *d, DapRequest *q) {
  move_warp(d, q, STEP_SAME_WARP, 1);
}

void dap_step_out(Dap *d, DapRequest *q) {
  move_warp(d, q, STEP_OUT, 1);
}

void dap_step_back(Dap *d, DapRequest *q) {
  move_warp(d, q, STEP_OVER, -1);
}

void dap_continue(Dap *d, DapRequest *q) {
  text_add(&q->body, "\"allThreadsContinued\": true");
  move_after(d, q, -1, 1);
}

void dap_reverse_continue(Dap *d, DapRequest *q) {
  move_after(d, q, -1, -1);
}

static void pause_here(Dap *d) {
  stopped(d, "pause", 0, NULL);
}

void dap_pause(Dap *d, DapRequest *q) {
  (void)d;
  q->after = pause_here;
}
