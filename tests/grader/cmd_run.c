// `ferry run` and `ferry watch`: an answer's tests, once or at every save.
#include "commands.h"
#include "gpu.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct RunOptions {
  const Exercise *exercise;
  const char *file, *test, *sandbox;
  uint64_t seed;
  int replay; // number of the test to repeat with `seed`, 0: none
  bool all;   // every report, not the first alone
  bool first; // no test after the first that fails
} RunOptions;

int wanted_devices(void) {
  const char *wanted = getenv("FERRY_SIM_DEVICES");
  int devices = gpu_wanted() ? gpu_count() : wanted ? atoi(wanted) : 2;
  return devices >= 1 && devices <= 8 ? devices : 2;
}

static bool read_replay(const char *text, RunOptions *o) {
  char *end;
  long number = strtol(text, &end, 10);
  if (number < 1 || number > MAX_TESTS || *end != '.' || !end[1])
    return false;
  o->replay = (int)number;
  o->seed = strtoull(end + 1, &end, 16);
  return *end == '\0';
}

// An option's value, NULL when argv ends before it.
static const char *value_of(int argc, char **argv, int *i) {
  return *i + 1 < argc ? argv[++*i] : NULL;
}

static int parse(int argc, char **argv, RunOptions *o) {
  if (getrandom(&o->seed, sizeof o->seed, 0) != (ssize_t)sizeof o->seed)
    return EXIT_GRADER;
  for (int i = 1; i < argc; i++) {
    const char *value = NULL;
    bool takes_value = strcmp(argv[i], "--file") == 0 || strcmp(argv[i], "--test") == 0 ||
                       strcmp(argv[i], "--replay") == 0 || strcmp(argv[i], "--seed") == 0 ||
                       strcmp(argv[i], "--sandbox") == 0;
    const char *option = argv[i];
    if (takes_value && !(value = value_of(argc, argv, &i)))
      return usage_error(argv[0], "%s needs a value", option);
    if (strcmp(option, "--file") == 0)
      o->file = value;
    else if (strcmp(option, "--test") == 0)
      o->test = value;
    else if (strcmp(option, "--sandbox") == 0)
      o->sandbox = value;
    else if (strcmp(option, "--seed") == 0)
      o->seed = strtoull(value, NULL, 16);
    else if (strcmp(option, "--all") == 0)
      o->all = true;
    else if (strcmp(option, "--first") == 0)
      o->first = true;
    else if (strcmp(option, "--replay") == 0 && !read_replay(value, o))
      return usage_error(argv[0], "--replay takes what a failed test printed, such as 2.1f3a");
    else if (option[0] == '-' && strcmp(option, "--replay") != 0)
      return usage_error(argv[0], "there is no option %s", option);
    else if (option[0] != '-' && !(o->exercise = exercise_named(argv[0], option)))
      return EXIT_USAGE;
  }
  return EXIT_PASS;
}

static int complete(RunOptions *o, char *file, size_t bytes, const char *command) {
  if (!o->exercise)
    o->exercise = progress_current();
  if (!o->exercise) {
    printf("All exercises have passed. Name one to check it again: ./ferry run EX\n");
    return EXIT_PASS;
  }
  if (o->replay && !o->exercise->tests[o->replay - 1].name)
    return usage_error(command, "%s has no test %d", o->exercise->id, o->replay);
  if (o->replay)
    o->test = o->exercise->tests[o->replay - 1].name;
  if (!o->file) {
    if (!work_exists())
      return usage_error(command, "there is no workspace yet: ./ferry start makes it");
    work_file(o->exercise, file, bytes);
    o->file = file;
  }
  return -1;
}

static void remember(const Verdict *v, const RunOptions *o, const char *own_file) {
  Progress p = progress_of(o->exercise);
  bool pass = v->status == STATUS_PASS && v->passed == v->test_count - v->skipped;
  if (o->file != own_file || o->test || (p.passed && pass && (p.on_gpu || !v->real_gpu)))
    return;
  if (pass) {
    p.passed = true;
    p.on_gpu |= v->real_gpu;
    progress_set(o->exercise, p);
  }
}

