// SPDX-License-Identifier: MIT
// Runs an instrumented program of the user's own, and reads the record that it leaves.
#include "inspect/instrument/instrument.h"
#include "inspect/step/exit_status.h"
#include "tool/compile/files.h"
#include "tool/compile/process.h"
#include "tool/print/usage.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void set(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static bool runs_as_written(const InspectJob *j, bool descending) {
  return descending && j->build.as_written[0];
}

static char *program_of(InspectJob *j, bool descending) {
  return runs_as_written(j, descending) ? j->build.as_written : j->build.program;
}

// ---- long runs ---------------------------------------------------------------------------------------------------------------

// In events: accesses and basic blocks. Without --blocks a program that makes more than LONG is built again, and sampled.
#define LONG "50000000"
#define SAMPLED "50000000"

static bool may_stop(const InspectJob *j) {
  const InspectOptions *o = &j->options;
  return !j->build.sampled && !o->all_blocks && !o->blocks && !o->program && !o->bare && !o->step &&
         o->with_count == 0 && !inspect_models_gpu(o);
}

// Until it is known that the program does not run again, what it prints is kept in these files of its folder.
static const char *const kept[] = {"stdout", "stderr"};

static void keep_output(const InspectJob *j) {
  for (int n = 0; n < 2; n++) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", j->build.folder, kept[n]);
    redirect_to(path, O_WRONLY | O_CREAT | O_TRUNC, n + 1);
  }
}

static void show_output(const InspectJob *j) {
  for (int n = 0; n < 2; n++) {
    char path[300];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", j->build.folder, kept[n]);
    char *text = file_read(path, &bytes);
    if (text)
      fwrite(text, 1, bytes, n ? stderr : stdout);
    free(text);
    unlink(path);
  }
}

// ---- one run -----------------------------------------------------------------------------------------------------------------

static void begin_child(const InspectJob *j, bool descending, const char *record) {
  const InspectOptions *o = &j->options;
  const char *mode = getenv("FERRY_SIM_MODE");
  prctl(PR_SET_PDEATHSIG, SIGKILL); // or it would go on after the inspector has been killed
  set("FERRY_INSPECT_MIX", j->build.mix[0] && !runs_as_written(j, descending) ? j->build.mix : NULL);
  set("FERRY_INSPECT_REGISTERS", j->build.ptxas[0] ? j->build.ptxas : NULL);
  if (o->gpu)
    set("FERRY_SIM_GPU", o->gpu);
  set("FERRY_INSPECT_RECORD", record);
  set("FERRY_INSPECT_KERNEL", o->kernel);
  set("FERRY_INSPECT_BLOCKS", o->blocks);
  set("FERRY_INSPECT_STOP", may_stop(j) ? LONG : NULL);
  set("FERRY_INSPECT_EVENTS", j->build.sampled ? SAMPLED : NULL);
  set("FERRY_SIM_ORDER", descending ? "descending" : "ascending");
  if (descending && !(mode && strcmp(mode, "sync") == 0)) // there, a block cannot wait for one that has not begun
    set("FERRY_SIM_BLOCKS", "descending");
  set("FERRY_INSPECT_COUNTS", descending && !inspect_models_gpu(o) ? "0" : NULL); // counts come from the other run
  set("FERRY_CUDA", "sim");
  if (descending || o->quiet) {
    redirect_to("/dev/null", O_WRONLY, 1);
    if (descending || !o->bare) // which says what is wrong with an --arg
      redirect_to("/dev/null", O_WRONLY, 2);
  } else if (may_stop(j)) {
    keep_output(j);
  }
}

// The exit status as a shell reports it; -1: it could not be started.
static int run(InspectJob *j, bool descending, const char *record) {
  unlink(record);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    begin_child(j, descending, record);
    j->options.arguments[0] = program_of(j, descending);
    execv(j->options.arguments[0], j->options.arguments);
    _exit(127);
  }
  return pid < 0 ? -1 : wait_for_tool(pid);
}

static bool add_record(InspectJob *j, int status, bool descending, bool counts) {
  char record[300];
  snprintf(record, sizeof record, "%s/record", j->build.folder);
  if (status >= 0 && inspection_add(&j->inspection, program_of(j, descending), j->build.folder, record, !counts))
    return true;
  fprintf(stderr, "ferry inspect: the program left no record (status %d): it was killed, or it called _exit or abort\n",
          status);
  return false;
}

bool inspect_run_program(InspectJob *j, bool descending) {
  char record[300];
  snprintf(record, sizeof record, "%s/record", j->build.folder);
  const bool kept_output = !descending && !j->options.quiet && may_stop(j);
  int status = run(j, descending, record);
  if (may_stop(j) && status == INSPECT_STOPPED) { // what it has found holds; its counts are those of its beginning
    if (!add_record(j, status, descending, false))
      return false;
    if (!inspect_build_sampled(j))
      j->options.all_blocks = true;
    j->inspection.sampled = j->build.sampled;
    status = run(j, descending, record);
  } else if (kept_output) {
    show_output(j);
  }
  if (j->options.bare && status == EXIT_USAGE) // it has said what is wrong with an --arg
    return false;
  if (!descending && status != 0 && !j->options.gcc)
    printf("(the program ended with status %d%s)\n", status, status > 128 ? ", by a signal" : "");
  j->inspection.resident = j->build.ptxas[0] != '\0';
  return add_record(j, status, descending, !descending);
}
