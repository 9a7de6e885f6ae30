// SPDX-License-Identifier: MIT
// What a job runs: a command line of ./ferry. A word that a page has chosen is an option's value, stands behind --, or is the name of an
// exercise that there is: it is never taken for an option.
#include "live/live.h"
#include "base/json_scan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool word(JobCommand *j, const char *text) {
  char *copy = j->count < JOB_WORDS ? strdup(text) : NULL;
  if (copy)
    j->argv[j->count++] = copy;
  return copy != NULL;
}

static const char *string_of(const Json *asked, const char *key) {
  const Json *value = json_get(asked, key, JSON_STRING);
  return value ? value->string : NULL;
}

static bool is_one_of(const char *what, const char *const *names) {
  while (what && *names && strcmp(what, *names) != 0)
    names++;
  return what && *names;
}

static void add_options(JobCommand *j, const Json *asked, const char *what) {
  static const char *const options[] = {"kernel", "launch", "block", "test",
                                        "replay"}; // inspect takes the first of them
  const size_t count = strcmp(what, "step") == 0 ? sizeof options / sizeof options[0] : strcmp(what, "inspect") == 0;
  char option[32];
  for (size_t i = 0; i < count; i++) {
    const char *value = string_of(asked, options[i]);
    if (!value || !*value)
      continue;
    snprintf(option, sizeof option, "--%s", options[i]);
    word(j, option);
    word(j, value);
  }
}

static bool for_exercise(JobCommand *j, const Json *asked, const char *what, const char *exercise, char *why,
                         size_t bytes) {
  static const char *const checks[] = {"run", "check", NULL}, *const looks[] = {"inspect", "step", NULL};
  const char *file = course_file(exercise);
  j->is_check = is_one_of(what, checks);
  if (!file || (!j->is_check && strcmp(what, "hint") != 0 && !is_one_of(what, looks))) {
    snprintf(why, bytes, file ? "\"do\" is run, check, inspect, step or hint" : "there is no such exercise");
    return false;
  }
  j->exercise = strdup(exercise);
  word(j, j->is_check ? "run" : what);
  word(j, is_one_of(what, looks) ? file : exercise);
  add_options(j, asked, what);
  j->result = strcmp(what, "inspect") == 0 ? RESULT_LINES : strcmp(what, "step") == 0 ? RESULT_RECORD : RESULT_VALUE;
  if (strcmp(what, "hint") == 0) {
    j->result = RESULT_NONE;
    return true;
  }
  return word(j, "--json") && word(j, "-");
}

static bool for_text(JobCommand *j, const Json *asked, const char *what, const char *text, char *why, size_t bytes) {
  static const char *const known[] = {"run", "inspect", "step", NULL};
  const char *language = string_of(asked, "language");
  const bool c = language && strcmp(language, "c") == 0, cuda = language && strcmp(language, "cu") == 0;
  const size_t length = strlen(text);
  if (!is_one_of(what, known) || (!c && !cuda)) {
    snprintf(why, bytes, "\"do\" is run, inspect or step, and \"language\" is cu or c");
    return false;
  }
  if (length > FILE_LIMIT) {
    snprintf(why, bytes, "the text is longer than 256 KiB");
    return false;
  }
  j->input = memfd_create("listing", MFD_CLOEXEC);
  if (j->input < 0 || write(j->input, text, length) != (ssize_t)length || lseek(j->input, 0, SEEK_SET) != 0) {
    snprintf(why, bytes, "there is no memory for the text");
    return false;
  }
  word(j, "confined");
  word(j, what);
  word(j, c ? "c" : "cu");
  j->result = strcmp(what, "run") == 0 ? RESULT_NONE : strcmp(what, "step") == 0 ? RESULT_RECORD : RESULT_LINES;
  add_options(j, asked, what);
  const Json *args = json_get(asked, "args", JSON_ARRAY);
  if (args && args->first)
    word(j, "--");
  for (const Json *a = args ? args->first : NULL; a; a = a->next)
    if (a->kind != JSON_STRING || !word(j, a->string)) {
      snprintf(why, bytes, "\"args\" are strings, at most %d", JOB_WORDS - 20);
      return false;
    }
  return true;
}

bool job_command(JobCommand *j, const Json *asked, char *why, size_t bytes) {
  const char *what = string_of(asked, "do"), *exercise = string_of(asked, "exercise"), *text = string_of(asked, "text");
  if (!what || (!exercise && !text)) {
    snprintf(why, bytes, "\"do\" is needed, and \"exercise\" or \"text\"");
    return false;
  }
  word(j, course_ferry());
  return exercise ? for_exercise(j, asked, what, exercise, why, bytes) : for_text(j, asked, what, text, why, bytes);
}

void job_command_free(JobCommand *j) {
  for (int i = 0; i < j->count; i++)
    free((char *)(uintptr_t)j->argv[i]);
  if (j->input >= 0)
    close(j->input);
  free(j->exercise);
  *j = (JobCommand){.input = -1};
}

// ---- its result ---------------------------------------------------------------------------------------------------------------------

// A listing's result comes from where the listing runs, so it may be anything. Whether it is one value of JSON, without building it.
static bool pass_value(FyJsonScan *json, int depth) {
  size_t begin;
  const char open = fy_json_scan_peek(json), close = open == '{' ? '}' : ']';
  if (open == '"')
    return fy_json_scan_string(json, &begin);
  if (open != '{' && open != '[')
    return fy_json_scan_word(json, "true") || fy_json_scan_word(json, "false") || fy_json_scan_word(json, "null") ||
           fy_json_scan_number(json, &begin);
  if (depth > 60)
    return false;
  fy_json_scan_accept(json, open);
  if (fy_json_scan_accept(json, close))
    return true;
  do
    if ((open == '{' && (!fy_json_scan_string(json, &begin) || !fy_json_scan_accept(json, ':'))) ||
        !pass_value(json, depth + 1))
      return false;
  while (fy_json_scan_accept(json, ','));
  return fy_json_scan_accept(json, close);
}

bool job_result_is_json(const char *text, size_t bytes, bool lines) {
  char *copy = malloc(bytes + 1); // strings are unescaped in place
  FyJsonScan json = {.text = copy, .length = bytes};
  if (!copy)
    return false;
  memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  bool good = true;
  do
    good = pass_value(&json, 0);
  while (good && lines && fy_json_scan_peek(&json) != '\0');
  good = good && fy_json_scan_peek(&json) == '\0' && json.at == bytes;
  free(copy);
  return good;
}
