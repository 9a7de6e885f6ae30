// SPDX-License-Identifier: MIT
// Reads a file that `ferry grade --json` wrote, possibly on another machine. It may have been edited.
#include "case.h"
#include "merge.h"
#include "tool/print/plain.h"
#include "sandbox.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void complain(Merge *m, const char *format, ...) {
  char text[4096];
  va_list arguments;
  if (m->complaints++ >= MOST_COMPLAINTS)
    return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char *plain = plain_line(text, strlen(text));
  fprintf(stderr, "ferry grade --merge: %s\n", plain ? plain : "no memory");
  free(plain);
}

void *merge_allocate(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (!memory)
    fatal_error("no memory");
  return memory;
}

char *merge_copy(const char *text) {
  char *copied = text ? strdup(text) : NULL;
  if (text && !copied)
    fatal_error("no memory");
  return copied;
}

static const char *text_of(const Json *json, const char *key) {
  const Json *value = json_get(json, key, JSON_STRING);
  return value ? value->string : NULL;
}

// A whole number from 0 to `most`; -1 if there is none.
static int count_of(const Json *json, const char *key, int most) {
  const Json *value = json_get(json, key, JSON_NUMBER);
  return value && value->number >= 0 && value->number <= most && value->number == floor(value->number)
             ? (int)value->number
             : -1;
}

static uint64_t hash_of(const Json *json, const char *key) {
  const char *value = text_of(json, key);
  return value ? strtoull(value, NULL, 16) : 0;
}

static double seconds_of(const Json *json) {
  const Json *value = json_get(json, "seconds", JSON_NUMBER);
  return value && value->number >= 0 ? value->number : -1;
}

static bool status_of(const Json *json, Status *status) {
  const char *name = text_of(json, "status");
  for (int s = STATUS_NOT_RUN; name && s <= STATUS_GRADER_ERROR; s++)
    if (strcmp(status_name((Status)s), name) == 0) {
      *status = (Status)s;
      return true;
    }
  return false;
}

static bool truth_of(const Json *json, const char *key) {
  const Json *value = json_get(json, key, JSON_BOOL);
  return value && value->truth;
}

// The mistake that the file names. Not every check's own mistakes are accessible here.
static const Mistake *mistake_of(const Json *json) {
  if (!text_of(json, "mistake"))
    return NULL;
  Mistake *mistake = merge_allocate(1, sizeof *mistake);
  *mistake = (Mistake){.name = merge_copy(text_of(json, "mistake")),
                       .says = merge_copy(text_of(json, "says")),
                       .lesson = merge_copy(text_of(json, "lesson"))};
  return mistake;
}

static bool read_test(const Json *json, TestVerdict *v) {
  const char *replay = text_of(json, "replay");
  v->mistake = mistake_of(json);
  v->likely = truth_of(json, "likely");
  v->report = merge_copy(text_of(json, "report"));
  v->seconds = seconds_of(json);
  const char *dot = replay ? strchr(replay, '.') : NULL;
  v->seed = dot ? strtoull(dot + 1, NULL, 16) : 0;
  return status_of(json, &v->status) && v->seconds >= 0 && (!v->mistake || v->mistake->lesson);
}

static const char *level_named(const char *name) {
  for (int i = 0; i < SANDBOX_LEVELS; i++)
    if (strcmp(sandbox_level_name((SandboxLevel)i), name) == 0)
      return sandbox_level_name((SandboxLevel)i);
  return NULL;
}

// The counts and the score must follow from the tests, so that an edited score is detected.
static bool adds_up(const Json *json, const Verdict *v) {
  int passed = 0, skipped = 0;
  for (int i = 0; i < v->test_count; i++) {
    passed += v->tests[i].status == STATUS_PASS;
    skipped += v->tests[i].status == STATUS_SKIPPED;
  }
  const Json *score = json_get(json, "score", JSON_NUMBER), *none = json_get(json, "score", JSON_NULL);
  bool scored =
      v->status == STATUS_GRADER_ERROR ? none != NULL : score && fabs(score->number - verdict_score(v)) < 0.0001;
  bool schedule = v->status == STATUS_PASS;
  return scored && (v->stars > 0) == schedule && passed == v->passed && skipped == v->skipped &&
         schedule == (passed > 0 && passed + skipped == v->test_count);
}

