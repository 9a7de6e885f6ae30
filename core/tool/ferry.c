// SPDX-License-Identifier: MIT
// ./ferry: the learner's and the instructor's command. `./ferry help` lists what it can do.
#include "tool/commands.h"
#include "base/version.h"
#include "tool/compile/config.h"
#include "ferry_commit.h"
#include "tool/print/term.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Command commands[] = {
    {"start", "[TRACK]", "make the workspace work/ with an unsolved copy of each exercise",
     "TRACK     what ./ferry next goes through: all, kernels (CUDA only), pytorch (the library) or debugging\n"
     "Existing files in work/ are never overwritten: run it again after an update to get new exercises.\n"
     "Environment: FERRY_WORK=DIR, a workspace elsewhere.\n",
     cmd_start, false, HELP_ANYWHERE},
    {"list", "[--all | --ids]", "the exercises by lesson, and how far you are",
     "--all  also those outside of your track\n--ids  only the names\n", cmd_list, false, HELP_ANYWHERE},
    {"chapter", "N[#SECTION] [--read]", "run chapter N, or show its lesson",
     "--read    the lesson, through $PAGER on a terminal\n"
     "#SECTION  the lesson at that section, such as 20#grid-block-guard or, shorter, 20#guard\n"
     "Further arguments go to the chapter's program (--device, --quick). Instead of N, the name of another page of "
     "docs/: glossary, inspector#findings.\n",
     cmd_chapter, false, HELP_ALONE},
    {"run", "[EX] [options]", "check an exercise (without EX: the next one)",
     "EX is a number, a name or a part of a name: 3.1, 03_1_create_on_the_device, create.\n"
     "--all             a line for each test, and the report of every failed one\n"
     "--first           no test after the first that fails\n"
     "--devices LIST    built once and judged with each number of simulated devices, such as 1,4\n"
     "--times N         built once and judged N times, each time with other inputs\n"
     "--test NAME       only this test\n"
     "--replay N.SEED   repeat a failed test with the same inputs\n"
     "--file FILE       check another file than the one in the workspace\n" SANDBOX_HELP
     "Environment: FERRY_SIM_DEVICES=N (2), FERRY_CUDA=sim|real, FERRY_ANSWER_SECONDS (10 for each test),\n"
     "FERRY_ANSWER_MEMORY_MB (2048).\n",
     cmd_run, false, HELP_ANYWHERE},
    {"watch", "[EX] [options]", "check at once and at every save",
     "Checks whichever exercise is saved in the workspace. Keys on a terminal: n the next exercise, h a hint, e open "
     "it in $EDITOR, r run it again, l the list, q end.\n" SANDBOX_HELP,
     cmd_watch, false, HELP_ANYWHERE},
    {"hint", "[EX]", "a hint; one more at each asking", "", cmd_hint, false, HELP_ANYWHERE},
    {"edit", "[EX]", "open an exercise in $EDITOR", "", cmd_edit, false, HELP_ANYWHERE},
    {"reset", "EX", "start an exercise again; your file is kept aside", "", cmd_reset, false, HELP_ANYWHERE},
    {"solution", "EX [--spoil]", "the worked solution, after your answer has passed", "--spoil  also before\n",
     cmd_solution, false, HELP_ANYWHERE},
    {"diff", "EX [--spoil]", "yours beside another answer, after yours has passed",
     "After them stands in which other ways the tests were solved.\n--spoil  also before\n", cmd_diff, false,
     HELP_ANYWHERE},
    {"next", "", "which exercise comes next", "", cmd_next, false, HELP_ANYWHERE},
    {"best", "[EX]", "your best so far in the open exercises (\"make it faster\")",
     "For each: the tries that were faster than all before, their times as modelled for a GPU, beside those of the "
     "reference and of what was handed out.\n"
     "./ferry run adds a row when a try passes and is faster. The file is work/.best.\n"
     "Environment: NO_COLOR.\n",
     cmd_best, false, HELP_ANYWHERE},
    {"doctor", "[options]", "what is installed, what is missing, and the command that installs it", SANDBOX_HELP,
     cmd_doctor, false, HELP_ANYWHERE},
    {"inspect", "FILE.cu [options] [-- ARGS]", "what a file's kernels do, line by line, and what is wrong with them",
     "FILE is a program, or an answer to a kernel exercise, which the exercise's tests then run. Its kernels are "
     "instrumented:\n"
     "each memory access is traced. It runs on a simulated device twice, with threads in ascending and in descending "
     "order.\n"
     "--program PROG  inspect a program that is already built with instrumented kernels, instead of a file\n"
     "--with FILE.cu  compile and link this file, too; may be repeated\n"
     "--kernel NAME   instrument only this kernel\n"
     "--blocks N      instrument N blocks of each launch, from the middle of the grid; the others run uninstrumented\n"
     "--gpu NAME      model this GPU: how long each kernel would take there, and what limits it (FERRY_SIM_GPU=list)\n"
     "--once          only the run in ascending order, in half the time: for counts, not for findings\n"
     "--no-registers  do not ask ptxas for registers, which takes seconds where there is a CUDA toolkit\n"
     "--quiet         only the report, without the program's output\n"
     "--table         only a row per kernel, without the program's output; with modelled times where FERRY_SIM_GPU "
     "names a GPU\n"
     "--json FILE     write findings, kernels and lines as JSON, one object per line; - is standard output, and the "
     "report goes to stderr\n"
     "--html FILE     write a page: the source with its counts in the margin and findings where they occur\n"
     "--sandbox LEVEL confine an answer at this level (./ferry run --help) instead of the strongest available. A "
     "program is not confined: it runs as you\n"
     "-- ARGS         the program's arguments\n"
     "Exit status: 0 nothing found, 1 something is wrong, 2 wrong command line, 3 it could not be compiled or run.\n",
     cmd_inspect, false, HELP_ANYWHERE},
    {"cuda", "FILE.cu... [-- ARGS]", "compile a CUDA program and run it on a simulated device",
     "Any CUDA program, from anywhere. No GPU and no CUDA toolkit are needed: g++ compiles it.\n"
     "--count     after the run: launches, copies, bytes, waits, and device memory that was not freed\n"
     "--inspect   what its kernels do, line by line (./ferry inspect)\n"
     "-- ARGS     the program's arguments\n"
     "Options of nvcc (-I, -D, -std, -O, -l, ...) are taken as ./ferry nvcc takes them. The exit status is the "
     "program's.\n"
     "Environment: FERRY_SIM_GPU=a100 and others, and the rest of core/sim/README.md.\n",
     cmd_cuda, false, HELP_ALONE},
    {"nvcc", "[options] FILE...", "nvcc's command line, for the simulated device: make NVCC=\".../ferry nvcc\"",
     "-o FILE, -c, -dc, -E, -M, -lib, -shared; -I, -D, -U, -L, -l, -include, -isystem, -x cu, -std, -O, -g, -w;\n"
     "-Xcompiler LIST, -Xlinker LIST; -dryrun and -v show the commands; --version.\n"
     ".cu files are compiled as CUDA, .c and .cpp by the host's compiler; objects and libraries are linked.\n"
     "What speaks of a GPU's code (-arch, -gencode, -rdc, -Xptxas, -lineinfo, -use_fast_math ...) is ignored, with a "
     "note;\n"
     "-ptx, -cubin, -fatbin and -dlink are refused. Standards before C++17 are taken for C++17.\n"
     "__CUDA_ARCH__ is 900 in the whole file: host and device code are compiled together.\n"
     "What is built runs by itself. FERRY_SIM_COUNT=1 counts what it does, as ./ferry cuda --count.\n",
     cmd_nvcc, false, HELP_ALONE},
    {"play", "FILE [-- ARGS]", "compile a .c or .cu file, run it, and say what was counted",
     "Any program. A .c file is compiled against the library; a .cu file for a simulated device, as ./ferry cuda "
     "--count "
     "does it.\n"
     "-- ARGS  the program's arguments\n"
     "The exit status is the program's. Environment: FERRY_CUDA, FERRY_SIM_DEVICES and FERRY_SIM_GPU.\n",
     cmd_play, false, HELP_ALONE},
    {"new", "NAME", "a folder with a program of your own that builds and runs",
     "main.c, a Makefile that finds the library (installed, through pkg-config, or this clone's), and the flags that "
     "clangd wants.\n",
     cmd_new, false, HELP_ANYWHERE},
    {"book", "[PAGE]", "open the book in a browser",
     "PAGE is a lesson's or an exercise's number, a function (fy_to), or a page's name (model). `make book` makes the "
     "book, in\n"
     "build/book/site; $BROWSER opens it, or the desktop's own browser. Without either its address is printed.\n",
     cmd_book, false, HELP_ANYWHERE},
    {"bench", "[NAME] [options]", "measure what the library does on a device", "", cmd_bench, false, HELP_OWN},
    {"timeline", "TRACE -o PICTURE", "draw a trace of the profiler", "", cmd_timeline, false, HELP_OWN},
    {"scale", "[options]", "how a training scales to many GPUs, on paper",
     "What is sent (one of them):\n"
     "--model NAME          a network whose layers are known; --list has them all\n"
     "--parameters N        so many parameters (25.6M), ready evenly\n"
     "--buckets SIZE,SIZE   gradients in buckets of these sizes (1MiB,25MiB)\n"
     "--dtype TYPE          of the gradients: float32 (default), float16, bfloat16\n"
     "How long a step takes on one GPU (one of them):\n"
     "--step-time T         97ms; a third is taken for the forward pass, the rest for the backward pass\n"
     "--forward T --backward T\n"
     "                      32ms, 65ms; with --step-time as well, the rest comes after the gradients\n"
     "--bench FILE          the row of --model in a file of ./ferry bench (--batch N: of that batch)\n"
     "Where:\n"
     "--gpus N,N            8 to 4096 in powers of two\n"
     "--per-node N          GPUs in a node (8)\n"
     "--node NAME           what joins them (nvlink3); --list has them all\n"
     "--network NAME,NAME   what joins nodes; 8xib-ndr: eight adapters for each node\n"
     "--alpha T --beta B    other numbers for an adapter: 14us; 12GB/s, 100Gbit/s or seconds a byte\n"
     "--algorithm NAME      ring, tree, or best (default): for each bucket the faster\n"
     "What comes out: a table of efficiencies; with one network, of times too. All of it is modelled.\n"
     "--events              also the same schedule message by message, for at most 64 GPUs and 4 GiB (one network)\n"
     "--json, --csv         the same for programs\n"
     "--plot FOLDER         pictures (gnuplot)\n"
     "--published           published figures beside the model's\n"
     "--list                models, nodes and networks, with their numbers and sources\n",
     cmd_scale, false, HELP_ANYWHERE},
    {"launch", "-n N PROGRAM", "run a program as N processes that work together (chapter 16)",
     "-n N           how many processes (\"ranks\"); more than there are cores is allowed\n"
     "--hosts LIST   on which machines; Ferry is at the same path on each, and ssh reaches them without a password\n"
     "--plain        nothing before the lines; otherwise each begins with the rank that printed it\n"
     "Each rank finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE and MASTER_ADDR in its environment, and "
     "OMP_NUM_THREADS,\n"
     "which is 1 unless it is set. On other hosts it also finds what is set here of FERRY_*, NCCL_* and MASTER_PORT, "
     "and\n"
     "nothing else of this environment. mpirun (Open MPI) starts them. When a rank fails it is named, and all are "
     "ended; "
     "the exit\n"
     "status is that rank's.\n"
     "Environment: NO_COLOR.\n",
     cmd_launch, false, HELP_ALONE},
    {"launch-rank", "", "one rank, between mpirun and its program", "", cmd_launch_rank, true, HELP_OWN},
    {"grade", "[options]", "grade the answers of one learner or of a class",
     "--answers DIR     one learner's folder (default: the workspace)\n"
     "--class DIR       a folder for each learner; several are graded at a time\n"
     "--jobs N          how many at a time (default: the processors)\n"
     "--limit SECONDS   for all answers of a learner (600); what is left then is a timeout\n"
     "--seed SECRET     inputs are drawn from this text; without it, anew at each run\n"
     "--only EX         this exercise alone\n"
     "--part I/N        of --class, every Nth learner by name from the Ith on: for N machines, each with another I\n"
     "--merge FILE...   grade nothing: put together what --json wrote elsewhere, and write what is asked for. With "
     "--class DIR\n"
     "                  everybody in it has to be there. Doubles, gaps and what does not fit is told, and nothing is "
     "written\n" SANDBOX_HELP "--json FILE, --junit FILE, --gradescope FILE, --csv FILE\n"
     "                  results; each file is valid at every moment, and begins as all-zero. With --class, FILE holds "
     "all.\n"
     "                  - is standard output; the report goes to stderr then\n"
     "Exit status: 0 everything passed, 1 something did not, 2 wrong command line, 3 trouble of the grader's own.\n",
     cmd_grade, false, HELP_ANYWHERE},
    {"cut", "[--check]", "cut exercises/ from the tagged solutions/",
     "--check  fail where a stub is not what would be cut\n", cmd_cut, true, HELP_ANYWHERE},
    {"reference", "[EX]", "count what the solutions do, for the table after a pass", "", cmd_reference, true,
     HELP_ANYWHERE},
    {"version", "", "the version, the commit that it was built from, and the compiler", "", cmd_version, false,
     HELP_ANYWHERE},
    {"help", "[COMMAND]", "this list, or more about a command", "", cmd_help, false, HELP_OWN},
    {NULL, NULL, NULL, NULL, NULL, false, HELP_OWN},
};

