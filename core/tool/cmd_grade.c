// SPDX-License-Identifier: MIT
// `ferry grade`: one learner's answers, or a class.
#include "grader/grade.h"
#include "tool/commands.h"
#include "tool/grade_package.h"
#include "grader/case.h"
#include "tool/print/plain.h"
#include "grader/sandbox.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEARNER_SECONDS = 600 };

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (!memory)
    fatal_error("no memory");
  return memory;
}

// ---- what to grade -----------------------------------------------------------------------------------------------------

// A folder's name, made fit to be shown: a learner may have chosen it.
static char *name_of(const char *name, const char *folder) {
  const char *last = strrchr(folder, '/');
  name = name ? name : last && last[1] ? last + 1 : folder;
  char *plain = plain_name(name, strlen(name));
  if (!plain)
    fatal_error("no memory");
  return plain;
}

static bool add_learner(Grading *g, const char *name, const char *folder) {
  struct stat about;
  if (lstat(folder, &about) != 0 ||
      !(S_ISDIR(about.st_mode) || (S_ISLNK(about.st_mode) && g->learner_count == 0 && !name)))
    return false;
  g->learners = realloc(g->learners, (size_t)(g->learner_count + 1) * sizeof *g->learners);
  if (!g->learners)
    fatal_error("no memory");
  g->learners[g->learner_count++] = (Learner){.name = name_of(name, folder), .folder = strdup(folder)};
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const Learner *)a)->name, ((const Learner *)b)->name);
}

// A link may lead to another learner's folder, so none is followed; but the learner whose folder it was is not forgotten either.
static void say_linked(const char *path) {
  struct stat about, target;
  if (lstat(path, &about) != 0 || !S_ISLNK(about.st_mode) || (stat(path, &target) == 0 && !S_ISDIR(target.st_mode)))
    return;
  char *plain = plain_line(path, strlen(path));
  fprintf(stderr,
          "ferry grade: %s is a symbolic link, so this learner is not graded. Replace the link by the folder.\n",
          plain ? plain : "a learner's folder");
  free(plain);
}

static bool add_class(Grading *g, const char *folder) {
  DIR *class = opendir(folder);
  if (!class)
    return false;
  for (struct dirent *entry; (entry = readdir(class));) {
    char path[4096 + 300];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.' && !add_learner(g, entry->d_name, path))
      say_linked(path);
  }
  closedir(class);
  if (g->learner_count > 0)
    qsort(g->learners, (size_t)g->learner_count, sizeof g->learners[0], by_name);
  return g->learner_count > 0;
}

// All-zero: what the files say before anything has been graded.
static void begin_verdicts(Grading *g) {
  for (int i = 0; i < g->learner_count; i++) {
    g->learners[i].verdicts = allocate((size_t)g->exercise_count, sizeof(Verdict));
    for (int j = 0; j < g->exercise_count; j++) {
      Verdict *v = &g->learners[i].verdicts[j];
      v->exercise = g->exercises[j];
      for (; v->test_count < MAX_TESTS && v->exercise->tests[v->test_count].name; v->test_count++)
        v->tests[v->test_count].test = &v->exercise->tests[v->test_count];
    }
  }
}

// ---- the command line --------------------------------------------------------------------------------------------------

typedef struct GradeArguments {
  const char *answers, *class, *seed, *only, *jobs, *limit, *sandbox, *part, *known;
  bool merge;
  char **files; // to be merged
  int file_count;
} GradeArguments;