// NULL, or the error.
static const char *read_verdict(const Json *json, Verdict *v) {
  const Json *test = json_get(json, "tests", JSON_ARRAY), *on_gpu = json_get(json, "on_gpu", JSON_BOOL);
  const char *protections = text_of(json, "protections"), *version = text_of(json, "version");
  if (!test || !on_gpu || !version || !status_of(json, &v->status))
    return "has no status, version or tests; grade it again";
  char here[20], level[32];
  snprintf(here, sizeof here, "%016llx", (unsigned long long)exercise_version(v->exercise));
  if (strcmp(version, here) != 0)
    return "was graded with a different version of the tests; grade it again with this ./ferry";
  for (test = test->first; v->test_count < MAX_TESTS && v->exercise->tests[v->test_count].name; test = test->next) {
    TestVerdict *t = &v->tests[v->test_count];
    t->test = &v->exercise->tests[v->test_count++];
    const char *name = test ? text_of(test, "name") : NULL;
    if (!name || strcmp(name, t->test->name) != 0 || !read_test(test, t))
      return "contains tests that this exercise does not have, or unreadable tests; grade it again";
  }
  if (test)
    return "contains tests that this exercise does not have, or unreadable tests; grade it again";
  v->passed = count_of(json, "passed", MAX_TESTS);
  v->skipped = count_of(json, "skipped", MAX_TESTS);
  v->stars = count_of(json, "stars", verdict_most_stars(v->exercise));
  v->seconds = seconds_of(json);
  v->report = merge_copy(text_of(json, "report"));
  v->real_gpu = on_gpu->truth;
  v->answer = hash_of(json, "answer");
  if (protections &&
      (!(v->protections = sandbox_described(protections, level, sizeof level)) || !(v->level = level_named(level))))
    return "names sandbox protections that do not exist; grade it again";
  return v->seconds >= 0 && adds_up(json, v)
             ? NULL
             : "has counts or a score that do not match its tests; use the file as ./ferry grade wrote it";
}

static void read_exercise(Merge *m, const ResultFile *f, const char *learner, const Json *json) {
  const char *id = text_of(json, "id");
  const Exercise *e = NULL;
  for (int i = 0; id && i < exercise_count(); i++)
    if (strcmp(exercise_at(i)->id, id) == 0)
      e = exercise_at(i);
  if (!e && m->known)
    return;
  if (!e) {
    complain(m, "%s: this ./ferry has no exercise \"%s\"; grade and merge with the same version", f->path,
             id ? id : "");
    return;
  }
  if (m->entry_count == m->room) {
    m->room = 2 * m->room + 64;
    m->entries = realloc(m->entries, (size_t)m->room * sizeof *m->entries);
    if (!m->entries)
      fatal_error("no memory");
  }
  MergedEntry *entry = &m->entries[m->entry_count++];
  memset(entry, 0, sizeof *entry);
  entry->learner = plain_line(learner, strlen(learner));
  if (!entry->learner)
    fatal_error("no memory");
  entry->file = f;
  entry->verdict.exercise = e;
  const char *wrong = read_verdict(json, &entry->verdict);
  if (wrong && m->known) {
    free(entry->learner);
    m->entry_count--;
  } else if (wrong)
    complain(m, "%s: the result of %s for %s %s", f->path, learner, id, wrong);
}

static bool read_head(Merge *m, ResultFile *f) {
  const Json *complete = json_get(f->json, "complete", JSON_BOOL),
             *secret = json_get(f->json, "secret_seed", JSON_BOOL);
  f->devices = count_of(f->json, "simulated_devices", 1024);
  if (!complete || !json_get(f->json, "learners", JSON_ARRAY) || f->devices < 0 || !secret) {
    complain(m, "%s was not written by ./ferry grade --json%s", f->path,
             complete ? " of this version; grade again" : "");
    return false;
  }
  f->secret_seed = secret->truth;
  f->grader = hash_of(f->json, "grader");
  f->class = json_get(f->json, "class", JSON_ARRAY);
  if (f->class) {
    f->part = count_of(f->json, "part", 1 << 20);
    f->parts = count_of(f->json, "parts", 1 << 20);
    bool names = true;
    for (const Json *name = f->class->first; name; name = name->next)
      names = names && name->kind == JSON_STRING;
    if (f->part < 1 || f->part > f->parts || !names) {
      complain(m, "%s does not state its part and its class correctly; grade this part again", f->path);
      return false;
    }
  }
  if (!complete->truth && !m->known) {
    complain(m, "%s is incomplete because its grading was interrupted; run that command again", f->path);
    return false;
  }
  return true;
}

void merge_read(Merge *m, ResultFile *f) {
  char why[256];
  size_t bytes;
  char *text = file_read(f->path, &bytes);
  if (!text) {
    complain(m, "%s cannot be read: %s", f->path, strerror(errno));
    return;
  }
  f->json = json_read(text, bytes, why, sizeof why);
  free(text);
  if (!f->json) {
    complain(m, "%s is damaged, or was not written by ./ferry grade --json: %s", f->path, why);
    return;
  }
  if (!read_head(m, f))
    return;
  for (const Json *l = json_get(f->json, "learners", JSON_ARRAY)->first; l; l = l->next) {
    const char *name = text_of(l, "name");
    const Json *exercises = json_get(l, "exercises", JSON_ARRAY);
    if (!name || !*name || !exercises) {
      complain(m, "%s: a learner has no name or no exercises; grade again", f->path);
      continue;
    }
    for (const Json *e = exercises->first; e; e = e->next)
      read_exercise(m, f, name, e);
  }
}
