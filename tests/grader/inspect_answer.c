// SPDX-License-Identifier: MIT
// `ferry inspect` of an answer to an exercise, which may be anybody's: built by the tools that build answers to judge them, and run by the
// exercise's tests, all of it in the sandbox. What a run records comes back as a file in its folder, also where the answer crashed.
#include "answer_tools.h"
#include "case.h"
#include "tool/compile/config.h"
#include "tool/compile/files.h"
#include "tool/compile/toolkit.h"
#include "inspect_answer.h"
#include "sim/compile/kernel_flags.h"
#include "tools_root.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN_SECONDS = 600, MOST_SETTINGS = 48, SETTING_BYTES = 512, MOST_RECORDED = 64 << 20 };
static const size_t MEMORY = (size_t)8 << 30;

static bool build(InspectJob *job) {
  char source[PATH_MAX];
  InspectAnswer *subject = job->data;
  const InspectOptions *o = &job->options;
  InspectBuild *b = &job->build;
  Answer *a = subject->answer = calloc(1, sizeof *a);
  if (!a || !realpath(o->file, source)) {
    fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", o->file, strerror(errno));
    return false;
  }
  answer_build_inspected(a, subject->exercise, source, o->blocks || o->kernel || subject->exercise->open);
  if (a->status == STATUS_NOT_RUN && answer_find_mix(a)) {
    snprintf(b->source, sizeof b->source, "%s", a->source);
    snprintf(b->program, sizeof b->program, "%s", a->program);
    return true;
  }
  fprintf(stderr, "ferry inspect: the answer could not be built: %s\n%s", status_name(a->status),
          a->diagnostics ? a->diagnostics : "");
  return false;
}

void inspect_answer_free(InspectAnswer *a) {
  if (a->answer)
    answer_free(a->answer);
  free(a->answer);
  a->answer = NULL;
}

// ---- running -------------------------------------------------------------------------------------------------------------

typedef struct Settings {
  char text[MOST_SETTINGS][SETTING_BYTES];
  const char *list[MOST_SETTINGS + 1];
  int count;
} Settings;

static void add(Settings *s, const char *name, const char *value) {
  if (!value || s->count == MOST_SETTINGS)
    return;
  snprintf(s->text[s->count], SETTING_BYTES, "%s=%s", name, value);
  s->list[s->count] = s->text[s->count];
  s->count++;
}

// What the user has set for the simulator holds here too.
static void add_users(Settings *s) {
  extern char **environ;
  for (char **one = environ; *one; one++) {
    char name[64];
    const size_t length = strcspn(*one, "=");
    if (strncmp(*one, "FERRY_SIM_", 10) != 0 || length >= sizeof name || (*one)[length] != '=')
      continue;
    snprintf(name, sizeof name, "%.*s", (int)length, *one);
    if (strcmp(name, "FERRY_SIM_MEMORY_MB") != 0 && strcmp(name, "FERRY_SIM_ORDER") != 0 &&
        strcmp(name, "FERRY_SIM_GPU") != 0)
      add(s, name, *one + length + 1);
  }
}

// What is one run's: a test of the exercise, and the order of its threads.
typedef struct AnswerRun {
  const Test *test;
  bool descending;
  char folder[256], blocks[16];
} AnswerRun;

// A scored test has large inputs: it instruments as many blocks of each launch as when it is scored, unless --blocks says otherwise.
static const char *blocks_of(const InspectJob *job, AnswerRun *r) {
  if (!r->test->scored || r->test->scored->blocks <= 0 || job->options.blocks)
    return job->options.blocks;
  snprintf(r->blocks, sizeof r->blocks, "%d", r->test->scored->blocks);
  return r->blocks;
}

static void set_all(Settings *s, const InspectJob *job, AnswerRun *r) {
  char record[300];
  const InspectOptions *o = &job->options;
  const Answer *a = ((InspectAnswer *)job->data)->answer;
  const char *folder = r->folder;
  const char *gpu = o->gpu ? o->gpu : getenv("FERRY_SIM_GPU");
  snprintf(record, sizeof record, "%s/record", folder);
  memset(s, 0, sizeof *s);
  add(s, "PATH", "/usr/bin:/bin");
  add(s, "LC_ALL", "C.UTF-8");
  add(s, "TMPDIR", folder);
  add(s, "HOME", folder);
  add(s, "FERRY_CUDA", "sim");
  add(s, "FERRY_SIM_MEMORY_MB", KERNELS_MEMORY_MB);
  add_users(s);
  add(s, "FERRY_SIM_GPU", gpu);
  add(s, "FERRY_SIM_ORDER", r->descending ? "descending" : "ascending");
  add(s, "FERRY_INSPECT_RECORD", record);
  add(s, "FERRY_INSPECT_KERNEL", o->kernel);
  add(s, "FERRY_INSPECT_BLOCKS", blocks_of(job, r));
  add(s, "FERRY_INSPECT_COUNTS", r->descending && !gpu ? "0" : NULL); // counts come from the other run
  add(s, "FERRY_INSPECT_MIX", a->mix[0] ? a->mix : NULL);
}

// What the exercise's driver is asked; what it answers is not looked at (malloc).
static uint8_t *request_of(const Exercise *e, const Test *test, uint64_t seed, int devices, size_t *bytes) {
  static Case c; // large
  case_begin(&c, e, test, seed, devices);
  case_ask(&c);
  uint8_t *request = message_pack(&c.request, bytes);
  case_free(&c);
  return request;
}

