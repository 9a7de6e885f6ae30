// SPDX-License-Identifier: MIT
// The exercises, and how far the learner is. ./ferry knows; it is asked each time, which takes some milliseconds.
#include "live/live.h"
#include "tool/compile/config.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_EXERCISES = 256 };

typedef struct Known {
  char id[64], number[16], file[PATH_MAX];
  bool failing; // the last check by a job here
} Known;

static Known *known;
static int known_count;

const char *course_ferry(void) {
  return rooted(CONFIG_OBJECTS "/ferry");
}

// ---- at the beginning --------------------------------------------------------------------------------------------------------------

static char *output_of(const char *command, const char *option, size_t *bytes) {
  int ends[2];
  char *text = NULL;
  if (pipe(ends) != 0)
    return NULL;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(course_ferry(), "ferry", command, option, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t used = 0, room = 0;
  for (ssize_t n = pid > 0; n > 0; used += n > 0 ? (size_t)n : 0) {
    if (used == room) {
      room = 2 * room + 65536;
      char *grown = realloc(text, room + 1);
      if (!grown)
        break;
      text = grown;
    }
    n = read(ends[0], text + used, room - used);
    if (n < 0 && errno == EINTR)
      n = 0;
  }
  close(ends[0]);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  *bytes = used;
  return text;
}

static void know(const Json *exercise) {
  const Json *id = json_get(exercise, "id", JSON_STRING), *number = json_get(exercise, "number", JSON_STRING),
             *file = json_get(exercise, "path", JSON_STRING);
  if (!id || !number || !file || known_count == MAX_EXERCISES)
    return;
  Known *k = &known[known_count++];
  snprintf(k->id, sizeof k->id, "%s", id->string);
  snprintf(k->number, sizeof k->number, "%s", number->string);
  snprintf(k->file, sizeof k->file, "%s", file->string);
}

bool course_begin(void) {
  char why[200] = "it could not be started";
  size_t bytes = 0;
  char *text = output_of("list", "--json", &bytes);
  Json *all = text ? json_read(text, bytes, why, sizeof why) : NULL;
  const Json *exercises = json_get(all, "exercises", JSON_ARRAY);
  known = calloc(MAX_EXERCISES, sizeof *known);
  for (const Json *e = exercises && known ? exercises->first : NULL; e; e = e->next)
    know(e);
  json_free(all);
  free(text);
  if (known_count == 0)
    fprintf(stderr, "ferry book --live: %s list --json failed: %s. Run make again.\n", course_ferry(), why);
  return known_count > 0;
}

static Known *find(const char *exercise) {
  for (int i = 0; exercise && i < known_count; i++)
    if (strcmp(known[i].id, exercise) == 0 || strcmp(known[i].number, exercise) == 0)
      return &known[i];
  return NULL;
}

const char *course_file(const char *exercise) {
  const Known *k = find(exercise);
  return k ? k->file : NULL;
}

void course_checked(const char *exercise, bool passed) {
  Known *k = find(exercise);
  if (k && k->failing == passed) {
    k->failing = !passed;
    events_state();
  }
}

// ---- what ./ferry says, awaited ----------------------------------------------------------------------------------------------------------

typedef struct Question {
  Request *request;
  Text said, complained;
  const Known *started; // ./ferry start was run for this exercise; NULL: for the state
} Question;

static void take(Text *text, const char *bytes, size_t count) {
  text_add(text, "%.*s", (int)count, bytes);
}

static void take_result(void *owner, const char *bytes, size_t count) {
  take(&((Question *)owner)->said, bytes, count);
}

static void take_complaint(void *owner, const char *bytes, size_t count) {
  Question *q = owner;
  if (q->complained.used < 400)
    take(&q->complained, bytes, count);
}

// Each exercise begins with its id and state. Of what has not passed, ./ferry does not know whether it was checked.
static void add_state(Text *json, const char *said) {
  static const char between[] = "\", \"state\": \"", begin[] = "{\"id\": \"";
  for (const char *at; (at = strstr(said, begin));) {
    const char *id = at + sizeof begin - 1, *end = strchr(id, '"');
    char name[64];
    snprintf(name, sizeof name, "%.*s", end ? (int)(end - id) : 0, id);
    const Known *k = find(name);
    const char *state =
        k && k->failing && strncmp(end, between, sizeof between - 1) == 0 ? end + sizeof between - 1 : NULL;
    const bool failing = state && strncmp(state, "passed", 6) != 0;
    const char *upto = failing ? state : id;
    text_add(json, "%.*s%s", (int)(upto - said), said, failing ? "failing" : "");
    said = failing ? strchr(state, '"') : upto;
  }
  text_add(json, "%s", said);
}

static void answered(void *owner, int status) {
  Question *q = owner;
  Text json = {0};
  if (status != 0) {
    text_add(&json, "{\"error\": ");
    text_json(&json, q->complained.used ? q->complained.at : "./ferry failed; run make again");
    text_add(&json, "}\n");
  } else if (q->started) {
    text_add(&json, "{\"exercise\": \"%s\", \"file\": \"work/%s\"}\n", q->started->number,
             strrchr(q->started->file, '/') + 1);
    events_look();
  } else {
    add_state(&json, q->said.at ? q->said.at : "");
  }
  request_answer(q->request, status == 0 ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR, &json);
  text_free(&q->said);
  text_free(&q->complained);
  free(q);
}

static enum MHD_Result ask(Request *r, const char *const argv[], const Known *started) {
  static const ChildEvents events = {take_complaint, take_result, answered};
  Question *q = calloc(1, sizeof *q);
  if (q)
    *q = (Question){.request = r, .started = started};
  if (q && child_start(argv, -1, true, &events, q))
    return request_wait(r);
  free(q);
  return reply_error(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, "./ferry could not be started: %s", strerror(errno));
}

enum MHD_Result course_get_state(Request *r) {
  return ask(r, (const char *[]){course_ferry(), "list", "--json", NULL}, NULL);
}

enum MHD_Result course_post_start(Request *r, const Json *asked) {
  const Json *exercise = json_get(asked, "exercise", JSON_STRING);
  const Known *k = exercise ? find(exercise->string) : NULL;
  if (!k)
    return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "there is no such exercise");
  return ask(r, (const char *[]){course_ferry(), "start", NULL}, k);
}