static const char **place_of(Grading *g, GradeArguments *a, const char *option) {
  const struct {
    const char *name;
    const char **place;
  } options[] = {{"--answers", &a->answers},
                 {"--class", &a->class},
                 {"--seed", &a->seed},
                 {"--only", &a->only},
                 {"--jobs", &a->jobs},
                 {"--json", &g->json},
                 {"--junit", &g->junit},
                 {"--csv", &g->csv},
                 {"--gradescope", &g->gradescope},
                 {"--classroom50", &g->classroom50},
                 {"--canvas", &g->canvas},
                 {"--moodle", &g->moodle},
                 {"--page", &g->page},
                 {"--limit", &a->limit},
                 {"--sandbox", &a->sandbox},
                 {"--part", &a->part},
                 {"--known", &a->known}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (strcmp(options[i].name, option) == 0)
      return options[i].place;
  return NULL;
}

static int parse(int argc, char **argv, Grading *g, GradeArguments *a) {
  a->files = allocate((size_t)argc, sizeof *a->files);
  for (int i = 1; i < argc; i++) {
    const char **place = place_of(g, a, argv[i]);
    if (strcmp(argv[i], "--merge") == 0) {
      a->merge = true;
      continue;
    }
    if (!place && argv[i][0] != '-') {
      a->files[a->file_count++] = argv[i];
      continue;
    }
    if (!place)
      return no_option(argv[0], argv[i]);
    if (i + 1 == argc)
      return usage_error(argv[0], "%s needs a value", argv[i]);
    *place = argv[++i];
  }
  a->merge |= g->page && a->file_count > 0; // of results that are there
  if (a->answers && a->class)
    return usage_error(argv[0], "--answers is for one learner, --class for many");
  if (a->file_count > 0 && !a->merge)
    return usage_error(argv[0], "%s: only --merge takes files; give a folder of answers after --answers or --class",
                       a->files[0]);
  if (a->merge && a->file_count == 0)
    return usage_error(argv[0], "--merge needs the files that --json wrote");
  if (a->merge && (a->answers || a->seed || a->only || a->jobs || a->limit || a->sandbox || a->part || a->known))
    return usage_error(argv[0],
                       "--merge does not grade: it takes only --class and the options that name a file of results");
  if (a->part && !a->class)
    return usage_error(argv[0], "--part grades a part of a class: it needs --class");
  if (a->class && (g->gradescope || g->classroom50))
    return usage_error(argv[0], "%s writes a file for one learner: use --answers",
                       g->gradescope ? "--gradescope" : "--classroom50");
  return -1;
}

// Marks the exercises of a pack ("image"); false: there is none of that name.
static bool choose_pack(bool *wanted, const char *name) {
  const size_t length = strlen(name);
  bool any = false;
  for (int i = 0; i < exercise_count() && !isdigit((unsigned char)*name); i++) {
    const char *id = exercise_at(i)->id;
    if (strncmp(id, name, length) == 0 && id[length] == '_' && isdigit((unsigned char)id[length + 1]))
      any = wanted[i] = true;
  }
  return any;
}

// Marks each of "3.1,20.2,image"; false after a message.
static bool choose_named(bool *wanted, const char *list, const char *command) {
  char *names = strdup(list), *rest = NULL;
  bool found = true;
  for (char *name = names ? strtok_r(names, ",", &rest) : NULL; name && found; name = strtok_r(NULL, ",", &rest)) {
    if (choose_pack(wanted, name))
      continue;
    const Exercise *e = exercise_named(command, name);
    found = e != NULL;
    for (int i = 0; found && i < exercise_count(); i++)
      wanted[i] |= exercise_at(i) == e;
  }
  free(names);
  return found;
}

static int choose_exercises(Grading *g, const GradeArguments *a, const char *command) {
  g->exercises = allocate((size_t)exercise_count(), sizeof *g->exercises);
  bool wanted[MAX_EXERCISES] = {false};
  if (a->only && !choose_named(wanted, a->only, command))
    return EXIT_USAGE;
  for (int i = 0; i < exercise_count(); i++)
    if (!a->only || wanted[i])
      g->exercises[g->exercise_count++] = exercise_at(i);
  return -1;
}

static int choose_learners(Grading *g, const GradeArguments *a, const char *command) {
  char work[4096];
  work_path(work, sizeof work, "%s", ".");
  if (a->class && !add_class(g, a->class))
    return usage_error(command, "%s contains no folders; it must contain one for each learner", a->class);
  if (!a->class && !add_learner(g, NULL, a->answers ? a->answers : work))
    return usage_error(command, "%s is not a folder of answers", a->answers ? a->answers : work);
  return -1;
}

// Part 2 of 3 has the second, fifth, eighth... learner of the class by name.
static int choose_part(Grading *g, const GradeArguments *a, const char *command) {
  int length = 0;
  if (!a->part)
    return -1;
  if (sscanf(a->part, "%d/%d%n", &g->part, &g->parts, &length) != 2 || a->part[length] || g->parts < 1 ||
      g->parts > 10000 || g->part < 1 || g->part > g->parts)
    return usage_error(command, "--part takes a number and the number of parts, such as 2/8, not \"%s\"", a->part);
  g->class = allocate((size_t)g->learner_count, sizeof *g->class);
  g->class_count = g->learner_count;
  g->learner_count = 0;
  for (int i = 0; i < g->class_count; i++) {
    g->class[i] = g->learners[i].name;
    if (i % g->parts == g->part - 1)
      g->learners[g->learner_count++] = g->learners[i];
  }
  if (g->learner_count == 0)
    printf("Part %d of %d is empty: the class has %d.\n", g->part, g->parts, g->class_count);
  return -1;
}

static int choose_how(Grading *g, const GradeArguments *a, const char *command) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  g->jobs = a->jobs ? atoi(a->jobs) : (int)processors;
  if (a->jobs && (g->jobs < 1 || g->jobs > 64))
    return usage_error(command, "--jobs takes 1 to 64");
  g->jobs = g->jobs < 1 ? 1 : g->jobs > 64 ? 64 : g->jobs;
  g->limit = a->limit ? strtod(a->limit, NULL) : LEARNER_SECONDS;
  if (!(g->limit >= 1 && g->limit <= 86400))
    return usage_error(command, "--limit takes seconds, 1 to 86400");
  g->options.devices = wanted_devices();
  g->secret_seed = a->seed != NULL;
  if (a->seed)
    g->options.seed = hash_text(0, a->seed);
  else if (getrandom(&g->options.seed, sizeof g->options.seed, 0) < 0)
    return EXIT_GRADER;
  return -1;
}

