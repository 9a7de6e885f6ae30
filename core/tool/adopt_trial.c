// SPDX-License-Identifier: MIT
// Whether an answer is fit to be a kernel of the library: every test of its ops runs on it, in the sandbox that answers run in.
#include "tool/adopt.h"
#include "tool/compile/config.h"
#include "tool/compile/process.h"
#include "tool/print/term.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIAL_SECONDS = 240, MIB = 1 << 20, MOST_WORDS = 16 };

static SandboxResult run_once(const char *program, const char *const arguments[], const char *const settings[],
                              const char *readable) {
  char folder[256], temporary[300], home[300];
  const char *argv[MOST_WORDS + 2] = {program}, *environment[MOST_WORDS] = {"PATH=/usr/bin:/bin",
                                                                            "LC_ALL=C.UTF-8",
                                                                            temporary,
                                                                            home,
                                                                            "OMP_NUM_THREADS=2",
                                                                            "OMP_WAIT_POLICY=passive",
                                                                            "FERRY_CUDA=sim",
                                                                            "FERRY_SIM_MEMORY_MB=512",
                                                                            NULL};
  if (!sandbox_folder(folder, sizeof folder))
    return (SandboxResult){.end = SANDBOX_NOT_STARTED, .output = strdup("a temporary folder could not be created\n")};
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
  snprintf(home, sizeof home, "HOME=%s", folder);
  for (int i = 0; arguments[i] && i < MOST_WORDS; i++)
    argv[i + 1] = arguments[i];
  for (int i = 0, used = 8; settings[i] && used < MOST_WORDS - 1; i++)
    environment[used++] = settings[i];
  SandboxJob job = {.argv = argv,
                    .environment = environment,
                    .folder = folder,
                    .readable = {program, readable},
                    .scratch = true,
                    .seconds = TRIAL_SECONDS,
                    .memory = (size_t)2048 * MIB,
                    .address_space = (size_t)10 * 1024 * MIB,
                    .file_bytes = 16 * MIB,
                    .output_bytes = 8 * MIB};
  const SandboxResult result = sandbox_run(&job);
  sandbox_folder_remove(folder);
  return result;
}

// Again where another program had the processor.
SandboxResult adopt_run(const char *program, const char *const arguments[], const char *const settings[],
                        const char *readable) {
  SandboxResult r = run_once(program, arguments, settings, readable);
  for (int tries = 1; tries < ADOPT_TRIES && sandbox_starved(&r); tries++) {
    sandbox_result_free(&r);
    r = run_once(program, arguments, settings, readable);
  }
  return r;
}

// ---- what a trial says ----------------------------------------------------------------------------------------------------------------

typedef struct Trial {
  const Adoptable *own;
  const char *folder; // of the programs
} Trial;

static void say_refused(const Trial *t, const char *tests) {
  printf("\n%s%s is refused%s: with it, %s\n\n", style(RED), exercise_number(exercise_find(t->own->id)), style(PLAIN),
         tests);
}

// The lines of `text` that begin with `prefix`: the first `most` of them.
static int print_lines(const char *text, const char *prefix, int most) {
  int count = 0;
  for (const char *line = text; line && *line;) {
    const size_t length = strcspn(line, "\n");
    if (strncmp(line, prefix, strlen(prefix)) == 0 && length > strlen(prefix) && count++ < most)
      printf("  %.*s\n", (int)(length < 300 ? length : 300), line + strspn(line, " "));
    line += length + (line[length] == '\n');
  }
  return count;
}

// What ended a program before its time; NULL: it ended by itself.
static const char *ended_by(const SandboxResult *r) {
  static const char *const ends[] = {
      [SANDBOX_EXITED] = NULL,
      [SANDBOX_SIGNALED] = "the program crashed",
      [SANDBOX_TIMEOUT] = "the program did not end in time",
      [SANDBOX_MEMORY] = "the program used too much memory",
      [SANDBOX_OUTPUT] = "the program printed too much",
      [SANDBOX_FILES] = "the program wrote too much",
      [SANDBOX_NOT_STARTED] = "the sandbox could not start the program",
  };
  return ends[r->end];
}

