// SPDX-License-Identifier: MIT
// Records an answer for `ferry step`. Like inspect_answer.c, it builds and runs what may be anybody's code, in the sandbox.
#include "step_answer.h"
#include "answer.h"
#include "inspect_answer.h"
#include "judge.h"
#include "sim/compile/kernel_flags.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_SECONDS = 120, MOST_RECORDED = 256 << 20 };

static SandboxResult run_test(const Exercise *e, const Answer *a, const Test *test, const StepWanted *wanted,
                              const char *folder) {
  static StepSettings settings; // large
  static const char memory[] = "FERRY_SIM_MEMORY_MB=" KERNELS_MEMORY_MB;
  char table[300], record[300], temporary[300];
  snprintf(table, sizeof table, "%s/table", a->folder);
  snprintf(record, sizeof record, "%s/steps", folder);
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
  const char *environment[STEP_SETTINGS + 6] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", memory, temporary};
  step_settings(&settings, wanted, table, record);
  for (int i = 0; i < settings.count; i++)
    environment[4 + i] = settings.text[i];
  return inspect_run_sandboxed(&(InspectSandboxed){.exercise = e,
                                                   .test = test,
                                                   .seed = wanted->replay ? wanted->seed : hash_text(1, test->name),
                                                   .devices = wanted->replay ? judge_devices(test, wanted->devices) : 1,
                                                   .program = a->program,
                                                   .environment = environment,
                                                   .folder = folder,
                                                   .readable = table,
                                                   .seconds = RUN_SECONDS,
                                                   .most_recorded = MOST_RECORDED});
}

// Whether the record has a finding: it stands on a line that begins with this.
static bool has_findings(const char *path) {
  static const char begin[] = "\"findings\":[{";
  char *line = NULL;
  size_t room = 0;
  bool found = false;
  FILE *file = fopen(path, "r");
  while (file && !found && getline(&line, &room, file) > 0)
    found = strncmp(line, begin, sizeof begin - 1) == 0;
  if (file)
    fclose(file);
  free(line);
  return found;
}

// The record of one test, to build.folder/record unless there is a better one there.
static bool record_test(const InspectJob *job, const Exercise *e, const Answer *a, const Test *test,
                        const StepWanted *wanted, bool have, bool *found, FILE *said) {
  char folder[256], whole[300], other[300];
  if (!sandbox_folder(folder, sizeof folder)) {
    fprintf(said, "ferry step: no temporary folder could be made: %s\n", strerror(errno));
    return false;
  }
  SandboxResult r = run_test(e, a, test, wanted, folder);
  FILE *from = inspect_open_record(folder, "steps");
  snprintf(whole, sizeof whole, "%s/record", job->build.folder);
  snprintf(other, sizeof other, "%s/other", job->build.folder);
  bool good = from && step_complete(job, from, other);
  *found = good && has_findings(other);
  if (good && (!have || *found))
    good = rename(other, whole) == 0;
  if (!good && r.output && *r.output)
    fprintf(said, "ferry step: the answer left no record in the test \"%s\":\n%s\n", test->name, r.output);
  if (from)
    fclose(from);
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
  return good;
}

// The test asked for: of this name, or else the first whose name contains it.
static bool is_asked_for(const Exercise *e, const Test *test, const char *name) {
  for (const Test *t = e->tests; t < e->tests + MAX_TESTS && t->name; t++)
    if (strcmp(t->name, name) == 0)
      return t == test;
  return strstr(test->name, name) != NULL;
}

static bool record_tests(const InspectJob *job, const Exercise *e, const Answer *a, const StepWanted *wanted,
                         FILE *said) {
  bool have = false, found = false, matches = false;
  for (const Test *t = e->tests; t < e->tests + MAX_TESTS && t->name && !found; t++) {
    if (wanted->replay ? t - e->tests != wanted->replay - 1
        : wanted->test ? !is_asked_for(e, t, wanted->test)
                       : t->huge || t->scored)
      continue;
    matches = true;
    have |= record_test(job, e, a, t, wanted, have, &found, said);
    if (wanted->test || wanted->replay)
      break;
  }
  if (wanted->replay && !matches)
    fprintf(said, "ferry step: %s has no test %d\n", e->id, wanted->replay);
  else if (wanted->test && !matches)
    fprintf(said, "ferry step: %s has no test \"%s\"\n", e->id, wanted->test);
  else if (!have)
    fprintf(said, "ferry step: no test of %s launched %s.\n", e->id, wanted->kernel ? wanted->kernel : "a kernel");
  return have;
}

bool step_answer_record(InspectJob *job, const Exercise *exercise, const StepWanted *wanted, FILE *said) {
  char source[4096];
  Answer *a = calloc(1, sizeof *a);
  if (!a || !realpath(job->options.file, source)) {
    fprintf(said, "ferry step: %s cannot be read: %s\n", job->options.file, strerror(errno));
    free(a);
    return false;
  }
  answer_build_stepped(a, exercise, source);
  bool good = a->status == STATUS_NOT_RUN;
  if (!good)
    fprintf(said, "ferry step: the answer could not be built: %s\n%s", status_name(a->status),
            a->diagnostics ? a->diagnostics : "");
  good = good && record_tests(job, exercise, a, wanted, said);
  answer_free(a);
  free(a);
  return good;
}