// ---- what is said ------------------------------------------------------------------------------------------------------

static const Mistake *first_mistake(const Verdict *v) {
  for (int i = 0; i < v->test_count; i++)
    if (v->tests[i].mistake)
      return v->tests[i].mistake;
  return NULL;
}

static void done(Grading *g, Learner *l, Verdict *v) {
  const Mistake *m = first_mistake(v);
  bool pass = v->status == STATUS_PASS;
  printf("%s%-14s%s %2d of %2d  %s%s%s%s%s\n", style(pass ? GREEN : RED), status_name(v->status), style(PLAIN),
         v->passed, v->test_count - v->skipped, g->learner_count > 1 ? l->name : "", g->learner_count > 1 ? "/" : "",
         v->exercise->id, m ? ": " : "", m ? m->name : "");
  if (v->report && v->status == STATUS_GRADER_ERROR)
    printf("  %s", v->report);
  fflush(stdout);
  static time_t written;
  if (time(NULL) == written) // a large class's files take a while
    return;
  if (!write_results(g, false))
    exit(EXIT_GRADER);
  written = time(NULL);
}

static int summary(const Grading *g) {
  char on[768], off[512];
  int passed = 0, trouble = 0, skipped = 0, on_gpu = 0, all = g->learner_count * g->exercise_count;
  printf("\n");
  for (int i = 0; i < g->learner_count; i++) {
    const Learner *l = &g->learners[i];
    int max = learner_max(g, l);
    printf("%s: %.2f of %d points (%.0f %%)\n", l->name, learner_score(g, l), max,
           max ? 100 * learner_score(g, l) / max : 0);
    for (int j = 0; j < g->exercise_count; j++) {
      const Verdict *v = &l->verdicts[j];
      passed += v->status == STATUS_PASS;
      trouble += v->status == STATUS_GRADER_ERROR;
      skipped += v->skipped;
      on_gpu += v->real_gpu;
    }
  }
  sandbox_describe_at(g->level ? g->level : sandbox_chosen(), g->protections, on, sizeof on, off, sizeof off);
  printf("%s\n", on_gpu == all && all > 0 ? "Run on NVIDIA hardware." : "Run on the simulator; not verified on a GPU.");
  if (skipped > 0)
    printf("%d tests need more than %d devices and were skipped, so mistakes that only they detect are not found "
           "(FERRY_CUDA=sim runs all).\n",
           skipped, g->options.devices);
  if (g->protections == 0)
    printf("Protections: not known, because no answer ran to its end.\n");
  else
    printf("Protections: %s.%s%s%s\n", on, *off ? " Not available here: " : "", off, *off ? "." : "");
  if (trouble > 0)
    printf("The grader itself failed on %d answers, which are not counted.\n", trouble);
  return trouble > 0 ? EXIT_GRADER : passed == all ? EXIT_PASS : EXIT_ANSWER;
}