// ---- did you mean ------------------------------------------------------------------------------------------------------

enum { MOST_OPTIONS = 48 };
static char option_list[MOST_OPTIONS][32];

static const char *option_name(int i) {
  return option_list[i];
}

static const Command *command_named(const char *name) {
  for (const Command *c = commands; c->name; c++)
    if (strcmp(c->name, name) == 0)
      return c;
  return NULL;
}

// Each "--word" of a text: what a command's help names is what it takes.
static int options_in(const char *text, int count) {
  for (const char *at = strstr(text, "--"); at && count < MOST_OPTIONS; at = strstr(at, "--")) {
    size_t length = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
    if (length > 2 && length < sizeof option_list[0])
      snprintf(option_list[count++], sizeof option_list[0], "%.*s", (int)length, at);
    at += length;
  }
  return count;
}

int no_option(const char *command, const char *given) {
  const Command *c = command_named(command);
  int count = options_in("--help", 0);
  if (c)
    count = options_in(c->help, options_in(c->arguments, count));
  const char *meant = term_meant(given, option_name, count);
  return usage_error(command, "there is no option %s%s%s%s", given, meant ? ". Did you mean " : "", meant ? meant : "",
                     meant ? "?" : "");
}

static const char *exercise_id(int i) {
  return exercise_at(i)->id;
}