SandboxResult inspect_run_sandboxed(const InspectSandboxed *run) {
  char bundle[512];
  size_t bytes = 0;
  uint8_t *request = request_of(run->exercise, run->test, run->seed, run->devices, &bytes);
  const char *argv[] = {run->program, NULL};
  tools_path(bundle, sizeof bundle, CONFIG_ROOT "/build/bundle");
  SandboxJob sandbox = {.argv = argv,
                        .environment = run->environment,
                        .folder = run->folder,
                        .readable = {run->program, bundle, run->readable},
                        .request = request,
                        .request_bytes = bytes,
                        .seconds = run->seconds,
                        .memory = MEMORY,
                        .file_bytes = run->most_recorded,
                        .folder_bytes = 2 * run->most_recorded,
                        .output_bytes = 1 << 20,
                        .lines = 25};
  SandboxResult result = sandbox_run(&sandbox);
  free(request);
  return result;
}

static SandboxResult run_test(const InspectJob *job, AnswerRun *r) {
  static Settings settings; // large
  const InspectAnswer *subject = job->data;
  set_all(&settings, job, r);
  return inspect_run_sandboxed(&(InspectSandboxed){.exercise = subject->exercise,
                                                   .test = r->test,
                                                   .seed = hash_text(1, r->test->name),
                                                   .devices = 1,
                                                   .program = job->build.program,
                                                   .environment = settings.list,
                                                   .folder = r->folder,
                                                   .readable = subject->answer->mix[0] ? subject->answer->mix : NULL,
                                                   .seconds = RUN_SECONDS,
                                                   .most_recorded = MOST_RECORDED});
}

// The answer may have put anything there.
FILE *inspect_open_record(const char *folder, const char *name) {
  char path[300];
  struct stat about;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool plain = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1;
  FILE *record = plain ? fdopen(file, "r") : NULL;
  if (!record && file >= 0)
    close(file);
  return record;
}

static bool take_record(Inspection *i, Answer *a, FILE *record, bool descending) {
  locations_forget();
  const bool good = inspection_want(record) && answer_find_places(a, i);
  if (good)
    inspection_take(i, record, descending);
  return good;
}

static void say_no_record(const SandboxResult *r, const char *test) {
  static const char *const ends[] = {
      "it ended without one", "it was killed",     "it exceeded its time limit", "it exceeded its memory limit",
      "it printed too much",  "it wrote too much", "it could not be started"};
  fprintf(stderr, "ferry inspect: the answer left no record in the test \"%s\": %s\n%s", test, ends[r->end],
          r->output ? r->output : "");
}

static bool run_and_add(InspectJob *job, const Test *test, bool descending) {
  AnswerRun run = {.test = test, .descending = descending};
  if (!sandbox_folder(run.folder, sizeof run.folder)) {
    fprintf(stderr, "ferry inspect: a temporary folder could not be created: %s\n", strerror(errno));
    return false;
  }
  job->inspection.step.test = test->scored ? NULL : test->name;
  SandboxResult r = run_test(job, &run);
  FILE *record = inspect_open_record(run.folder, "record");
  const bool added = record && take_record(&job->inspection, ((InspectAnswer *)job->data)->answer, record, descending);
  if (!added)
    say_no_record(&r, test->name);
  if (record)
    fclose(record);
  sandbox_result_free(&r);
  sandbox_folder_remove(run.folder);
  return added;
}

static bool run(InspectJob *job, bool descending) {
  const Test *tests = ((InspectAnswer *)job->data)->exercise->tests;
  for (const Test *t = tests; t < tests + MAX_TESTS && t->name; t++)
    if (!t->huge && !run_and_add(job, t, descending))
      return false;
  return true;
}

// ---- what nvcc makes of it -------------------------------------------------------------------------------------------------

static bool save(const char *path, const char *text) {
  FILE *file = text ? fopen(path, "wxe") : NULL;
  const bool written = file && fputs(text, file) >= 0;
  return file && fclose(file) == 0 && written;
}

// The machine code of the answer, which may be anybody's, is read in the sandbox.
static bool disassemble(Answer *tool, const char *sass) {
  char nvdisasm[2300], *text = NULL;
  Command c = {0};
  if (!toolkit_find("nvdisasm", nvdisasm, sizeof nvdisasm))
    return false;
  command_program(&c, nvdisasm);
  command_words(&c, "-gi -c kernels.cubin");
  const bool good = answer_run_tool(tool, &c, (const char *[2]){NULL, NULL}, NVCC_SECONDS, &text) && save(sass, text);
  free(text);
  return good;
}

static bool ask_nvcc(const InspectJob *job, const char *flags, const char *used, const char *sass) {
  Command c = {0};
  const Answer *answer = ((InspectAnswer *)job->data)->answer;
  Answer tool = {.exercise = answer->exercise};
  char header[512], nvcc[2300], *text = NULL;
  if (!toolkit_find("nvcc", nvcc, sizeof nvcc) || !sandbox_folder(tool.folder, sizeof tool.folder))
    return false;
  in_root(header, sizeof header, "tests/hidden/%s/answer.h", tool.exercise->id);
  command_program(&c, nvcc);
  command_words(&c, flags);
  command_words(&c, "-o kernels.cubin -I" CONFIG_ROOT "/core -include");
  command_word(&c, "%s", header);
  command_word(&c, "%s", answer->source);
  const bool good = answer_run_tool(&tool, &c, (const char *[2]){header, answer->folder}, NVCC_SECONDS, &text) &&
                    save(used, text) && (!sass || disassemble(&tool, sass));
  free(text);
  free(tool.diagnostics);
  sandbox_folder_remove(tool.folder);
  return good;
}

const InspectSubject inspect_answer = {build, run, ask_nvcc};
