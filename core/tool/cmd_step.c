// SPDX-License-Identifier: MIT
// `ferry step`: records a block of a kernel, and walks through it forwards and backwards.
#include "tool/commands.h"
#include "grader/step_answer.h"
#include "inspect/instrument/step_run.h"
#include "step/step.h"
#include "tool/compile/files.h"
#include "tool/run.h"
#include "tool/print/term.h"
#include "tool/step_html.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

typedef struct StepOptions {
  StepWanted wanted;
  const char *file, *at, *json, *html, *sandbox, *replay;
  bool dap;
  InspectOptions build;
} StepOptions;

static bool is_number(const char *text) {
  return *text && text[strspn(text, "0123456789")] == '\0';
}

static int check_values(StepOptions *o) {
  unsigned x, y, z;
  char rest;
  const StepWanted *w = &o->wanted;
  const int parts = w->block ? sscanf(w->block, "%u,%u,%u%c", &x, &y, &z, &rest) : 1; // NOLINT
  if (parts < 1 || parts > 3 || (w->block && w->block[strspn(w->block, "0123456789,")]))
    return usage_error("step", "--block takes the index of a block: 5 or 1,0 or 1,0,2, not %s", w->block);
  if (w->launch && !is_number(w->launch))
    return usage_error("step", "--launch takes a number, 0 for the first launch, not %s", w->launch);
  if (w->limit && (!is_number(w->limit) || strtol(w->limit, NULL, 10) < 1))
    return usage_error("step", "--limit takes a number of steps, at least 1, not %s", w->limit);
  if (o->replay && !run_read_replay(o->replay, &o->wanted.replay, &o->wanted.seed))
    return usage_error("step", "--replay takes what a failed test of ./ferry run printed, such as 2.1f3a");
  o->wanted.devices = wanted_devices();
  return EXIT_PASS;
}

static int parse(int argc, char **argv, StepOptions *o) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    const char **value = strcmp(option, "--kernel") == 0    ? &o->wanted.kernel
                         : strcmp(option, "--launch") == 0  ? &o->wanted.launch
                         : strcmp(option, "--block") == 0   ? &o->wanted.block
                         : strcmp(option, "--limit") == 0   ? &o->wanted.limit
                         : strcmp(option, "--test") == 0    ? &o->wanted.test
                         : strcmp(option, "--replay") == 0  ? &o->replay
                         : strcmp(option, "--at") == 0      ? &o->at
                         : strcmp(option, "--json") == 0    ? &o->json
                         : strcmp(option, "--html") == 0    ? &o->html
                         : strcmp(option, "--sandbox") == 0 ? &o->sandbox
                                                            : NULL;
    int status = EXIT_PASS;
    if (strcmp(option, "--") == 0) {
      o->build.arguments = argv + i;
      break;
    }
    if (value && i + 1 == argc)
      return usage_error("step", "%s needs a value", option);
    if (value)
      *value = argv[++i];
    else if (strcmp(option, "--dap") == 0)
      o->dap = true;
    else if (strncmp(option, "-I", 2) == 0 || strncmp(option, "-D", 2) == 0)
      status = inspect_add_flag(argc, argv, &i, &o->build);
    else if (option[0] == '-')
      return no_option(argv[0], option);
    else if (o->file)
      return usage_error("step", "one file at a time: %s or %s", o->file, option);
    else
      o->file = option;
    if (status != EXIT_PASS)
      return status;
  }
  if (!o->file && !o->dap)
    return usage_error("step", "no file given: ./ferry step FILE.cu");
  return check_values(o);
}

// ---- recording -------------------------------------------------------------------------------------------------------------

typedef struct Recording {
  InspectJob job;
  char *text;
  char record[300];
} Recording;