static const char *exercise_slug(int i) {
  const char *id = exercise_at(i)->id;
  return id + strspn(id, "0123456789_");
}

const Exercise *exercise_named(const char *command, const char *name) {
  const Exercise *e = exercise_find(name);
  int count = exercise_count(), near = 0;
  if (e)
    return e;
  if ((e = exercise_by_old_number(name))) {
    fprintf(stderr, "ferry %s: exercise %s is now %s, %s\n", command, name, exercise_number(e), e->title);
    return e;
  }
  fprintf(stderr, "ferry %s: \"%s\" is no exercise, or more than one.\n", command, name);
  for (int i = 0; i < count; i++)
    if (strstr(exercise_at(i)->id, name)) {
      fprintf(stderr, "%s%s\n", near++ == 0 ? "Near:\n  " : "  ", exercise_at(i)->id);
    }
  const char *meant = near > 0 ? NULL : term_meant(name, exercise_id, count);
  if (near == 0 && !meant)
    meant = term_meant(name, exercise_slug, count);
  if (meant)
    fprintf(stderr, "Did you mean %s?\n", meant);
  fprintf(stderr, "(./ferry list has them all)\n");
  return NULL;
}

int begin_sandbox(const char *command, const char *level) {
  char why[768];
  if (level && !sandbox_level_named(level))
    return usage_error(command, "--sandbox takes namespaces, user, bubblewrap, landlock or none");
  if (answers_begin(level, why, sizeof why))
    return -1;
  fprintf(stderr, "ferry %s: grader error: no answer can be shut in: %s\n", command, why);
  return EXIT_GRADER;
}