static int judge(const Trial *t, SandboxResult *r, const char *tests, const char *prefix, const char *passed) {
  const char *ended = ended_by(r), *said = r->output ? r->output : "";
  int status = EXIT_ANSWER;
  if (r->end == SANDBOX_NOT_STARTED) {
    fprintf(stderr, "ferry adopt: grader error: %s: %s\n", ended, said);
    status = EXIT_GRADER;
  } else if (sandbox_starved(r)) {
    fprintf(stderr, "ferry adopt: the machine is too busy for the tests. Try again later.\n");
    status = EXIT_GRADER;
  } else if (r->end == SANDBOX_EXITED && r->status == EXIT_GRADER) {
    fprintf(stderr, "ferry adopt: grader error: %s\n", said);
    status = EXIT_GRADER;
  } else if (ended || r->status != 0) {
    say_refused(t, tests);
    const int lines = print_lines(said, prefix, 6);
    if (lines > 6)
      printf("  and %d more\n", lines - 6);
    if (ended)
      printf("  %s%s%s\n", ended, r->end == SANDBOX_SIGNALED ? ": " : "",
             r->end == SANDBOX_SIGNALED ? strsignal(r->signal) : "");
    if (lines == 0 && !ended)
      print_lines(said, "", 6);
  } else {
    printf("  %sok%s  %s\n", style(GREEN), style(PLAIN), passed);
    fflush(stdout);
    status = EXIT_PASS;
  }
  sandbox_result_free(r);
  return status;
}

// The ops of the row as arguments after `first`.
static void add_ops(const Adoptable *own, char *copy, size_t bytes, const char **argv, int first) {
  char *rest = copy;
  snprintf(copy, bytes, "%s", own->ops);
  for (char *op; (op = strsep(&rest, " ")) && first < MOST_WORDS;)
    argv[first++] = op;
}

// ---- the trials -----------------------------------------------------------------------------------------------------------------------

static int try_random_calls(const Trial *t, const char *program) {
  static const char *const orders[] = {"FERRY_SIM_ORDER=ascending", "FERRY_SIM_ORDER=descending"};
  const char *arguments[MOST_WORDS + 1] = {NULL};
  char ops[128];
  int status = EXIT_PASS;
  add_ops(t->own, ops, sizeof ops, arguments, 0);
  for (int i = 0; i < 2 && status == EXIT_PASS; i++) {
    SandboxResult r = adopt_run(
        program, arguments, (const char *[]){orders[i], i ? "FERRY_CHECK_SEED=2" : "FERRY_CHECK_SEED=1", NULL}, NULL);
    status = judge(t, &r, "a call of the library differs from the CPU:", "",
                   i == 0 ? "random calls, compared with the CPU"
                          : "other random calls, with the threads in descending order");
  }
  return status;
}

static int try_op_tests(const Trial *t, const char *program) {
  char golden[512], setting[600];
  snprintf(golden, sizeof golden, "%s/golden", t->folder);
  snprintf(setting, sizeof setting, "FERRY_GOLDEN=%s", golden);
  SandboxResult r = adopt_run(program, (const char *[]){"cuda", NULL},
                              (const char *[]){setting, "FERRY_SIM_DEVICES=1", "FERRY_SIM_MODE=lazy", NULL}, golden);
  return judge(t, &r, "a test of the ops fails:", "  ", "the tests of all ops: PyTorch's values, and gradients");
}

static int try_recorded(const Trial *t, const char *program) {
  char recorded[512];
  snprintf(recorded, sizeof recorded, "%s/recorded.txt", t->folder);
  SandboxResult r = adopt_run(program, (const char *[]){"--check", recorded, "cuda:0", NULL},
                              (const char *[]){"FERRY_SIM_DEVICES=2", NULL}, recorded);
  return judge(t, &r, "a program of the fuzzer differs from PyTorch:", "not ok",
               "the fuzzer's programs, with PyTorch's results");
}

