// SPDX-License-Identifier: MIT
// `ferry run`: an answer's tests, once.
#include "tool/adopt.h"
#include "tool/compile/gpu.h"
#include "tool/run.h"
#include "grader/grade.h"
#include "grader/score.h"
#include "tool/milestones.h"
#include "tool/print/term.h"
#include "tool/print/language.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

int wanted_devices(void) {
  const char *wanted = getenv("FERRY_SIM_DEVICES");
  int devices = gpu_wanted() ? gpu_count() : wanted ? atoi(wanted) : 2;
  return devices >= 1 && devices <= 8 ? devices : 2;
}

// Up to 16 hexadecimal digits, as a report has them.
static bool read_seed(const char *text, uint64_t *seed) {
  const size_t length = strlen(text);
  *seed = strtoull(text, NULL, 16);
  return length > 0 && length <= 16 && strspn(text, "0123456789abcdefABCDEF") == length;
}

bool run_read_replay(const char *text, int *test, uint64_t *seed) {
  char *end;
  long number = strtol(text, &end, 10);
  if (number < 1 || number > MAX_TESTS || *end != '.')
    return false;
  *test = (int)number;
  return read_seed(end + 1, seed);
}

// An option's value, NULL when argv ends before it.
static const char *value_of(int argc, char **argv, int *i) {
  return *i + 1 < argc ? argv[++*i] : NULL;
}

// "1,4": numbers of one digit, from 1 to 8.
static bool are_devices(const char *list) {
  for (;; list += 2)
    if (*list < '1' || *list > '8' || (list[1] != '\0' && list[1] != ','))
      return false;
    else if (list[1] == '\0')
      return true;
}