// The learners of a class's folder, for --merge.
static int read_class(Grading *g, Grading *class, const char *folder, const char *command) {
  if (!folder)
    return -1;
  if (!add_class(class, folder))
    return usage_error(command, "%s contains no folders; it must contain one for each learner", folder);
  g->class = allocate((size_t) class->learner_count, sizeof *g->class);
  g->class_count = class->learner_count;
  for (int i = 0; i < class->learner_count; i++)
    g->class[i] = class->learners[i].name;
  return -1;
}

// Where the answers are, for what compares them.
static void find_folders(Grading *g, const Grading *class) {
  for (int i = 0; i < g->learner_count; i++)
    for (int j = 0; j < class->learner_count; j++)
      if (strcmp(g->learners[i].name, class->learners[j].name) == 0)
        g->learners[i].folder = class->learners[j].folder;
}

static int merge(Grading *g, const GradeArguments *a, const char *command) {
  Grading class = {0};
  int status = read_class(g, &class, a->class, command);
  status = status < 0 ? grading_merge(g, a->files, a->file_count, g->class, g->class_count) : status;
  if (status >= 0)
    return status;
  find_folders(g, &class);
  if ((g->gradescope || g->classroom50) && g->learner_count > 1)
    return usage_error(command, "%s writes a file for one learner, but there are %d",
                       g->gradescope ? "--gradescope" : "--classroom50", g->learner_count);
  return write_results(g, true) ? summary(g) : EXIT_GRADER;
}

// A file that is not there yet is the result of nothing, so that a command may be repeated until it ends.
static bool take_known(Grading *g, const char *path) {
  const int taken = access(path, F_OK) == 0 ? grading_known(g, path) : 0;
  if (taken > 0)
    printf("%d of %d results are those of %s: answer, tests and grader have not changed.\n", taken,
           g->learner_count * g->exercise_count, path);
  return taken >= 0;
}

static int package(Grading *g, const GradeArguments *a, const char *command) {
  if (a->answers || a->class || a->merge || a->part || a->jobs || g->json || g->junit || g->csv || g->canvas ||
      g->moodle || g->page)
    return usage_error(command,
                       "%s writes a package and grades nothing: it takes only --only, --seed, --limit and --sandbox",
                       g->gradescope ? "--gradescope FILE.zip" : "--classroom50 DIR");
  const int status = choose_exercises(g, a, command);
  return status >= 0 ? status : grade_package(g, &(PackageOptions){a->only, a->seed, a->limit, a->sandbox}, command);
}

int cmd_grade(int argc, char **argv) {
  static Grading g;
  GradeArguments a = {0};
  int status = parse(argc, argv, &g, &a);
  if (status < 0 && package_is_wanted(&g))
    return package(&g, &a, argv[0]);
  const char *const files[] = {g.json, g.junit, g.csv, g.gradescope, g.classroom50, g.canvas, g.moodle, g.page};
  for (size_t i = 0; status < 0 && i < sizeof files / sizeof files[0]; i++)
    file_claim_stdout(files[i]);
  if (status < 0 && a.merge)
    return merge(&g, &a, argv[0]);
  status = status < 0 ? choose_exercises(&g, &a, argv[0]) : status;
  status = status < 0 ? choose_learners(&g, &a, argv[0]) : status;
  status = status < 0 ? choose_part(&g, &a, argv[0]) : status;
  status = status < 0 ? choose_how(&g, &a, argv[0]) : status;
  if (status >= 0)
    return status;
  begin_verdicts(&g);
  if (a.known && !take_known(&g, a.known))
    return EXIT_USAGE;
  if (!write_results(&g, false))
    return EXIT_GRADER;
  sandbox_hide(a.class ? a.class : g.learners[0].folder);
  if (begin_sandbox(argv[0], a.sandbox) == EXIT_USAGE) // any other trouble stands in the results, as the grader's
    return EXIT_USAGE;
  grading_run(&g, done);
  g.complete = true;
  if (!write_results(&g, true))
    return EXIT_GRADER;
  return summary(&g);
}