static const char *command_name(int i) {
  return commands[i].hidden ? NULL : commands[i].name;
}

static const char *command_meant(const char *given) {
  int count = 0;
  while (commands[count].name)
    count++;
  return term_meant(given, command_name, count);
}

static int no_command(const char *name) {
  const char *meant = command_meant(name);
  fprintf(stderr, "ferry: there is no command %s.", name);
  if (meant)
    fprintf(stderr, " Did you mean %s?\n(./ferry help lists them all)\n", meant);
  else
    fprintf(stderr, " ./ferry help lists them.\n");
  return EXIT_USAGE;
}

// A help text's lines, those together that say one thing: the next one begins neither with an option nor after a full stop.
static void print_help(const char *help) {
  char *text = strdup(help);
  if (!text)
    return;
  int hang = 0;
  for (char *line = text; *line;) {
    char *end = strchr(line, '\n');
    while (end && end[1] && end[-1] != '.' && end[-1] != ':' && end[-1] != ')' &&
           end[strspn(end + 1, " ") + 1] != '-' && end - line > 60) {
      size_t blanks = strspn(end + 1, " ");
      memmove(end + 1, end + 1 + blanks, strlen(end + 1 + blanks) + 1);
      *end = ' ';
      end = strchr(end, '\n');
    }
    if (end)
      *end = '\0';
    term_wrap(stdout, line, hang);
    line = end ? end + 1 : line + strlen(line);
  }
  free(text);
}