// 0: not such a number.
static int number_within(const char *text, int least, int most) {
  char *end;
  const long number = strtol(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && number >= least && number <= most ? (int)number : 0;
}

int run_parse(int argc, char **argv, RunOptions *o) {
  if (getrandom(&o->seed, sizeof o->seed, 0) != (ssize_t)sizeof o->seed)
    return EXIT_GRADER;
  for (int i = 1; i < argc; i++) {
    const char *value = NULL;
    bool takes_value = strcmp(argv[i], "--file") == 0 || strcmp(argv[i], "--test") == 0 ||
                       strcmp(argv[i], "--replay") == 0 || strcmp(argv[i], "--seed") == 0 ||
                       strcmp(argv[i], "--sandbox") == 0 || strcmp(argv[i], "--devices") == 0 ||
                       strcmp(argv[i], "--times") == 0 || strcmp(argv[i], "--json") == 0;
    const char *option = argv[i];
    if (takes_value && !(value = value_of(argc, argv, &i)))
      return usage_error(argv[0], "%s needs a value", option);
    if (strcmp(option, "--file") == 0)
      o->file = value;
    else if (strcmp(option, "--test") == 0)
      o->test = value;
    else if (strcmp(option, "--sandbox") == 0)
      o->sandbox = value;
    else if (strcmp(option, "--json") == 0)
      o->json = value;
    else if (strcmp(option, "--seed") == 0) {
      if (!read_seed(value, &o->seed))
        return usage_error(argv[0], "--seed takes up to 16 hexadecimal digits, such as 1f3a");
    } else if (strcmp(option, "--devices") == 0) {
      if (!are_devices(value))
        return usage_error(argv[0], "--devices takes numbers from 1 to 8, such as 1,4");
      o->devices = value;
    } else if (strcmp(option, "--times") == 0) {
      if ((o->times = number_within(value, 1, 1000)) == 0)
        return usage_error(argv[0], "--times takes a number from 1 to 1000");
    } else if (strcmp(option, "--all") == 0)
      o->all = true;
    else if (strcmp(option, "--first") == 0)
      o->first = true;
    else if (strcmp(option, "--replay") == 0 && !run_read_replay(value, &o->replay, &o->seed))
      return usage_error(argv[0], "--replay takes what a failed test printed, such as 2.1f3a");
    else if (option[0] == '-' && strcmp(option, "--replay") != 0)
      return no_option(argv[0], option);
    else if (option[0] != '-' && !(o->exercise = exercise_named(argv[0], option)))
      return EXIT_USAGE;
  }
  if (o->json && (o->devices || o->times))
    return usage_error(argv[0], "--json is for one verdict: without --devices and --times");
  return EXIT_PASS;
}

static int complete(RunOptions *o, char *file, size_t bytes, const char *command) {
  if (!o->exercise)
    o->exercise = progress_current();
  if (!o->exercise) {
    printf(_("All exercises have passed. Name one to check it again: ./ferry run EX\n"));
    return EXIT_PASS;
  }
  if (o->replay && !o->exercise->tests[o->replay - 1].name)
    return usage_error(command, "%s has no test %d", o->exercise->id, o->replay);
  if (o->replay)
    o->test = o->exercise->tests[o->replay - 1].name;
  if (!o->file) {
    if (!work_exists())
      return usage_error(command, _("there is no workspace yet; create it with ./ferry start"));
    work_file(o->exercise, file, bytes);
    o->file = file;
  }
  return -1;
}

// `answer`: the hash of the file that was judged.
static void remember(const Verdict *v, const RunOptions *o, const char *own_file, uint64_t answer) {
  Progress p = progress_of(o->exercise);
  const int stars = v->stars;
  const bool pass = v->status == STATUS_PASS && v->passed == v->test_count - v->skipped;
  if (o->file != own_file || o->test || !pass)
    return;
  if (p.passed && stars <= p.stars && (p.on_gpu || !v->real_gpu) && p.answer == answer)
    return;
  p.passed = true;
  p.answer = answer;
  p.on_gpu |= v->real_gpu;
  p.stars = stars > p.stars ? stars : p.stars;
  progress_set(o->exercise, p);
}

// What this pass has reached, if anything.
static void say_milestones(void) {
  Milestone before[MILESTONES], all[MILESTONES];
  milestones_logged(before);
  milestones_look(all, true);
  for (int i = 0; i < MILESTONES; i++)
    if (all[i].reached && !before[i].reached)
      printf("  %smilestone%s  %s (./ferry milestones)\n", style(GREEN), style(PLAIN), all[i].title);
}

// After a pass: the term that was learned, the answer's counts beside the solution's, and what can be read now.
static void say_passed(const Verdict *v, const RunOptions *o, bool all) {
  const char *number = exercise_number(o->exercise);
  const char *label = _("\n  learned  ");
  term_paragraph(stdout, label, term_columns(label, strlen(label)), _(o->exercise->after_pass));
  if (all)
    reference_print_beside(v);
  printf(_("  compare  ./ferry solution %s   the solution, explained, and alternatives\n"), number);
  printf(_("           ./ferry diff %s       your answer beside it%s\n"), number, all ? "" : _(" (counts: run --all)"));
  if (adoptable_of(o->exercise))
    printf(_("  adopt    ./ferry adopt %s      make it a kernel of the library, and train with it\n"), number);
}

static const TestVerdict *scored_test(const Verdict *v) {
  for (int i = 0; i < v->test_count; i++)
    if (v->tests[i].score.seconds > 0)
      return &v->tests[i];
  return NULL;
}

// A performance challenge: once it has passed, report only whether the answer is faster than all earlier ones.
static void say_score(const Verdict *v, bool kept) {
  const TestVerdict *t = scored_test(v);
  if (!t || v->status != STATUS_PASS) // what is wrong has no stars
    return;
  score_print(t->test->scored, &t->score);
  if (!kept)
    return;
  const Best before = best_of(v->exercise);
  const bool better = best_add(v->exercise, &t->score, (long long)time(NULL));
  if (better && before.count > 0)
    printf(_("  %sfaster than all earlier answers%s (./ferry best)\n"), style(GREEN), style(PLAIN));
  else if (!better)
    printf(_("  not faster than your best answer (./ferry best)\n"));
}

static void say_next(void) {
  const Exercise *e = progress_current();
  if (e)
    printf(_("  next     %s %s (lesson %d): ./ferry next\n"), exercise_number(e), _(e->title), e->chapter);
  else
    printf(_("  All exercises have passed.\n"));
}

static void say_how_to_go_on(const RunOptions *o) {
  char file[4096];
  work_shown(o->exercise, file, sizeof file);
  if (work_is_untouched(o->exercise))
    printf(_("\n  You have not changed this file yet. The task is described at its top.\n"));
  printf(_("  edit:  %s\n"), file);
  printf(_("  hint:  ./ferry hint %s\n"), exercise_number(o->exercise));
}

static int exit_status(const Verdict *v) {
  return v->status == STATUS_GRADER_ERROR                ? EXIT_GRADER
         : v->status == STATUS_PASS && v->test_count > 0 ? EXIT_PASS
                                                         : EXIT_ANSWER;
}

static int print_one(const RunOptions *o, Answer *a, const JudgeOptions *options) {
  static Verdict v; // large
  judge_built(&v, a, options);
  printf(_("with FERRY_SIM_DEVICES=%d:\n"), options->devices);
  verdict_print(&v, o->file, o->all);
  verdict_print_stars(&v);
  say_score(&v, false);
  printf("\n");
  const int status = exit_status(&v);
  verdict_free(&v);
  return status;
}

// The same built answer on other numbers of devices and with other inputs: the verdicts alone. The worst exit status.
static int run_on_each(const RunOptions *o, JudgeOptions *options) {
  const char given[] = {(char)('0' + options->devices), '\0'};
  Answer a;
  int status = EXIT_PASS;
  answer_build(&a, o->exercise, o->file, o->first);
  for (int time = 0; time < (o->times ? o->times : 1) && status != EXIT_GRADER;
       time++, options->seed = mix64(options->seed))
    for (const char *at = o->devices ? o->devices : given; at && status != EXIT_GRADER; at = at[1] ? at + 2 : NULL) {
      options->devices = *at - '0';
      if (o->times)
        printf("run %d of %d, ", time + 1, o->times);
      const int this = print_one(o, &a, options);
      status = this > status ? this : status;
    }
  answer_free(&a);
  return status;
}

// One line on the terminal, which the next one replaces. NULL: it is removed.
static void show_progress(const char *doing) {
  char line[300];
  const int length =
      doing ? snprintf(line, sizeof line, "\r\033[K%s ... ", doing) : snprintf(line, sizeof line, "\r\033[K");
  if (write(STDERR_FILENO, line, (size_t)length) < 0) // at once: the tests' processes write theirs
    return;
}

int judge_once(const RunOptions *o, const char *own_file) {
  static Verdict v; // large
  JudgeOptions options = {.seed = o->seed,
                          .replay = o->replay > 0,
                          .only = o->test,
                          .first = o->first,
                          .devices = wanted_devices(),
                          .hurry = !o->all,
                          .symptoms = o->file == own_file && work_is_untouched(o->exercise),
                          .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN)};
  if (o->devices || o->times)
    return run_on_each(o, &options);
  bool own = o->file == own_file;
  if (own)
    course_go_to(o->exercise);
  if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
    options.progress = show_progress;
  char folder[4096];
  work_path(folder, sizeof folder, "%s", "");
  const uint64_t answer = own ? answer_hash(folder, o->exercise) : 0;
  judge_answer(&v, o->exercise, o->file, &options);
  if (options.progress)
    options.progress(NULL);
  verdict_print(&v, own ? NULL : o->file, o->all);
  verdict_print_stars(&v);
  say_score(&v, v.status == STATUS_PASS && own && !o->test);
  if (o->test && v.test_count == 0)
    fprintf(stderr, "ferry run: %s has no test \"%s\"\n", o->exercise->id, o->test);
  if (v.status == STATUS_PASS && own && !o->test) {
    remember(&v, o, own_file, answer);
    say_milestones();
    say_passed(&v, o, o->all);
    say_next();
  }
  if (v.status != STATUS_PASS && v.status != STATUS_GRADER_ERROR && own)
    say_how_to_go_on(o);
  int status = exit_status(&v);
  if (o->json && !verdict_json(&v, o->json)) {
    fprintf(stderr, "ferry run: %s cannot be written: %s\n", o->json, file_problem());
    status = EXIT_GRADER;
  }
  verdict_free(&v);
  return status;
}

int cmd_run(int argc, char **argv) {
  RunOptions o = {0};
  char file[4096];
  int status = run_parse(argc, argv, &o);
  if (status == EXIT_PASS)
    file_claim_stdout(o.json);
  if (status == EXIT_PASS)
    status = complete(&o, file, sizeof file, argv[0]);
  if (status < 0)
    status = begin_sandbox(argv[0], o.sandbox);
  return status >= 0 ? status : judge_once(&o, file);
}
