// SPDX-License-Identifier: MIT
// `ferry inspect`: what a file's kernels do, line by line.
#include "tool/commands.h"
#include "tool/milestones.h"
#include "grader/inspect_answer.h"
#include "grader/sandbox.h"
#include "inspect/instrument/instrument.h"
#include "tool/compile/files.h"
#include "tool/compile/root.h"
#include "tool/print/shell.h"
#include "model/gpu.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int inspect_add_flag(int argc, char **argv, int *i, InspectOptions *o) {
  const char *option = argv[*i];
  char folder[PATH_MAX], *flag;
  if (!option[2] && *i + 1 == argc)
    return usage_error(argv[0], "%s needs a value", option);
  if (o->flag_count == INSPECT_MACROS)
    return usage_error(argv[0], "at most %d options -I and -D are possible", INSPECT_MACROS);
  const char *value = option[2] ? option + 2 : argv[++*i];
  const bool is_folder = option[1] == 'I' && realpath(value, folder);
  if (asprintf(&flag, "-%c%s", option[1], is_folder ? folder : value) < 0)
    fatal_error("no memory for an option");
  o->flags[o->flag_count++] = flag;
  return EXIT_PASS;
}

// An option without a value.
static bool set_switch(const char *option, InspectOptions *o) {
  const struct {
    const char *name;
    bool *set, *too;
  } switches[] = {
      {"--table", &o->table, &o->quiet},  {"--quiet", &o->quiet, NULL}, {"--gcc", &o->gcc, &o->quiet},
      {"--once", &o->once, NULL},         {"--sass", &o->sass, NULL},   {"--prove", &o->prove, NULL},
      {"--no-proof", &o->no_proof, NULL}, {"--nvcc", &o->nvcc, NULL},   {"--no-registers", &o->no_registers, NULL}};
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
    if (strcmp(option, switches[i].name) == 0) {
      *switches[i].set = true;
      if (switches[i].too)
        *switches[i].too = true;
      return true;
    }
  return false;
}

static int parse(int argc, char **argv, InspectOptions *o, const char **sandbox) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    const char **value = strcmp(option, "--kernel") == 0    ? &o->kernel
                         : strcmp(option, "--blocks") == 0  ? &o->blocks
                         : strcmp(option, "--program") == 0 ? &o->program
                         : strcmp(option, "--json") == 0    ? &o->json
                         : strcmp(option, "--html") == 0    ? &o->html
                         : strcmp(option, "--sarif") == 0   ? &o->sarif
                         : strcmp(option, "--gpu") == 0     ? &o->gpu
                         : strcmp(option, "--grid") == 0    ? &o->grid
                         : strcmp(option, "--block") == 0   ? &o->block
                         : strcmp(option, "--shared") == 0  ? &o->shared
                         : strcmp(option, "--sandbox") == 0 ? sandbox
                                                            : NULL;
    if (strcmp(option, "--") == 0) {
      o->arguments = argv + i; // the program's own name goes where -- was
      break;
    }
    if (set_switch(option, o))
      continue;
    if (strcmp(option, "-include") == 0) {
      char header[PATH_MAX];
      if (i + 1 == argc || !realpath(argv[++i], header) || o->flag_count + 2 > INSPECT_MACROS)
        return usage_error(argv[0], "-include needs a header that can be read");
      o->flags[o->flag_count++] = option;
      o->flags[o->flag_count++] = strdup(header);
      continue;
    }
    if (strncmp(option, "-I", 2) == 0 || strncmp(option, "-D", 2) == 0) {
      const int status = inspect_add_flag(argc, argv, &i, o);
      if (status != EXIT_PASS)
        return status;
      continue;
    }
    if (strcmp(option, "--arg") == 0) {
      if (i + 1 == argc || !strchr(argv[i + 1], '='))
        return usage_error(argv[0], "--arg needs a parameter and its value, as in --arg n=1000 or --arg 'x=float[n]'");
      if (o->argument_count == INSPECT_ARGUMENTS)
        return usage_error(argv[0], "at most %d options --arg are possible", INSPECT_ARGUMENTS);
      o->kernel_arguments[o->argument_count++] = argv[++i];
      continue;
    }
    if (strcmp(option, "--with") == 0) {
      if (i + 1 == argc || o->with_count == INSPECT_FILES)
        return usage_error(argv[0], "--with needs a file, and at most %d are possible", INSPECT_FILES);
      o->with[o->with_count++] = argv[++i];
      continue;
    }
    if (value && i + 1 == argc)
      return usage_error(argv[0], "%s needs a value", option);
    if (value)
      *value = argv[++i];
    else if (option[0] == '-')
      return no_option(argv[0], option);
    else if (o->file)
      return usage_error(argv[0], "one file at a time: %s or %s", o->file, option);
    else
      o->file = option;
  }
  if (o->program ? o->file != NULL || o->html != NULL : !o->file)
    return o->program ? usage_error(argv[0], "--program replaces the file, and has no source for --html")
                      : usage_error(argv[0], "no file given: ./ferry inspect FILE.cu");
  char *end = (char *)"";
  if (o->blocks && strcmp(o->blocks, "all") == 0) {
    o->all_blocks = true;
    o->blocks = NULL;
  }
  if (o->blocks && (strtol(o->blocks, &end, 10) < 1 || *end))
    return usage_error(argv[0], "--blocks takes a number, at least 1, or all, not %s", o->blocks);
  return EXIT_PASS;
}