static int help_on(const Command *c) {
  char summary[256];
  snprintf(summary, sizeof summary, "%s.", c->summary);
  if ('a' <= summary[0] && summary[0] <= 'z')
    summary[0] = (char)(summary[0] - 32);
  printf("usage: ./ferry %s%s%s\n\n", c->name, *c->arguments ? " " : "", c->arguments);
  term_wrap(stdout, summary, 0);
  if (*c->help)
    printf("\n");
  print_help(c->help);
  return EXIT_PASS;
}

int cmd_help(int argc, char **argv) {
  const Command *about = argc > 1 ? command_named(argv[1]) : NULL;
  if (about)
    return help_on(about);
  if (argc > 1)
    return no_command(argv[1]);
  printf("usage: ./ferry [COMMAND]\n\nWithout a command: where you are and what to do next.\n\n");
  for (const Command *c = commands; c->name; c++)
    if (!c->hidden) {
      printf("  %-9s ", c->name);
      term_paragraph(stdout, "", 12, c->summary);
    }
  printf("\n./ferry COMMAND --help says more about each.\n");
  return EXIT_PASS;
}

static bool asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      return true;
  return false;
}

int cmd_version(int argc, char **argv) {
  if (argc > 1)
    return usage_error(argv[0], "it takes no arguments");
  const char *commit = FERRY_COMMIT;
  printf("ferry " FERRY_VERSION_STRING "%s%s%s\n", *commit ? " (" : "", commit, *commit ? ")" : "");
  printf("%d exercises; built with %s\n", exercise_count(), CONFIG_CC);
  return EXIT_PASS;
}

// Output that got lost is trouble, whatever else the command did.
static int flushed(int status) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return status;
  fprintf(stderr, "ferry: the output could not be written%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
  return status == EXIT_PASS || status == EXIT_ANSWER ? EXIT_GRADER : status;
}

static int run_command(int argc, char **argv) {
  if (argc < 2)
    return cmd_where(argc, argv);
  if (strcmp(argv[1], "--version") == 0)
    return cmd_version(argc - 1, argv + 1);
  const char *name = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? "help" : argv[1];
  const Command *c = command_named(name);
  if (!c) {
    return no_command(argv[1]);
  }
  if ((c->help_by == HELP_ANYWHERE || (c->help_by == HELP_ALONE && argc == 3)) && asks_for_help(argc - 1, argv + 1))
    return help_on(c);
  return c->run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  file_mask();
  return flushed(run_command(argc, argv));
}
