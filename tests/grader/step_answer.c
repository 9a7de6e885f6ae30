// SPDX-License-Identifier: MIT
// Records an answer for `ferry step`. Like inspect_answer.c, it builds and runs what may be anybody's code, in the sandbox.
#include "step_answer.h"
#include "answer.h"
#include "inspect_answer.h"
#include "judge.h"
#include "sim/compile/kernel_flags.h"
#include "tool/compile/config.h"
#include "tools_root.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_SECONDS = 120, MOST_RECORDED = 256 << 20 };
static const size_t MEMORY = (size_t)8 << 30;

static SandboxResult run_test(const Exercise *e, const Answer *a, const Test *test, const StepWanted *wanted,
                              const char *folder) {
  static StepSettings settings; // large
  static const char memory[] = "FERRY_SIM_MEMORY_MB=" KERNELS_MEMORY_MB;
  const char *environment[STEP_SETTINGS + 6] = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", memory};
  char table[300], record[300], bundle[512], temporary[300];
  size_t bytes = 0, count = 3;
  const int devices = wanted->replay ? judge_devices(test, wanted->devices) : 1;
  const uint64_t seed = wanted->replay ? wanted->seed : hash_text(1, test->name);
  uint8_t *request = inspect_request(e, test, seed, devices, &bytes);
  const char *argv[] = {a->program, NULL};
  snprintf(table, sizeof table, "%s/table", a->folder);
  snprintf(record, sizeof record, "%s/steps", folder);
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
  environment[count++] = temporary;
  step_settings(&settings, wanted, table, record);
  for (int i = 0; i < settings.count; i++)
    environment[count++] = settings.text[i];
  tools_path(bundle, sizeof bundle, CONFIG_ROOT "/build/bundle");
  SandboxJob sandbox = {.argv = argv,
                        .environment = environment,
                        .folder = folder,
                        .readable = {a->program, bundle, table},
                        .request = request,
                        .request_bytes = bytes,
                        .seconds = RUN_SECONDS,
                        .memory = MEMORY,
                        .file_bytes = MOST_RECORDED,
                        .folder_bytes = 2 * (size_t)MOST_RECORDED,
                        .output_bytes = 1 << 20,
                        .lines = 25};
  SandboxResult result = sandbox_run(&sandbox);
  free(request);
  return result;
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