static bool has_main(const char *text) {
  for (const char *at = text; (at = strstr(at, "main")); at += 4)
    if (at > text && (at[-1] == ' ' || at[-1] == '\n') && at[4 + strspn(at + 4, " \t")] == '(')
      return true;
  return false;
}

// Then main may be in a header.
static bool includes_own_header(const char *text) {
  for (const char *at = text; (at = strchr(at, '#')); at++) {
    const char *word = at + 1 + strspn(at + 1, " \t");
    if (strncmp(word, "include", 7) == 0 && word[7 + strspn(word + 7, " \t")] == '"')
      return true;
  }
  return false;
}

// An answer has no main of its own: 27_1_tiled_matmul.cu, or a file in a folder of that name.
const Exercise *inspect_exercise_of(const char *file) {
  char path[4096];
  snprintf(path, sizeof path, "%s", file);
  for (int turn = 0; turn < 2; turn++) {
    char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    name[strcspn(name, ".")] = '\0';
    for (int i = 0; i < exercise_count(); i++)
      if (strcmp(exercise_at(i)->id, name) == 0 && strcmp(exercise_extension(exercise_at(i)), "cu") == 0)
        return exercise_at(i);
    if (!slash)
      return NULL;
    *slash = '\0';
  }
  return NULL;
}

static bool tells_launch(const InspectOptions *o) {
  return o->grid || o->block || o->shared || o->argument_count;
}

// Without a main, or told how to launch it.
static bool is_bare_kernel(const InspectOptions *o, const char *text) {
  return text && (tells_launch(o) || (!has_main(text) && (strstr(text, "--blockDim=") || !includes_own_header(text))));
}

static int not_a_program(const InspectOptions *o) {
  fprintf(stderr,
          "ferry inspect: %s has no main, so nothing launches its kernels. Say how to launch one of them:\n"
          "  ./ferry inspect %s --kernel NAME --grid 8 --block 256 --arg n=1000 --arg 'x=float[n]'\n"
          "or name the file like the exercise that it answers (27_1_tiled_matmul.cu).\n",
          o->file, o->file);
  return EXIT_USAGE;
}

static void print_skipped_tests(const Exercise *e) {
  for (const Test *t = e->tests; t < e->tests + MAX_TESTS && t->name; t++)
    if (t->huge)
      printf("  not inspected, because its input is too large: the test\n  \"%s\"\n", t->name);
}

// Sets `exercise` to NULL where the file is a program. A file that could be either is refused: an answer with a main would otherwise escape
// the sandbox.
static int tell_answer(const char *command, const char *file, const char *text, const char *sandbox,
                       const Exercise **exercise) {
  const Exercise *e = *exercise;
  const bool program = !e || has_main(text), unconfined = sandbox && strcmp(sandbox, "none") == 0;
  if (program && e && !unconfined)
    return usage_error(command,
                       "%s has the name of an answer to %s, but contains a main. Remove main, or use --sandbox none to "
                       "run it as your own program, without the sandbox.",
                       file, e->id);
  *exercise = program ? NULL : e;
  return EXIT_PASS;
}

int inspect_choose_answer(const char *command, const char *file, const char *text, const char *sandbox,
                          const Exercise **exercise) {
  *exercise = inspect_exercise_of(file);
  int status = tell_answer(command, file, text, sandbox, exercise);
  if (status == EXIT_PASS && *exercise)
    status = begin_sandbox(command, sandbox);
  return status < 0 ? EXIT_PASS : status;
}

// An answer runs in the sandbox, a program with the user's own rights. Sets `exercise` where the file is an answer; the result is an exit
// status, or -1 to go on.
static int choose_subject(InspectOptions *o, const char *sandbox, const char *text, const Exercise **exercise) {
  const Exercise *e = o->file ? inspect_exercise_of(o->file) : NULL;
  o->bare = !e && is_bare_kernel(o, text);
  if (e && tells_launch(o))
    return usage_error("inspect", "%s is an answer to %s, whose tests launch it: no --grid, --block, --shared or --arg",
                       o->file, e->id);
  if (o->bare && !o->grid && !o->block && !strstr(text, "--blockDim="))
    return not_a_program(o);
  if (o->bare)
    return -1;
  *exercise = e;
  const int status = tell_answer("inspect", o->file, text, sandbox, exercise);
  if (status != EXIT_PASS)
    return status;
  if (*exercise && (o->with_count > 0 || o->flag_count > 0))
    return usage_error("inspect", "--with, -I and -D are for programs: an answer is one file");
  return *exercise ? begin_sandbox("inspect", sandbox) : -1;
}

