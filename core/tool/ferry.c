// SPDX-License-Identifier: MIT
// ./ferry: the learner's and the instructor's command. `./ferry help` lists what it can do.
#include "tool/commands.h"
#include "base/version.h"
#include "tool/compile/config.h"
#include "ferry_commit.h"
#include "tool/print/term.h"
#include "tool/print/language.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Command commands[] = {
    {"start", "[TRACK]", N_("create the workspace work/ with an unsolved copy of each exercise"),
     "TRACK     what ./ferry next goes through: all, kernels (CUDA only), pytorch (the library) or debugging\n"
     "Existing files in work/ are never overwritten: run it again after an update to get new exercises.\n"
     "Environment: FERRY_WORK=DIR, a workspace elsewhere.\n",
     cmd_start, false, HELP_ANYWHERE},
    {"list", "[--all | --ids | --json]", N_("list the exercises by lesson, with your progress"),
     "--all   include those outside your track\n--ids   only the names\n--json  lessons, exercises and progress as "
     "JSON\n",
     cmd_list, false, HELP_ANYWHERE},
    {"chapter", "N[#SECTION] [--read | --adopted]", N_("run the program of lesson N, or show the lesson"),
     "--read     show the lesson, through $PAGER on a terminal\n"
     "--adopted  run the program on your own kernels (./ferry adopt), and print how many calls ran on them\n"
     "#SECTION   show the lesson from that section on; a part of its name is enough\n"
     "Further arguments go to the program (--device, --quick). Instead of N, the name of another page of "
     "docs/: glossary, inspector#findings.\n",
     cmd_chapter, false, HELP_ALONE},
    {"run", "[EX] [options]", N_("check an exercise (without EX: the next one)"),
     "EX is a number, a name, or a part of a name: 3.1, 03_1_create_on_the_device, create.\n"
     "--all             a line for each test, and the report of every failed one\n"
     "--first           stop after the first test that fails\n"
     "--devices LIST    check with each of these numbers of simulated devices, such as 1,4\n"
     "--times N         check N times, each time with new inputs\n"
     "--test NAME       only this test\n"
     "--replay N.SEED   repeat a failed test with the same inputs\n"
     "--file FILE       check this file instead of the one in the workspace\n"
     "--json FILE       also write the verdict as JSON; - is standard output, and the report goes to "
     "stderr\n" SANDBOX_HELP
     "Environment: FERRY_SIM_DEVICES=N (2), FERRY_CUDA=sim|real, FERRY_ANSWER_SECONDS (10 for each test), "
     "FERRY_ANSWER_MEMORY_MB (2048).\n",
     cmd_run, false, HELP_ANYWHERE},
    {"watch", "[EX] [options]", N_("check now, and at every save"),
     "Checks the exercise that you save in the workspace. Keys on a terminal: n next exercise, h hint, e edit in "
     "$EDITOR, r run again, l list, q quit.\n"
     "--edit-cmd CMD    an editor with a window of its own: CMD FILE opens the exercise, and after a pass the next "
     "one. "
     "In VS Code's terminal, this is code\n" SANDBOX_HELP,
     cmd_watch, false, HELP_ANYWHERE},
    {"hint", "[EX]", N_("show a hint; each call shows one more"), "", cmd_hint, false, HELP_ANYWHERE},
    {"edit", "[EX] [--edit-cmd CMD]", N_("open an exercise in your editor"),
     "The editor is CMD, $VISUAL, $EDITOR, or in VS Code's terminal code.\n", cmd_edit, false, HELP_ANYWHERE},
    {"reset", "EX", N_("start an exercise again, and keep a copy of your file"), "", cmd_reset, false, HELP_ANYWHERE},
    {"solution", "EX [--spoil]", N_("show the worked solution, after your answer has passed"),
     "--spoil  show it before that\n", cmd_solution, false, HELP_ANYWHERE},
    {"diff", "EX [--spoil]", N_("compare your answer with another, after yours has passed"),
     "Also lists other ways to solve it.\n--spoil  show it before that\n", cmd_diff, false, HELP_ANYWHERE},
    {"next", "", N_("show which exercise comes next"), "", cmd_next, false, HELP_ANYWHERE},
    {"best", "[EX]", N_("show your best times in the performance challenges"),
     "For each challenge: each answer that was faster than all earlier ones, with its modeled time on a GPU. The "
     "table also has the times of the reference and of the original file.\n"
     "./ferry run adds a row when an answer passes and is faster. The rows are in work/.best.\n"
     "Environment: NO_COLOR.\n",
     cmd_best, false, HELP_ANYWHERE},
    {"adopt", "[EX | --list | --back [EX]]",
     N_("train with your own kernels: an answer replaces a kernel of the library"),
     "EX           an exercise that has passed. Your answer is compiled as a kernel of the library's ops. In the "
     "sandbox, "
     "every test of these ops runs on it: random calls compared with the CPU, the ops' tests, the fuzzer's programs, "
     "and "
     "training steps. If one fails, the answer is refused, and the smallest failing call is shown\n"
     "--list       (also without EX) which answers can be adopted, which are, and how much of a training step runs on "
     "them, today and on earlier days\n"
     "--back [EX]  go back to the library's kernel; without EX, to all of them\n" SANDBOX_HELP
     "The library itself never changes. ./ferry chapter N --adopted runs a lesson's program on adopted kernels, on "
     "simulated devices. Calls outside of the exercise's domain (other dtypes, layouts or sizes) run on the library's "
     "kernel and are counted. Adopted answers are copied to work/.adopted: later changes of your file do not affect "
     "them.\n",
     cmd_adopt, false, HELP_ANYWHERE},
    {"predict", "[LESSON | QUESTION [NUMBER]]", N_("guess a number before Ferry measures it"),
     "Without an argument: the next open question, from the lesson where you are. 22: one of lesson 22. 22.1: that "
     "one; "
     "22.1 16 answers it with 16.\n"
     "Ferry measures the number when your guess is in work/.predictions. Guesses are not graded, and only the first "
     "guess at a question counts.\n"
     "--list   all questions (of LESSON), with your guesses\n"
     "--chart  how near your guesses were, and whether they get better\n"
     "--json   questions and guesses as JSON\n"
     "--reset  open all questions again; your guesses are kept in another file\n",
     cmd_predict, false, HELP_ANYWHERE},
    {"milestones", "[--page FILE.html [--name NAME]]", N_("show what you have reached, and what comes next"),
     "--page FILE.html  write a page that you can keep and print\n--name NAME       with your name on it\n"
     "The days are in work/.milestones. \"by\" a day: at the latest, because Ferry saw it only then.\n",
     cmd_milestones, false, HELP_ANYWHERE},
    {"doctor", "[options]", N_("show what is installed and what is missing, and how to install it"),
     "--nvcc           install NVIDIA's compiler from PyPI (350 MB, no GPU needed), so that ./ferry inspect shows "
     "registers and "
     "machine code\n" SANDBOX_HELP,
     cmd_doctor, false, HELP_ANYWHERE},
    {"inspect", "FILE.cu [options] [-- ARGS]", N_("count what a file's kernels do, line by line, and find their bugs"),
     "FILE is a program, or an answer to a kernel exercise, which the exercise's tests then run. Its kernels are "
     "instrumented: each memory access is traced. It runs on a simulated device twice, with threads in ascending and "
     "in descending order.\n"
     "--program PROG  inspect a program that is already built with instrumented kernels, instead of a file\n"
     "--with FILE.cu  also compile and link this file; may be repeated\n"
     "--grid G, --block B, --shared BYTES  launch a kernel of a file without a main: --kernel NAME --grid 8 "
     "--block 16,16. It runs with arrays of zeros, of a permutation and of random numbers\n"
     "--arg NAME=VALUE  a parameter of that kernel: n=1000, 'x=float[n]' (a size can be any formula of parameters, "
     "grid, "
     "block and threads), 'x=int[n] random'. Default: as many as threads\n"
     "--prove, --no-proof  of a kernel without a main, the report says whether it is proved free of data races for "
     "all launches (by Z3). --prove also says why not, and runs a launch in which the solver sees a race; --no-proof "
     "tries no proof\n"
     "-I DIR, -D NAME[=VALUE], -include FILE  preprocessor options, as for nvcc\n"
     "--kernel NAME   instrument only this kernel\n"
     "--blocks N      instrument N blocks of each launch, from the middle of the grid; the others run uninstrumented\n"
     "--gpu NAME      model this GPU: report each kernel's modeled time and bottleneck (FERRY_SIM_GPU=list lists the "
     "GPUs)\n"
     "--once          run only once, in ascending order, in half the time: enough for counts, not for findings\n"
     "--no-registers  do not run ptxas to count registers, which takes seconds if a CUDA toolkit is installed\n"
     "--sass          show the machine code (SASS) that nvcc makes of each source line, for the modeled GPU or else "
     "sm_90; ./ferry "
     "doctor --nvcc installs what it needs\n"
     "--quiet         only the report, without the program's output\n"
     "--table         only one row per kernel, without the program's output; with modeled times if FERRY_SIM_GPU "
     "names a GPU\n"
     "--json FILE     write findings, kernels and lines as JSON, one object per line; - is standard output, and the "
     "report goes to stderr\n"
     "--gcc           print only findings, as gcc prints warnings: FILE:LINE:COLUMN: warning: ..., for editors\n"
     "--sarif FILE    write findings as SARIF 2.1.0, for code hosts and editors; - is standard output\n"
     "--html FILE     write an HTML page: the source with counts in the margin, and the findings at their lines\n"
     "--sandbox LEVEL  confine an answer at this level (./ferry run --help) instead of the strongest available. A "
     "program is not confined: it runs as you\n"
     "-- ARGS         the program's arguments\n"
     "Exit status: 0 no findings, 1 findings, 2 wrong command line, 3 the file could not be compiled or run.\n",
     cmd_inspect, false, HELP_ANYWHERE},
    {"step", "FILE.cu [options] [-- ARGS]", N_("walk through a kernel, forwards and backwards, a warp at a time"),
     "FILE is a program, or an answer to a kernel exercise, which the exercise's tests then run. One block of one "
     "launch "
     "is recorded, statement by statement: which lanes are active, their variables, their accesses to memory, "
     "barriers, "
     "warp functions, and what ./ferry inspect finds in it. Then you walk through the record; it opens at the first "
     "finding. It needs no GPU.\n"
     "--kernel NAME   record this kernel; default: the first that is launched\n"
     "--launch N      record the kernel's launch N, counted from 0; default: 0\n"
     "--block X,Y,Z   record this block; default: 0,0,0\n"
     "--limit N       record at most N steps (20000)\n"
     "--test NAME     of an exercise: run the test whose name contains NAME; default: the first in which something is "
     "found, else the first\n"
     "--replay N.SEED  of an exercise: the test and the inputs that ./ferry run printed\n"
     "--at STEP       begin at this step; if the output is no terminal, only print it: a number, line:29, end, "
     "finding, a "
     "kind of finding (race, bounds, divergent, uninitialized, ...), the second of that kind (race:2), or the one in a "
     "line (race@29)\n"
     "--html FILE     write a page that plays the record; it needs no network\n"
     "--json FILE     write the record (docs/dev/step_record.md); - is standard output\n"
     "--dap           be a debug adapter on standard input and output, for VS Code and other editors\n"
     "-I DIR, -D NAME[=VALUE]  for the preprocessor, as nvcc takes them\n"
     "--sandbox LEVEL  confine an answer at this level (./ferry run --help) instead of the strongest available. A "
     "program is not confined: it runs as you\n"
     "-- ARGS         the program's arguments\n"
     "Exit status: 0, 2 wrong command line, 3 the file could not be compiled, or there is no record.\n"
     "Environment: NO_COLOR.\n",
     cmd_step, false, HELP_ANYWHERE},
    {"cuda", "FILE.cu... [-- ARGS]", N_("compile a CUDA program and run it on a simulated device"),
     "Takes any CUDA program. It needs no GPU and no CUDA toolkit: g++ compiles it.\n"
     "--count     after the run, print launches, copies, bytes, synchronizations, and device memory leaks\n"
     "--inspect   inspect its kernels (./ferry inspect)\n"
     "-- ARGS     the program's arguments\n"
     "Also takes the options of nvcc (-I, -D, -std, -O, -l, ...), as ./ferry nvcc does. The exit status is the "
     "program's.\n"
     "Environment: FERRY_SIM_GPU=a100, and the other variables in core/sim/README.md.\n",
     cmd_cuda, false, HELP_ALONE},
    {"nvcc", "[options] FILE...", N_("compile as nvcc does, for simulated devices: make NVCC=\".../ferry nvcc\""),
     "-o FILE, -c, -dc, -E, -M, -lib, -shared; -I, -D, -U, -L, -l, -include, -isystem, -x cu, -std, -O, -g, -w;\n"
     "-Xcompiler LIST, -Xlinker LIST; -dryrun and -v show the commands; --version.\n"
     ".cu files are compiled as CUDA, .c and .cpp files by the host's compiler; objects and libraries are linked.\n"
     "Options for a GPU's code (-arch, -gencode, -rdc, -Xptxas, -lineinfo, -use_fast_math, ...) are ignored with a "
     "note.\n"
     "-ptx, -cubin, -fatbin and -dlink are refused. Standards older than C++17 become C++17.\n"
     "__CUDA_ARCH__ is 900 in the whole file: host and device code are compiled together.\n"
     "The program runs without ./ferry. With FERRY_SIM_COUNT=1 it counts as ./ferry cuda --count does.\n",
     cmd_nvcc, false, HELP_ALONE},
    {"play", "FILE [--adopted] [-- ARGS]", N_("compile and run a .c or .cu file, and print what was counted"),
     "Takes any program. A .c file is compiled with the library; a .cu file for a simulated device, as by ./ferry cuda "
     "--count.\n"
     "--adopted  run a .c file on your own kernels (./ferry adopt), and print how many calls ran on them\n"
     "-- ARGS    the program's arguments\n"
     "The exit status is the program's. Environment: FERRY_CUDA, FERRY_SIM_DEVICES and FERRY_SIM_GPU.\n",
     cmd_play, false, HELP_ALONE},
    {"new", "NAME", N_("create a folder with a program of your own that builds and runs"),
     "It contains main.c, a Makefile that finds the library (installed, through pkg-config, or in this clone), and "
     "flags for clangd.\n",
     cmd_new, false, HELP_ANYWHERE},
    {"book", "[PAGE] [--live]", N_("open the book in a browser"),
     "PAGE is the number of a lesson or exercise, a function (fy_to), or the name of a page (model). `make book` "
     "builds "
     "the book in build/book/site. It opens in $BROWSER or in the desktop's browser. Without either, its address is "
     "printed.\n"
     "--live          serve the book on this machine: edit, run, inspect, step and check in the browser "
     "(docs/live.md)\n"
     "--port N        at this port; default: one that is free\n"
     "--bind ADDRESS  at this address of the machine, for other machines too; default: 127.0.0.1\n"
     "--no-open       only print the address\n"
     "Environment: BROWSER; FERRY_LIVE_SECONDS, the time limit of a run in the browser (60 for a listing, 180 for a "
     "command on an exercise).\n",
     cmd_book, false, HELP_ANYWHERE},
    {"bench", "[NAME] [options]", N_("measure what the library does on a device"), "", cmd_bench, false, HELP_OWN},
    {"timeline", "TRACE -o FILE", N_("draw a trace from the profiler"), "", cmd_timeline, false, HELP_OWN},
    {"scale", "[options]", N_("model how training scales to many GPUs"),
     "Gradients (one of these):\n"
     "--model NAME          a network whose layers are known; --list shows all\n"
     "--parameters N        a network with N parameters (25.6M), whose gradients become ready at a steady rate\n"
     "--buckets SIZE,SIZE   gradients in buckets of these sizes (1MiB,25MiB)\n"
     "--dtype TYPE          of the gradients: float32 (default), float16, bfloat16\n"
     "Time of a step on one GPU (one of these):\n"
     "--step-time T         97ms; one third counts as the forward pass, the rest as the backward pass\n"
     "--forward T           32ms; given with --backward\n"
     "--backward T          65ms; with --step-time as well, the remaining time follows the backward pass\n"
     "--bench FILE          the row of --model in a file from ./ferry bench (--batch N: for that batch size)\n"
     "Machines:\n"
     "--gpus N,N            8 to 4096 in powers of two\n"
     "--per-node N          GPUs in a node (8)\n"
     "--node NAME           connection within a node (nvlink3); --list names all\n"
     "--network NAME,NAME   connection between nodes; 8xib-ndr: eight adapters for each node\n"
     "--alpha T --beta B    latency and bandwidth of an adapter: 14us; 12GB/s, 100Gbit/s or seconds per byte\n"
     "--algorithm NAME      ring, tree, or best (default): the faster one for each bucket\n"
     "Output: a table of efficiencies, and of times if there is one network. All numbers are modeled.\n"
     "--events              also simulate each message, for at most 64 GPUs and 4 GiB (one network)\n"
     "--json, --csv         machine-readable output\n"
     "--plot FOLDER         draw plots (gnuplot)\n"
     "--published           compare the model with published figures\n"
     "--list                list models, nodes and networks, with their numbers and sources\n",
     cmd_scale, false, HELP_ANYWHERE},
    {"launch", "-n N PROGRAM", N_("run a program as N processes that work together (lesson 16)"),
     "-n N           number of processes (\"ranks\"), which may exceed the number of cores\n"
     "--hosts LIST   machines to run on; each needs Ferry at the same path, and ssh without a password\n"
     "--plain        do not put the rank before each line of output\n"
     "Each rank finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE and MASTER_ADDR in its environment, and "
     "OMP_NUM_THREADS, which is 1 unless it is set. On other hosts it also finds FERRY_*, NCCL_* and MASTER_PORT, and "
     "nothing else of "
     "this environment. mpirun (Open MPI) starts the ranks. If a rank fails, Ferry names it and ends all of them; the "
     "exit status is that rank's.\n"
     "Environment: NO_COLOR.\n",
     cmd_launch, false, HELP_ALONE},
    {"launch-rank", "", "one rank, between mpirun and its program", "", cmd_launch_rank, true, HELP_OWN},
    {"grade", "[options]", N_("grade the answers of one learner or of a class"),
     "--answers DIR     one learner's folder (default: the workspace)\n"
     "--class DIR       a folder with one folder per learner\n"
     "--jobs N          number of learners graded at the same time (default: one per processor)\n"
     "--limit SECONDS   time for all answers of a learner (600); answers that are not graded by then count as "
     "timeouts\n"
     "--seed SECRET     the seed of the random inputs; without it, each run has new inputs\n"
     "--only EX,EX      grade only these; a pack's name stands for its exercises\n"
     "--known FILE.json  take over the results of answers that have not changed since --json wrote FILE, also if that "
     "grading was interrupted; use the same --seed\n"
     "--part I/N        grade every Nth learner of --class, sorted by name, starting with the Ith: each of N machines "
     "grades one part\n"
     "--merge FILE...   grade nothing: merge files that --json wrote on other machines. With --class DIR, each learner "
     "in it must be there. If results are duplicate, missing or contradictory, report that and write "
     "nothing\n" SANDBOX_HELP
     "--json FILE, --junit FILE, --csv FILE  write results; each file is valid at every moment, and begins with zero "
     "points. With --class, FILE holds all. - is standard output; the report then goes to stderr\n"
     "--page FILE.html  write a page for the instructor: who passed what, where the class is stuck, similar answers, "
     "feedback for each learner. --page FILE.html RESULTS.json makes it from files that --json wrote; with --class DIR "
     "it "
     "compares the answers\n"
     "--canvas FILE, --moodle FILE  write grades as these gradebooks import them\n"
     "--gradescope FILE, --classroom50 FILE.json  write one learner's results for these platforms\n"
     "--gradescope FILE.zip, --classroom50 DIR  grade nothing: write what the platform needs to grade with Ferry; it "
     "grades with the given --only, --seed, --limit and --sandbox\n"
     "Exit status: 0 everything passed, 1 something failed, 2 wrong command line, 3 the grader itself failed.\n",
     cmd_grade, false, HELP_ANYWHERE},
    {"confined", "run|inspect|step c|cu [options] < LISTING", "run a listing in the sandbox, as the live book does",
     SANDBOX_HELP, cmd_confined, true, HELP_ALONE},
    {"pack", "new|check|add|remove|list", N_("add exercises of your own to the course"), "", cmd_pack, false, HELP_OWN},
    {"cut", "[--check]", "cut exercises/ from the tagged solutions/",
     "--check  fail where a stub is not what would be cut\n", cmd_cut, true, HELP_ANYWHERE},
    {"reference", "[EX]", "count what the solutions do, for the table after a pass", "", cmd_reference, true,
     HELP_ANYWHERE},
    {"version", "", N_("show the version, the commit that it was built from, and the compiler"), "", cmd_version, false,
     HELP_ANYWHERE},
    {"help", "[COMMAND]", N_("show this list, or the help of a command"), "", cmd_help, false, HELP_OWN},
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
    size_t length = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
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
  fprintf(stderr, _("ferry %s: \"%s\" does not match exactly one exercise.\n"), command, name);
  for (int i = 0; i < count; i++)
    if (strstr(exercise_at(i)->id, name)) {
      fprintf(stderr, "%s%s\n", near++ == 0 ? _("Similar names:\n  ") : "  ", exercise_at(i)->id);
    }
  const char *meant = near > 0 ? NULL : term_meant(name, exercise_id, count);
  if (near == 0 && !meant)
    meant = term_meant(name, exercise_slug, count);
  if (meant)
    fprintf(stderr, _("Did you mean %s?\n"), meant);
  fprintf(stderr, _("(./ferry list shows all exercises)\n"));
  return NULL;
}