// The next line "loss NETWORK STEP VALUE"; NULL: there is no more.
static const char *next_loss(const char *text, char network[32], int *step, double *loss) {
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    if (sscanf(line, "loss %31s %d %lf", network, step, loss) == 3)
      return strchr(line, '\n');
  return NULL;
}

static int compare_losses(const Trial *t, const char *own, const char *library) {
  char network[32];
  int step, steps = 0;
  double mine, theirs;
  while ((own = next_loss(own, network, &step, &mine)) && (library = next_loss(library, network, &step, &theirs))) {
    steps++;
    if (fabs(mine - theirs) <= 1e-4 * fabs(theirs))
      continue;
    say_refused(t, "a network trains differently:");
    printf("  loss      of step %d of the %s, on a batch of 16\n  expected  %.9g, as with the library's kernels\n  got "
           "      "
           "%.9g\n",
           step + 1, network, theirs, mine);
    return EXIT_ANSWER;
  }
  if (steps == 0) {
    fprintf(stderr, "ferry adopt: grader error: the training steps printed no losses\n");
    return EXIT_GRADER;
  }
  printf("  %sok%s  %d training steps: the losses of the library\n", style(GREEN), style(PLAIN), steps);
  return EXIT_PASS;
}

static int try_training(const Trial *t, const char *program, const char *library) {
  static const char *const none[] = {NULL};
  SandboxResult mine = adopt_run(program, none, none, NULL), theirs = adopt_run(library, none, none, NULL);
  int status;
  if (mine.end != SANDBOX_EXITED || mine.status != 0) {
    status = judge(t, &mine, "a training step fails:", "", "");
  } else {
    status = compare_losses(t, mine.output, theirs.output);
    sandbox_result_free(&mine);
  }
  sandbox_result_free(&theirs);
  return status;
}

// ---- all of them ------------------------------------------------------------------------------------------------------------------------

static bool copy_data(const char *folder) {
  Words copy = {0};
  words_split(&copy, "cp -r --");
  words_add(&copy, CONFIG_ROOT "/tests/golden");
  words_add(&copy, CONFIG_ROOT "/tests/fuzz/recorded.txt");
  words_add(&copy, folder);
  Words readable = {0};
  words_split(&readable, "chmod -R a+rX");
  words_add(&readable, folder);
  return run_tool(copy.items, "/", NULL, NULL, NULL) == 0 && run_tool(readable.items, "/", NULL, NULL, NULL) == 0;
}

int adopt_try(const AdoptedList *list, const Adoptable *own, const char *object) {
  static const char *const names[ADOPT_PROGRAMS] = {"check", "step", "op_tests", "recorded"};
  const AdoptedList none = {.count = 0};
  char folder[256], program[ADOPT_PROGRAMS][300], library[300];
  int status = EXIT_GRADER;
  if (!sandbox_folder_own(folder, sizeof folder) || !copy_data(folder)) {
    fprintf(stderr, "ferry adopt: a folder for the tests could not be made\n");
    return EXIT_GRADER;
  }
  const Trial t = {own, folder};
  bool linked = true;
  for (int p = 0; p < ADOPT_PROGRAMS && linked; p++) {
    snprintf(program[p], sizeof program[p], "%s/%s", folder, names[p]);
    linked = adopt_link_program((AdoptProgram)p, list, own, object, program[p]);
  }
  snprintf(library, sizeof library, "%s/library", folder);
  if (linked && adopt_link_program(ADOPT_STEP, &none, NULL, NULL, library))
    status = try_random_calls(&t, program[ADOPT_CHECK]);
  if (status == EXIT_PASS)
    status = try_op_tests(&t, program[ADOPT_OP_TESTS]);
  if (status == EXIT_PASS)
    status = try_recorded(&t, program[ADOPT_RECORDED]);
  if (status == EXIT_PASS)
    status = try_training(&t, program[ADOPT_STEP], library);
  sandbox_folder_remove(folder);
  return status;
}
