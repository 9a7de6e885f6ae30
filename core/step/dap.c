// SPDX-License-Identifier: MIT
// A debug adapter: messages of the Debug Adapter Protocol on stdin and stdout, https://microsoft.github.io/debug-adapter-protocol.
// No program runs while a client steps: the record has been made at the launch request. Threads of the protocol are warps.
#include "step/dap.h"
#include "tool/print/usage.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_BYTES = 64 << 20, MOST_HEADER = 1000, MOST_ARGUMENTS = 256 };

// ---- arguments -------------------------------------------------------------------------------------------------------------

const char *dap_string(const Json *object, const char *key) {
  const Json *value = json_get(object, key, JSON_STRING);
  return value ? value->string : NULL;
}

int dap_number(const Json *object, const char *key, int otherwise) {
  const Json *value = json_get(object, key, JSON_NUMBER);
  return value && value->number >= INT_MIN && value->number <= INT_MAX ? (int)value->number : otherwise;
}

bool dap_truth(const Json *object, const char *key, bool otherwise) {
  const Json *value = json_get(object, key, JSON_BOOL);
  return value ? value->truth : otherwise;
}

// ---- messages --------------------------------------------------------------------------------------------------------------

// Reads the next message. NULL: there is none, or what there is is no message.
static Json *receive(void) {
  char line[MOST_HEADER], why[200];
  size_t bytes = 0;
  while (fgets(line, sizeof line, stdin) && line[0] != '\r' && line[0] != '\n')
    if (strncasecmp(line, "content-length:", 15) == 0)
      bytes = strtoul(line + 15, NULL, 10);
  if (bytes == 0 || bytes > MOST_BYTES)
    return NULL;
  char *text = malloc(bytes);
  Json *message = NULL;
  if (text && fread(text, 1, bytes, stdin) == bytes)
    message = json_read(text, bytes, why, sizeof why);
  free(text);
  return message;
}

static void send_message(Dap *d, const char *format, const char *begin, const char *body) {
  Text message = {0};
  text_add(&message, "{\"seq\": %d, %s", ++d->sequence, begin);
  text_add(&message, format, body);
  printf("Content-Length: %zu\r\n\r\n%s", message.used, message.at);
  fflush(stdout);
  text_free(&message);
}

void dap_event(Dap *d, const char *event, const char *body) {
  char begin[100];
  snprintf(begin, sizeof begin, "\"type\": \"event\", \"event\": \"%s\"", event);
  send_message(d, ", \"body\": {%s}}", begin, body);
}

void dap_output(Dap *d, const char *category, const char *text) {
  Text body = {0};
  text_add(&body, "\"category\": \"%s\", \"output\": ", category);
  text_json(&body, text);
  dap_event(d, "output", body.at);
  text_free(&body);
}

static void respond(Dap *d, const Json *message, const char *command, const DapRequest *q) {
  Text begin = {0};
  text_add(&begin,
           "\"type\": \"response\", \"request_seq\": %d, \"success\": %s, \"command\": ", dap_number(message, "seq", 0),
           q->why[0] ? "false" : "true");
  text_json(&begin, command);
  if (q->why[0]) {
    text_add(&begin, ", \"message\": ");
    text_json(&begin, q->why);
  }
  send_message(d, ", \"body\": {%s}}", begin.at, q->why[0] || !q->body.at ? "" : q->body.at);
  text_free(&begin);
}

// ---- sources ---------------------------------------------------------------------------------------------------------------

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Where a file of the record is: the program itself, or what its name leads to. NULL: it is not there. To be freed.
static char *path_of(const Dap *d, int file) {
  const char *name = d->r->files[file].name;
  if (d->program && strcmp(last_part(d->program), last_part(name)) == 0)
    return realpath(d->program, NULL);
  return realpath(name, NULL);
}