int begin_sandbox(const char *command, const char *level) {
  char why[768];
  if (level && !sandbox_level_named(level))
    return usage_error(command, "--sandbox takes namespaces, user, bubblewrap, landlock or none");
  if (answers_begin(level, why, sizeof why))
    return -1;
  fprintf(stderr, "ferry %s: grader error: no sandbox is available: %s\n", command, why);
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
  fprintf(stderr, _("ferry: there is no command %s."), name);
  if (meant)
    fprintf(stderr, _(" Did you mean %s?\n(./ferry help lists them all)\n"), meant);
  else
    fprintf(stderr, _(" ./ferry help lists them.\n"));
  return EXIT_USAGE;
}

// Each line of a help text is one item or sentence, wrapped by itself.
static void print_help(const char *help) {
  char *text = strdup(help), *rest = text;
  for (char *line; text && (line = strsep(&rest, "\n"));)
    if (*line)
      term_wrap(stdout, line, 0);
  free(text);
}

static int help_on(const Command *c) {
  char summary[256];
  snprintf(summary, sizeof summary, "%s.", _(c->summary));
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
  printf(_("usage: ./ferry [COMMAND]\n\nWithout a command: where you are and what to do next.\n\n"));
  for (const Command *c = commands; c->name; c++)
    if (!c->hidden) {
      printf("  %-10s ", c->name);
      term_paragraph(stdout, "", 13, _(c->summary));
    }
  printf(_("\n./ferry COMMAND --help explains a command.\n"));
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
  language_start(rooted(CONFIG_ROOT "/build/translations"));
  return flushed(run_command(argc, argv));
}
