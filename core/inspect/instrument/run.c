// SPDX-License-Identifier: MIT
// Runs the instrumented programs of the user's own, one in each order of threads, and reads the records that they leave.
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
#define LONG "200000000"
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
  if (descending) // the other run, at the same time, reads it
    redirect_to("/dev/null", O_RDONLY, 0);
}

// ---- both runs ---------------------------------------------------------------------------------------------------------------

enum { ASCENDING, DESCENDING, ORDERS };

static void record_of(char path[300], const InspectJob *j, bool descending) {
  snprintf(path, 300, "%.256s/%s", j->build.folder, descending ? "record_descending" : "record");
}

static pid_t begin(InspectJob *j, bool descending) {
  char record[300];
  record_of(record, j, descending);
  unlink(record);
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    begin_child(j, descending, record);
    j->options.arguments[0] = program_of(j, descending);
    execv(j->options.arguments[0], j->options.arguments);
    _exit(127);
  }
  return pid;
}

// Both at the same time. The exit statuses as a shell reports them; -1: it could not be started, or is not wanted.
static void run_both(InspectJob *j, int status[ORDERS]) {
  pid_t process[ORDERS] = {-1, -1};
  for (int order = ASCENDING; order < (j->options.once ? DESCENDING : ORDERS); order++)
    process[order] = begin(j, order == DESCENDING);
  for (int order = ASCENDING; order < ORDERS; order++)
    status[order] = process[order] < 0 ? -1 : wait_for_tool(process[order]);
}

static bool add_record(InspectJob *j, int status, bool descending, bool counts) {
  char record[300];
  record_of(record, j, descending);
  if (status >= 0 && inspection_add(&j->inspection, program_of(j, descending), j->build.folder, record, !counts))
    return true;
  fprintf(stderr, "ferry inspect: the program left no record (status %d): it was killed, or it called _exit or abort\n",
          status);
  return false;
}

// A program that has stopped was too long. What it has found holds, but not its counts, which are those of its beginning.
static bool run_sampled(InspectJob *j, int status[ORDERS]) {
  for (int order = ASCENDING; order < ORDERS; order++)
    if (status[order] == INSPECT_STOPPED && !add_record(j, status[order], order == DESCENDING, false))
      return false;
  if (!inspect_build_sampled(j))
    j->options.all_blocks = true;
  j->inspection.sampled = j->build.sampled;
  run_both(j, status);
  return true;
}

static bool run_ascending(InspectJob *j) {
  int *status = j->build.status;
  const bool kept_output = !j->options.quiet && may_stop(j);
  run_both(j, status);
  const bool stopped = status[ASCENDING] == INSPECT_STOPPED || status[DESCENDING] == INSPECT_STOPPED;
  if (may_stop(j) && stopped) {
    if (!run_sampled(j, status))
      return false;
  } else if (kept_output) {
    show_output(j);
  }
  if (j->options.bare && status[ASCENDING] == EXIT_USAGE) // it has said what is wrong with an --arg
    return false;
  if (status[ASCENDING] != 0 && !j->options.gcc)
    printf("(the program ended with status %d%s)\n", status[ASCENDING], status[ASCENDING] > 128 ? ", by a signal" : "");
  j->inspection.resident = j->build.ptxas[0] != '\0';
  return add_record(j, status[ASCENDING], false, true);
}

bool inspect_run_program(InspectJob *j, bool descending) {
  return descending ? add_record(j, j->build.status[DESCENDING], true, false) : run_ascending(j);
}
