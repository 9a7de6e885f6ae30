// SPDX-License-Identifier: MIT
// `ferry watch`: an exercise's tests at once and at every save, with keys for what one does in between.
#include "tool/editor.h"
#include "tool/run.h"
#include "tool/print/pager.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

// ---- keys --------------------------------------------------------------------------------------------------------------

static struct termios as_it_was;
static volatile sig_atomic_t keys_on;

static void keys_end(void) {
  if (keys_on)
    tcsetattr(STDIN_FILENO, TCSANOW, &as_it_was);
  keys_on = 0;
}

static void on_signal(int number) {
  keys_end();
  signal(number, SIG_DFL);
  raise(number);
}

// A key counts when it is pressed, without Enter, and is not shown.
static void keys_begin(void) {
  static bool before;
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &as_it_was) != 0)
    return;
  struct termios raw = as_it_was;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  keys_on = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  if (before)
    return;
  before = true;
  atexit(keys_end);
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    signal(ends[i], on_signal);
}

// ---- saves -------------------------------------------------------------------------------------------------------------

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

static void drain_events(int watcher) {
  struct pollfd waiting = {watcher, POLLIN, 0};
  char buffer[8192];
  while (poll(&waiting, 1, 30) > 0 && read(watcher, buffer, sizeof buffer) > 0) {
  }
}

// A backup or a kept old version ("03_1_slug.c.20260101-...", "03_1_slug.c~") is no answer.
static bool is_answer(const char *name, const Exercise *e) {
  char plain[256];
  snprintf(plain, sizeof plain, "%s.%s", e->id, exercise_extension(e));
  return strcmp(plain, name) == 0;
}

// ---- what is shown -----------------------------------------------------------------------------------------------------

typedef struct Watch {
  RunOptions run;
  char file[4096], folder[4096];
  int watcher;
  bool passed;
  bool opens;             // it opens exercises in an editor with a window of its own
  const Exercise *opened; // the next one, which it has opened after a pass
  Editor editor;
} Watch;

// The exercise that the keys are for.
static const Exercise *exercise_of_keys(const Watch *w) {
  return w->opened ? w->opened : w->run.exercise;
}

static void open_beside(const Watch *w, const Exercise *e) {
  char file[4096];
  work_file(e, file, sizeof file);
  editor_open(&w->editor, file);
}

// After the first pass of an exercise: another save of it is about its stars.
static void open_next(Watch *w, const Exercise *e) {
  w->opened = course_after(e);
  if (!w->opened)
    return;
  course_go_to(w->opened);
  open_beside(w, w->opened);
  printf("\nopened in your editor: %s%s %s%s\n", style(BOLD), exercise_number(w->opened), w->opened->title,
         style(PLAIN));
}

// Without a window of its own, the editor takes the terminal when the learner goes on after a pass.
static bool edits_next(const Watch *w) {
  return w->passed && !w->opens && editor_command(NULL);
}

static void show_bottom(const Watch *w) {
  printf("\n");
  progress_bar();
  if (keys_on)
    printf("%s%s   h hint   e edit   r run   l list   q quit%s\n", style(BOLD),
           edits_next(w) ? "n next exercise in your editor"
           : w->passed   ? "n next exercise"
                         : "n next, left open",
           style(PLAIN));
  printf("%swaiting for the next save in %s (Ctrl-C ends)%s\n", style(DIM), w->folder, style(PLAIN));
  fflush(stdout);
}

static bool check(Watch *w, const Exercise *e) {
  w->run.exercise = e;
  work_file(e, w->file, sizeof w->file);
  w->run.file = w->file;
  if (getrandom(&w->run.seed, sizeof w->run.seed, 0) < 0)
    return false;
  printf("%s", isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "");
  fflush(stdout);
  const bool before = progress_of(e).passed;
  w->opened = NULL;
  w->passed = judge_once(&w->run, w->file) == EXIT_PASS;
  if (w->opens && w->passed && !before)
    open_next(w, e);
  show_bottom(w);
  return true;
}