void dap_source(const Dap *d, int file, Text *to) {
  char *path = path_of(d, file);
  text_add(to, "\"source\": {\"name\": ");
  text_json(to, last_part(d->r->files[file].name));
  if (path) {
    text_add(to, ", \"path\": ");
    text_json(to, path);
  } else {
    text_add(to, ", \"sourceReference\": %d", file + 1);
  }
  text_add(to, "}");
  free(path);
}

int dap_file(const Dap *d, const Json *source) {
  const char *path = dap_string(source, "path"), *name = path ? path : dap_string(source, "name");
  const int reference = dap_number(source, "sourceReference", 0);
  int found = -1;
  if (reference > 0)
    return reference <= d->r->file_count ? reference - 1 : -1;
  for (int i = 0; name && i < d->r->file_count; i++) {
    char *known = path_of(d, i);
    const bool same = known && strcmp(known, name) == 0;
    free(known);
    if (same)
      return i;
    if (strcmp(last_part(d->r->files[i].name), last_part(name)) == 0)
      found = i;
  }
  return found;
}

static void source(Dap *d, DapRequest *q) {
  int file = dap_number(q->arguments, "sourceReference", 0) - 1;
  if (file < 0)
    file = dap_file(d, json_get(q->arguments, "source", JSON_OBJECT));
  if (file < 0 || file >= d->r->file_count) {
    snprintf(q->why, sizeof q->why, "the record has no such source");
    return;
  }
  Text text = {0};
  text_add(&text, "%s", "");
  for (int i = 0; i < d->r->files[file].line_count; i++)
    text_add(&text, "%s\n", d->r->files[file].lines[i]);
  text_add(&q->body, "\"content\": ");
  text_json(&q->body, text.at);
  text_free(&text);
}

// ---- begin and end ---------------------------------------------------------------------------------------------------------

static void initialized(Dap *d) {
  dap_event(d, "initialized", "");
}

static void initialize(Dap *d, DapRequest *q) {
  d->lines_from_0 = !dap_truth(q->arguments, "linesStartAt1", true);
  d->columns_from_0 = !dap_truth(q->arguments, "columnsStartAt1", true);
  text_add(&q->body,
           "\"supportsConfigurationDoneRequest\": true, \"supportsStepBack\": true, "
           "\"supportsConditionalBreakpoints\": true, \"supportsDataBreakpoints\": true, "
           "\"supportsExceptionInfoRequest\": true, \"supportsEvaluateForHovers\": true, "
           "\"supportsTerminateRequest\": true, \"supportsDelayedStackTraceLoading\": true, "
           "\"exceptionBreakpointFilters\": [{\"filter\": \"findings\", \"label\": \"Findings of the inspector\", "
           "\"description\": \"Data races, accesses out of bounds and the like\", \"default\": true}]");
}

// The record that the client names, or a new one.
static bool make_record(Dap *d, const StepLaunch *launch, const char *path, char *why, size_t why_bytes) {
  char made[PATH_MAX] = "", *said = NULL;
  size_t bytes = 0;
  if (!path) {
    FILE *to = open_memstream(&said, &bytes);
    const bool good = to && d->recorder && d->recorder(launch, made, sizeof made, to);
    if (to)
      fclose(to);
    if (said && *said)
      dap_output(d, good ? "console" : "stderr", said);
    free(said);
    path = made;
    if (!good) {
      snprintf(why, why_bytes, "there is no record of %.200s: the debug console says why", launch->program);
      return false;
    }
  }
  d->r = step_record_load(path, why, why_bytes);
  return d->r != NULL;
}