static int run_once(const RunOptions *o, const char *own_file) {
  static Verdict v; // large
  JudgeOptions options = {
      .seed = o->seed, .replay = o->replay > 0, .only = o->test, .first = o->first, .devices = wanted_devices()};
  judge_answer(&v, o->exercise, o->file, &options);
  verdict_print(&v, o->file, o->all);
  if (o->test && v.test_count == 0)
    fprintf(stderr, "ferry run: %s has no test \"%s\"\n", o->exercise->id, o->test);
  if (v.status == STATUS_PASS && o->file == own_file && !o->test) {
    bool first = !progress_of(o->exercise).passed;
    remember(&v, o, own_file);
    printf("%sanother answer: ./ferry solution %s        go on: ./ferry next\n", first ? "\n" : "", o->exercise->id);
  }
  if (v.status != STATUS_PASS && v.status != STATUS_GRADER_ERROR && o->file == own_file)
    printf("%sa hint: ./ferry hint %s\n",
           work_is_untouched(o->exercise) ? "The file is as it was handed out; the task is at its top.        " : "",
           o->exercise->id);
  int status = v.status == STATUS_GRADER_ERROR               ? EXIT_GRADER
               : v.status == STATUS_PASS && v.test_count > 0 ? EXIT_PASS
                                                             : EXIT_ANSWER;
  verdict_free(&v);
  return status;
}

int cmd_run(int argc, char **argv) {
  RunOptions o = {0};
  char file[4096];
  int status = parse(argc, argv, &o);
  if (status == EXIT_PASS)
    status = complete(&o, file, sizeof file, argv[0]);
  if (status < 0)
    status = begin_sandbox(argv[0], o.sandbox);
  return status >= 0 ? status : run_once(&o, file);
}

// ---- watch -------------------------------------------------------------------------------------------------------------

// Editors save in many ways: they write, or they write another file and rename it. The folder sees all of them.
static bool wait_for_save(int watcher, char *name, size_t bytes) {
  char buffer[8192] __attribute__((aligned(8)));
  ssize_t n = read(watcher, buffer, sizeof buffer);
  name[0] = '\0';
  for (char *at = buffer; n > 0 && at < buffer + n;) {
    const struct inotify_event *event = (const struct inotify_event *)(void *)at;
    if (event->len > 0 && exercise_find(event->name) && (strstr(event->name, ".c") || strstr(event->name, ".cu")))
      snprintf(name, bytes, "%s", event->name);
    at += sizeof *event + event->len;
  }
  return n > 0 || errno == EINTR;
}

static void settle(int watcher) {
  struct pollfd waiting = {watcher, POLLIN, 0};
  char buffer[8192];
  while (poll(&waiting, 1, 30) > 0 && read(watcher, buffer, sizeof buffer) > 0) {
  }
}

// A backup or a kept old version ("10_slug.c.20260101-...", "10_slug.c~") is no answer.
static bool is_answer(const char *name, const Exercise *e) {
  char plain[256];
  snprintf(plain, sizeof plain, "%s.%s", e->id, exercise_extension(e));
  return strcmp(plain, name) == 0;
}

int cmd_watch(int argc, char **argv) {
  RunOptions o = {0};
  char folder[4096], file[4096], name[512];
  int status = parse(argc, argv, &o);
  if (status != EXIT_PASS)
    return status;
  if (!work_exists() && work_start() < 0)
    return EXIT_GRADER;
  if ((status = begin_sandbox(argv[0], o.sandbox)) >= 0)
    return status;
  const Exercise *first = o.exercise ? o.exercise : progress_current();
  work_path(folder, sizeof folder, "%s", "");
  int watcher = inotify_init1(IN_CLOEXEC);
  if (watcher < 0 || inotify_add_watch(watcher, folder, IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    fprintf(stderr, "ferry watch: %s cannot be watched: %s\n", folder, strerror(errno));
    return EXIT_GRADER;
  }
  for (const Exercise *e = first; e || o.exercise == NULL;) {
    if (e) {
      o.exercise = e;
      work_file(e, file, sizeof file);
      o.file = file;
      printf("%s", isatty(1) ? "\033[H\033[2J" : "");
      run_once(&o, file);
    }
    printf("%swaiting for the next save in %s (Ctrl-C ends)%s\n", style(DIM), folder, style(PLAIN));
    fflush(stdout);
    e = NULL;
    while (!e) {
      if (!wait_for_save(watcher, name, sizeof name))
        return EXIT_GRADER;
      e = *name ? exercise_find(name) : NULL;
      e = e && is_answer(name, e) ? e : NULL;
    }
    settle(watcher);
    if (getrandom(&o.seed, sizeof o.seed, 0) < 0)
      return EXIT_GRADER;
  }
  return EXIT_PASS;
}