// An editor, or a list in a pager: the terminal is theirs until they end.
static void run_apart(int (*command)(int argc, char **argv), int argc, char **argv) {
  keys_end();
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    umask(file_mask());
    const int status = command(argc, argv);
    fflush(stdout);
    pager_end();
    _exit(status); // nothing of the grader's is cleaned up here
  }
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  keys_begin();
}

// False: it is over.
static bool key(Watch *w, char pressed) {
  const Exercise *e = exercise_of_keys(w);
  char *argv[] = {"hint", (char *)(uintptr_t)e->id, NULL};
  switch (pressed) {
  case 'q':
    return false;
  case 'h':
    printf("\n");
    cmd_hint(2, argv);
    break;
  case 'l':
    printf("\n");
    argv[0] = "list";
    argv[1] = NULL;
    run_apart(cmd_list, 1, argv);
    break;
  case 'e':
    if (w->opens) {
      open_beside(w, e);
      return true;
    }
    argv[0] = "edit";
    run_apart(cmd_edit, 2, argv);
    return check(w, e);
  case 'r':
    return check(w, e);
  case 'n':
    e = w->opened ? e : course_after(e);
    if (!e)
      break;
    if (w->opens && !w->opened)
      open_beside(w, e);
    if (edits_next(w)) {
      char *edit[] = {"edit", (char *)(uintptr_t)e->id, NULL};
      run_apart(cmd_edit, 2, edit);
    }
    return check(w, e);
  default:
    return true;
  }
  show_bottom(w);
  return true;
}

static bool saved(Watch *w) {
  char name[512];
  if (!wait_for_save(w->watcher, name, sizeof name))
    return false;
  const Exercise *e = *name ? exercise_find(name) : NULL;
  if (!e || !is_answer(name, e))
    return true;
  drain_events(w->watcher);
  return check(w, e);
}

int cmd_watch(int argc, char **argv) {
  static Watch w = {.editor.socket = -1};
  const char *given = NULL;
  if (!editor_take_option(&argc, argv, &given))
    return EXIT_USAGE;
  const char *command = editor_with_window(given);
  int status = run_parse(argc, argv, &w.run);
  if (status != EXIT_PASS)
    return status;
  if (!work_exists() && work_start() < 0)
    return EXIT_GRADER;
  w.opens = command && editor_begin(&w.editor, command);
  if ((status = begin_sandbox(argv[0], w.run.sandbox)) >= 0)
    return status;
  const Exercise *first = w.run.exercise ? w.run.exercise : progress_current();
  if (!first)
    first = exercise_at(0); // all have passed: there is still something to see
  work_path(w.folder, sizeof w.folder, "%s", "");
  w.watcher = inotify_init1(IN_CLOEXEC);
  if (w.watcher < 0 || inotify_add_watch(w.watcher, w.folder, IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    fprintf(stderr, "ferry watch: %s cannot be watched: %s\n", w.folder, strerror(errno));
    return EXIT_GRADER;
  }
  keys_begin();
  if (w.opens)
    open_beside(&w, first);
  if (!check(&w, first))
    return EXIT_GRADER;
  for (;;) {
    struct pollfd waiting[] = {
        {w.watcher, POLLIN, 0}, {keys_on ? STDIN_FILENO : -1, POLLIN, 0}, {w.editor.socket, POLLIN, 0}};
    char pressed;
    if (poll(waiting, 3, -1) < 0 && errno != EINTR)
      return EXIT_GRADER;
    if (waiting[2].revents)
      editor_tell_failure(&w.editor);
    if (waiting[1].revents) {
      if (read(STDIN_FILENO, &pressed, 1) != 1 || !key(&w, pressed))
        return EXIT_PASS;
    } else if (waiting[0].revents && !saved(&w)) {
      return EXIT_GRADER;
    }
  }
}