static void launch(Dap *d, DapRequest *q) {
  const char *arguments[MOST_ARGUMENTS], *record = dap_string(q->arguments, "record");
  const char *at = dap_string(q->arguments, "at");
  const Json *given = json_get(q->arguments, "args", JSON_ARRAY);
  StepLaunch l = {.program = dap_string(q->arguments, "program"),
                  .kernel = dap_string(q->arguments, "kernel"),
                  .block = dap_string(q->arguments, "block"),
                  .launch = dap_number(q->arguments, "launch", -1),
                  .arguments = arguments};
  for (const Json *one = given ? given->first : NULL; one && l.argument_count < MOST_ARGUMENTS; one = one->next)
    if (one->kind == JSON_STRING)
      arguments[l.argument_count++] = one->string;
  if (d->r)
    snprintf(q->why, sizeof q->why, "something has been launched already");
  else if (!l.program && !record)
    snprintf(q->why, sizeof q->why, "\"program\" is missing: the CUDA file whose kernel is to be recorded");
  if (q->why[0] || !make_record(d, &l, record, q->why, sizeof q->why))
    return;
  d->program = l.program ? strdup(l.program) : NULL;
  d->at = at ? strdup(at) : NULL;
  d->stops_at_entry = dap_truth(q->arguments, "stopOnEntry", true);
  q->after = initialized;
}

static void configuration_done(Dap *d, DapRequest *q) {
  if (d->configured)
    return;
  d->configured = true;
  q->after = dap_begin;
}

static void terminated(Dap *d) {
  dap_event(d, "terminated", "");
}

static void terminate(Dap *d, DapRequest *q) {
  (void)d;
  q->after = terminated;
}

static void disconnect(Dap *d, DapRequest *q) {
  (void)q;
  d->ends = true;
}

// ---- requests --------------------------------------------------------------------------------------------------------------

static const struct {
  const char *command;
  void (*answer)(Dap *d, DapRequest *q);
  bool needs_record;
} requests[] = {
    {"initialize", initialize, false},
    {"launch", launch, false},
    {"setBreakpoints", dap_set_breakpoints, true},
    {"setExceptionBreakpoints", dap_set_exception_breakpoints, false},
    {"dataBreakpointInfo", dap_data_breakpoint_info, true},
    {"setDataBreakpoints", dap_set_data_breakpoints, true},
    {"exceptionInfo", dap_exception_info, true},
    {"configurationDone", configuration_done, true},
    {"threads", dap_threads, true},
    {"stackTrace", dap_stack_trace, true},
    {"scopes", dap_scopes, true},
    {"variables", dap_variables, true},
    {"evaluate", dap_evaluate, true},
    {"source", source, true},
    {"next", dap_next, true},
    {"stepIn", dap_step_in, true},
    {"stepOut", dap_step_out, true},
    {"stepBack", dap_step_back, true},
    {"continue", dap_continue, true},
    {"reverseContinue", dap_reverse_continue, true},
    {"pause", dap_pause, true},
    {"terminate", terminate, false},
    {"disconnect", disconnect, false},
};

static void answer(Dap *d, const Json *message) {
  const char *command = dap_string(message, "command");
  DapRequest q = {.arguments = json_get(message, "arguments", JSON_OBJECT)};
  size_t i = 0, count = sizeof requests / sizeof *requests;
  while (i < count && command && strcmp(requests[i].command, command) != 0)
    i++;
  if (!command)
    return;
  if (i == count)
    snprintf(q.why, sizeof q.why, "this adapter does not know the request \"%.60s\"", command);
  else if (requests[i].needs_record && !d->r)
    snprintf(q.why, sizeof q.why, "nothing has been launched yet");
  else
    requests[i].answer(d, &q);
  respond(d, message, command, &q);
  if (q.after && !q.why[0])
    q.after(d);
  text_free(&q.body);
}

int step_dap(StepRecorder *recorder) {
  Dap d = {.recorder = recorder, .stops_at_findings = true};
  Json *message;
  while (!d.ends && (message = receive())) {
    answer(&d, message);
    json_free(message);
  }
  step_record_free(d.r);
  free(d.program);
  free(d.at);
  free(d.breakpoints);
  free(d.data);
  free(d.handles);
  return EXIT_PASS;
}
