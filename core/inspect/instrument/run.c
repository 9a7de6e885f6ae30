// SPDX-License-Identifier: MIT
// Runs an instrumented program of the user's own, and reads the record that it leaves.
#include "inspect/instrument/instrument.h"
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
  set("FERRY_SIM_ORDER", descending ? "descending" : "ascending");
  if (descending && !(mode && strcmp(mode, "sync") == 0)) // there, a block cannot wait for one that has not begun
    set("FERRY_SIM_BLOCKS", "descending");
  set("FERRY_INSPECT_COUNTS", descending && !inspect_models_gpu(o) ? "0" : NULL); // counts come from the other run
  set("FERRY_CUDA", "sim");
  if (descending || o->quiet) {
    redirect_to("/dev/null", O_WRONLY, 1);
    if (descending || !o->bare) // which says what is wrong with an --arg
      redirect_to("/dev/null", O_WRONLY, 2);
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

bool inspect_run_program(InspectJob *j, bool descending) {
  char record[300];
  snprintf(record, sizeof record, "%s/record", j->build.folder);
  const int status = run(j, descending, record);
  if (j->options.bare && status == EXIT_USAGE) // it has said what is wrong with an --arg
    return false;
  if (!descending && status != 0 && !j->options.gcc)
    printf("(the program ended with status %d%s)\n", status, status > 128 ? ", by a signal" : "");
  j->inspection.resident = j->build.ptxas[0] != '\0';
  if (status >= 0 && inspection_add(&j->inspection, program_of(j, descending), j->build.folder, record, descending))
    return true;
  fprintf(stderr, "ferry inspect: the program left no record (status %d): it was killed, or it called _exit or abort\n",
          status);
  return false;
}