// An exit status; the record is r->record, in r->job.build.folder.
static int record(Recording *r, const StepOptions *o, FILE *said) {
  const char *name = strrchr(o->file, '/');
  const Exercise *e = NULL;
  r->text = file_read(o->file, NULL);
  if (!r->text) {
    fprintf(said, "ferry step: %s cannot be read: %s\n", o->file, strerror(errno));
    return EXIT_USAGE;
  }
  const int status = inspect_choose_answer("step", o->file, r->text, o->sandbox, &e);
  if (status != EXIT_PASS)
    return status;
  r->job.options = o->build;
  r->job.options.step = true;
  r->job.options.file = o->file;
  r->job.options.kernel = o->wanted.kernel;
  r->job.inspection = (Inspection){.source = r->job.build.source, .title = name ? name + 1 : o->file, .text = r->text};
  if (!inspect_make_folder("step", &r->job.build, !e, said))
    return EXIT_GRADER;
  snprintf(r->record, sizeof r->record, "%s/record", r->job.build.folder);
  if (e)
    return step_answer_record(&r->job, e, &o->wanted, said) ? EXIT_PASS : EXIT_GRADER;
  return step_build(&r->job) && step_run(&r->job, &o->wanted, said) ? EXIT_PASS : EXIT_GRADER;
}

static void forget(Recording *r) {
  if (r->job.build.folder[0])
    sandbox_folder_remove(r->job.build.folder);
  free(r->text);
}

// ---- showing ---------------------------------------------------------------------------------------------------------------

static int columns(void) {
  struct winsize size;
  const char *given = getenv("COLUMNS");
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 80)
    return size.ws_col;
  return given && strtol(given, NULL, 10) >= 80 ? (int)strtol(given, NULL, 10) : 80;
}

static bool copy_record(const char *from, const char *to) {
  size_t bytes;
  char *text = file_read(from, &bytes);
  const bool good = text && file_write(to, text, bytes);
  free(text);
  return good;
}

static int show(const Recording *r, const StepOptions *o) {
  char why[300] = "", said[600] = "";
  Record *record = step_record_load(r->record, why, sizeof why);
  if (!record) {
    fprintf(stderr, "ferry step: %s\n", why);
    return EXIT_GRADER;
  }
  const char *at = o->at ? o->at : record->finding_count > 0 ? "finding" : "0";
  const int step = step_find_near(record, at, said, sizeof said);
  int status = EXIT_PASS;
  if (step < 0)
    status = usage_error("step", "%s", said);
  else if (*said)
    term_paragraph(stderr, "ferry step: ", 12, said);
  if (step >= 0 && !o->json && !o->html && step_has_terminal(why, sizeof why))
    status = step_terminal(record, step);
  else if (step >= 0)
    step_print(record, step, columns(), stdout);
  step_record_free(record);
  return status;
}

static int write_files(const Recording *r, const StepOptions *o) {
  if ((!o->json || copy_record(r->record, o->json)) && (!o->html || step_write_html(r->record, o->html)))
    return EXIT_PASS;
  fprintf(stderr, "ferry step: the record cannot be written: %s\n", file_problem());
  return EXIT_GRADER;
}

// ---- for the debug adapter ---------------------------------------------------------------------------------------------------

static Recording recording; // large

static bool record_launch(const StepLaunch *launch, char *path, size_t path_bytes, FILE *said) {
  static char *arguments[INSPECT_ARGUMENTS + 2], number[16];
  StepOptions o = {.wanted = {.kernel = launch->kernel, .block = launch->block}, .file = launch->program};
  forget(&recording);
  recording = (Recording){0};
  for (int i = 0; i < launch->argument_count && i < INSPECT_ARGUMENTS; i++)
    arguments[i + 1] = (char *)(uintptr_t)launch->arguments[i];
  o.build = (InspectOptions){.arguments = arguments, .quiet = true};
  snprintf(number, sizeof number, "%d", launch->launch);
  o.wanted.launch = launch->launch >= 0 ? number : NULL;
  const bool good = record(&recording, &o, said) == EXIT_PASS;
  snprintf(path, path_bytes, "%s", recording.record);
  return good;
}

int cmd_step(int argc, char **argv) {
  static char *no_arguments[2];
  StepOptions o = {.build = {.arguments = no_arguments, .quiet = true}};
  int status = parse(argc, argv, &o);
  if (status != EXIT_PASS)
    return status;
  if (o.dap) {
    status = step_dap(record_launch);
    forget(&recording);
    return status;
  }
  file_claim_stdout(o.json);
  file_claim_stdout(o.html);
  status = record(&recording, &o, stderr);
  if (status == EXIT_PASS)
    status = write_files(&recording, &o);
  if (status == EXIT_PASS && ((!o.json && !o.html) || o.at))
    status = show(&recording, &o);
  forget(&recording);
  return status;
}