// ./ferry step takes one file with a main, or an answer.
static void describe_step(InspectJob *job, bool answer) {
  static char flags[4096], arguments[4096];
  const InspectOptions *o = &job->options;
  InspectStep *s = &job->inspection.step;
  char word[4096];
  s->shown = o->file ? o->file : o->program;
  if (!o->file || o->bare || o->with_count > 0 || o->nvcc)
    return;
  for (int n = 0; n < o->flag_count; n++) {
    if (strncmp(o->flags[n], "-I", 2) != 0 && strncmp(o->flags[n], "-D", 2) != 0)
      return;
    snprintf(flags + strlen(flags), sizeof flags - strlen(flags), " %s", shell_word(o->flags[n], word, sizeof word));
  }
  for (char **a = o->arguments + 1; o->arguments[0] && *a; a++)
    snprintf(arguments + strlen(arguments), sizeof arguments - strlen(arguments), "%s %s", *arguments ? "" : " --",
             shell_word(*a, word, sizeof word));
  *s = (InspectStep){.shown = o->file,
                     .file = o->file,
                     .flags = flags,
                     .arguments = arguments,
                     .one_kernel = o->kernel,
                     .in_tests = answer};
}

static bool can_be_modeled(const char *id) {
  const struct model_gpu *gpu = model_gpu_named(id);
  return gpu && model_gpu_can_be_simulated(gpu);
}

bool inspect_make_folder(const char *command, InspectBuild *b, bool own_program, FILE *said) {
  if (sandbox_folder_own(b->folder, sizeof b->folder) && (!own_program || chmod(b->folder, 0700) == 0))
    return true;
  fprintf(said, "ferry %s: a temporary folder cannot be created in $TMPDIR or /tmp: %s\n", command, strerror(errno));
  return false;
}

static int inspect(InspectJob *job, InspectAnswer *answer) {
  if (answer->exercise) {
    job->subject = &inspect_answer;
    job->data = answer;
  }
  int status =
      inspect_make_folder("inspect", &job->build, !answer->exercise, stderr) ? inspect_run_stages(job) : EXIT_GRADER;
  if (answer->exercise && !job->options.table && !job->options.gcc && status <= EXIT_ANSWER)
    print_skipped_tests(answer->exercise);
  inspect_answer_free(answer);
  if (job->build.folder[0])
    sandbox_folder_remove(job->build.folder);
  return status;
}

// A milestone where the file is the learner's: none of Ferry's own programs, which have races on purpose.
static void note_race(const InspectJob *job) {
  char file[PATH_MAX], work[PATH_MAX], path[PATH_MAX];
  const char *name = job->options.file;
  work_path(path, sizeof path, "%s", "");
  if (!name || !realpath(name, file) || !realpath(path, work))
    return;
  const size_t root = strlen(root_folder()), length = strlen(work);
  const bool is_ours = strncmp(file, root_folder(), root) == 0 && file[root] == '/',
             in_work = strncmp(file, work, length) == 0 && file[length] == '/';
  for (int i = 0; i < job->inspection.finding_count && (in_work || !is_ours); i++)
    if (strncmp(job->inspection.findings[i].kind->id, "race-", 5) == 0) {
      milestone_note(MILESTONE_RACE, strrchr(file, '/') + 1);
      return;
    }
}

int cmd_inspect(int argc, char **argv) {
  static InspectJob job; // large
  static char *no_arguments[2];
  InspectOptions *o = &job.options;
  InspectAnswer answer = {0};
  const char *sandbox = NULL;
  o->arguments = no_arguments;
  int status = parse(argc, argv, o, &sandbox);
  if (status != EXIT_PASS)
    return status;
  file_claim_stdout(o->json);
  file_claim_stdout(o->html);
  file_claim_stdout(o->sarif);
  char *text = o->program ? NULL : file_read(o->file, NULL);
  if (!text && !o->program) {
    fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", o->file, strerror(errno));
    return EXIT_USAGE;
  }
  if (o->gpu && !can_be_modeled(o->gpu))
    return usage_error(argv[0], "there is no model of the GPU %s; FERRY_SIM_GPU=list lists the GPUs", o->gpu);
  if ((status = choose_subject(o, sandbox, text, &answer.exercise)) >= 0)
    return status;
  const char *shown = o->program ? o->program : o->file, *name = strrchr(shown, '/');
  job.subject = &inspect_own_program;
  job.inspection = (Inspection){.source = job.build.source, .title = name ? name + 1 : shown, .text = text};
  job.inspection.gpu = o->gpu ? o->gpu : getenv("FERRY_SIM_GPU");
  describe_step(&job, answer.exercise != NULL);
  status = inspect(&job, &answer);
  note_race(&job);
  free(text);
  return status;
}
