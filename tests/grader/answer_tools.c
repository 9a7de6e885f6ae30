// SPDX-License-Identifier: MIT
// A command line, and a run of it in the sandbox: a source may make compiler and linker read, write and eat whatever they can.
#include "answer_tools.h"
#include "case.h"
#include "tool/compile/config.h"
#include "tool/compile/diagnostics.h"
#include "tool/compile/toolkit.h"
#include "tools_root.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t MIB = 1 << 20;

// ---- a command line ------------------------------------------------------------------------------------------------------

void command_word(Command *c, const char *format, const char *value) {
  char text[4096];
  size_t room = sizeof c->text - c->used;
  int written = snprintf(text, sizeof text, format, value);
  tools_path(c->text + c->used, room, text);
  int length = written < (int)sizeof text ? (int)strlen(c->text + c->used) : -1;
  if (c->count == COMMAND_ARGUMENTS - 1 || length < 0 || (size_t)length + 1 >= room)
    fatal_error("a command line is too long");
  c->argv[c->count++] = c->text + c->used;
  c->argv[c->count] = NULL;
  c->used += (size_t)length + 1;
}

void command_words(Command *c, const char *list) {
  char copy[4096];
  char *rest = copy;
  snprintf(copy, sizeof copy, "%s", list);
  for (char *one; (one = strsep(&rest, " "));)
    if (*one)
      command_word(c, "%s", one);
}

void command_program(Command *c, const char *name) {
  char path[1024], copy[4096];
  const char *search = getenv("PATH");
  char *rest = copy;
  snprintf(copy, sizeof copy, "%s", search ? search : "/usr/local/bin:/usr/bin:/bin");
  if (strchr(name, '/')) {
    command_word(c, "%s", name);
    return;
  }
  for (char *folder; (folder = strsep(&rest, ":"));) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, X_OK) == 0) {
      command_word(c, "%s", path);
      return;
    }
  }
  fatal_error("%s is not on PATH; ./ferry doctor explains how to install it", name);
}

// ---- running the tools ---------------------------------------------------------------------------------------------------

// What the tools need to see of the repository. Of the exercise's hidden folder that is one file or two.
static void set_readable(SandboxJob *job, const char *const extra[2]) {
  static char seen[SANDBOX_PATHS][512];
  char packages[512];
  int used = 0;
  if (toolkit_packages(packages, sizeof packages) &&
      strncmp(job->argv[0], packages, strlen(packages)) == 0) // nvcc is one of them, and reads the others
    snprintf(seen[used++], sizeof seen[0], "%s", packages);
  for (int i = 0; used < SANDBOX_PATHS - 2 && tools_seen(i); i++)
    if (access(tools_seen(i), F_OK) == 0)
      tools_path(seen[used++], sizeof seen[0], tools_seen(i));
  for (int i = 0; i < 2; i++)
    if (extra[i] && access(extra[i], F_OK) == 0)
      tools_path(seen[used++], sizeof seen[0], extra[i]);
  for (int i = 0; i < used; i++)
    job->readable[i] = seen[i];
}

double answer_seconds_wanted(void) {
  const char *wanted = getenv("FERRY_ANSWER_SECONDS");
  const double seconds = wanted ? strtod(wanted, NULL) : 0;
  return seconds >= 1 && seconds <= 600 ? seconds : 0;
}

// A machine whose tests get more time is as slow at compiling.
static double slowness(void) {
  const double seconds = answer_seconds_wanted();
  return seconds > 10 ? seconds / 10 : 1;
}

bool answer_run_tool(Answer *a, const Command *command, const char *readable[2], double seconds, char **output) {
  char temporary[300], home[300];
  // A compiler on PATH may be ccache, which wants a home for its cache, or to be told to do without.
  const char *environment[] = {
      "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "CCACHE_DISABLE=1", temporary, home, NULL};
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", a->folder);
  snprintf(home, sizeof home, "HOME=%s", a->folder);
  SandboxJob job = {.argv = command->argv,
                    .environment = environment,
                    .folder = a->folder,
                    .seconds = seconds * slowness(),
                    .memory = 2048 * MIB,
                    .address_space = 8192 * MIB,
                    .file_bytes = 128 * MIB,
                    .folder_bytes = 512 * MIB,
                    .output_bytes = output ? 8 * MIB : 64 << 10,
                    .lines = output ? 0 : 25};
  set_readable(&job, readable);
  SandboxResult r = sandbox_run(&job);
  a->protections = a->protections ? a->protections & r.protections : r.protections;
  a->starved |= sandbox_starved(&r);
  bool done = r.end == SANDBOX_EXITED && r.status == 0;
  if (done && output) {
    *output = r.output;
    r.output = NULL;
  } else if (!done) {
    static const char *const ends[] = {"",
                                       "the compiler crashed",
                                       "the compiler exceeded its time limit",
                                       "the compiler exceeded its memory limit",
                                       "the compiler printed too much",
                                       "the compiler wrote too much",
                                       "the compiler could not be started"};
    a->status = r.end == SANDBOX_NOT_STARTED ? STATUS_GRADER_ERROR : STATUS_COMPILE_ERROR;
    free(a->diagnostics);
    if (asprintf(&a->diagnostics, "%s%s%s", r.output ? r.output : "", r.end == SANDBOX_EXITED ? "" : ends[r.end],
                 r.end == SANDBOX_EXITED ? "" : "\n") < 0)
      a->diagnostics = NULL;
  }
  sandbox_result_free(&r);
  return done;
}

bool answer_run_compiler(Answer *a, const Command *command, const char *readable[2]) {
  char *said = NULL;
  const double seconds = a->for_inspector ? UNROLLED_SECONDS : COMPILE_SECONDS; // hundreds of calls a line
  bool done = answer_run_tool(a, command, readable, seconds, &said);
  if (done && said && !a->for_inspector)
    a->warning = diagnostics_warning(said, a->title);
  free(said);
  if (done || a->status != STATUS_COMPILE_ERROR || !a->diagnostics)
    return done;
  const char *last = NULL; // what ended the compiler, where it was not the compiler itself
  for (const char *at = a->diagnostics; (at = strstr(at, "the compiler ")); at++)
    if (at == a->diagnostics || at[-1] == '\n')
      last = at;
  char *fit = diagnostics_errors(a->diagnostics, a->title), *both = NULL;
  if (last && !strstr(fit, last) && asprintf(&both, "%s\n%.80s", fit, last) >= 0) {
    free(fit);
    fit = both;
  }
  free(a->diagnostics);
  a->diagnostics = fit;
  return done;
}

bool answer_refuse(Answer *a, Status status, const char *why) {
  a->status = status;
  a->diagnostics = strdup(why);
  return false;
}
