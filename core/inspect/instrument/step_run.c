// SPDX-License-Identifier: MIT
// Builds and runs a user's own program for `./ferry step`. An answer to an exercise is built and run by tests/grader/step_answer.c.
#include "inspect/instrument/step_run.h"
#include "inspect/step/exit_status.h"
#include "tool/compile/files.h"
#include "tool/compile/process.h"
#include "tool/print/text.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add(StepSettings *s, const char *name, const char *value) {
  if (value && s->count < STEP_SETTINGS)
    snprintf(s->text[s->count++], STEP_SETTING_BYTES, "%s=%s", name, value);
}

// One thread of the system runs one block after another, and each block on fibers: the recorder decides whose turn it is.
void step_settings(StepSettings *s, const StepWanted *w, const char *table, const char *record) {
  s->count = 0;
  add(s, "FERRY_CUDA", "sim");
  add(s, "FERRY_SIM_MODE", "sync");
  add(s, "FERRY_SIM_THREADS", "1");
  add(s, "FERRY_SIM_ORDER", "ascending");
  add(s, "FERRY_SIM_SPLIT", "0");
  add(s, "FERRY_INSPECT_COUNTS", "0");
  add(s, "FERRY_INSPECT_KERNEL", w->kernel);
  add(s, "FERRY_STEP_TABLE", table);
  add(s, "FERRY_STEP_RECORD", record);
  add(s, "FERRY_STEP_LAUNCH", w->launch);
  add(s, "FERRY_STEP_BLOCK", w->block);
  add(s, "FERRY_STEP_LIMIT", w->limit);
}

bool step_build(InspectJob *job) {
  snprintf(job->build.table, sizeof job->build.table, "%s/table", job->build.folder);
  return inspect_build_program(job);
}

static int run(const InspectJob *job, const StepSettings *s, const char *messages) {
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < s->count; i++)
      putenv((char *)(uintptr_t)s->text[i]);
    const char *output = getenv("FERRY_STEP_OUTPUT"); // for tests: the program goes on after the record
    redirect_to(output ? output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect_to(messages, O_WRONLY | O_CREAT | O_TRUNC, 2);
    job->options.arguments[0] = (char *)(uintptr_t)job->build.program;
    execv(job->build.program, job->options.arguments);
    _exit(127);
  }
  return pid < 0 ? -1 : wait_for_tool(pid);
}

bool step_run(InspectJob *job, const StepWanted *w, FILE *said) {
  static StepSettings settings; // large
  char record[300], whole[300], messages[300];
  char *text;
  snprintf(record, sizeof record, "%s/steps", job->build.folder);
  snprintf(whole, sizeof whole, "%s/record", job->build.folder);
  step_settings(&settings, w, job->build.table, record);
  snprintf(messages, sizeof messages, "%s/messages", job->build.folder);
  const int status = run(job, &settings, messages);
  FILE *from = fopen(record, "r");
  const bool good = from && step_complete(job, from, whole);
  if (from)
    fclose(from);
  if (!good && (text = file_read(messages, NULL))) {
    fputs(text, said);
    free(text);
  }
  if (status == STEP_NO_BLOCK)
    return false;
  if (!good && w->launch && strcmp(w->launch, "0") != 0)
    fprintf(said,
            "ferry step: there was no launch %s of %s (the first is launch 0). ./ferry inspect lists the kernels.\n",
            w->launch, w->kernel ? w->kernel : "a kernel");
  else if (!good && w->kernel)
    fprintf(said, "ferry step: no kernel %s was launched. ./ferry inspect lists those that were.\n", w->kernel);
  else if (!good)
    fprintf(said, "ferry step: the program launched no kernel that can be stepped through (it ended with status %d).\n",
            status);
  return good;
}

bool step_complete(const InspectJob *job, FILE *from, const char *path) {
  Text head = {0};
  char block[65536], begin[10] = "";
  size_t bytes = 0;
  text_add(&head, "{\"format\":\"ferry-step 1\",\n\"files\":[{\"name\":");
  text_json(&head, job->inspection.title);
  text_add(&head, ",\"text\":");
  text_json(&head, job->inspection.text);
  text_add(&head, "}],\n");
  if (fread(begin, 1, sizeof begin - 1, from) != sizeof begin - 1 || strcmp(begin, "\"kernel\":") != 0) {
    text_free(&head);
    return false;
  }
  FILE *to = fopen(path, "we");
  bool good = to && fwrite(head.at, 1, head.used, to) == head.used && fputs(begin, to) >= 0;
  while (good && (bytes = fread(block, 1, sizeof block, from)) > 0)
    good = fwrite(block, 1, bytes, to) == bytes;
  text_free(&head);
  return to && fclose(to) == 0 && good;
}
