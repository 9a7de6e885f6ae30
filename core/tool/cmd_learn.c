// SPDX-License-Identifier: MIT
// The learner's way through the workbook: where am I, what is there, what next.
#include "tool/commands.h"
#include "tool/print/lesson.h"
#include "tool/print/term.h"
#include <glob.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int passed_count(void) {
  int passed = 0;
  for (int i = 0; i < exercise_count(); i++)
    passed += progress_of(exercise_at(i)).passed;
  return passed;
}

void progress_bar(void) {
  int passed = passed_count(), all = exercise_count(), width = 40;
  printf("[");
  for (int i = 0; i < width; i++)
    putchar(all > 0 && i < passed * width / all ? '#' : '-');
  printf("] %d of %d exercises passed\n", passed, all);
}

static void say_next(const Exercise *e) {
  char file[4096];
  work_shown(e, file, sizeof file);
  printf("Next: %s%s%s\n      %s (%s)\n\n", style(BOLD), e->id, style(PLAIN), e->title, e->kind);
  printf("  read     ./ferry chapter %d --read    (in a browser: ./ferry book %d)\n", e->chapter, e->chapter);
  printf("  edit     %s\n", file);
  printf("  check    ./ferry run                 (at every save: ./ferry watch)\n");
  printf("  hint     ./ferry hint\n");
}

int cmd_where(int argc, char **argv) {
  (void)argc;
  (void)argv;
  printf("Ferry: a workbook for GPU acceleration in C\n\n");
  if (!work_exists()) {
    printf("%d exercises. Begin with:\n\n  ./ferry start\n\n", exercise_count());
    printf("It copies them to work/, which is yours. Then ./ferry says what comes next.\n");
    return EXIT_PASS;
  }
  progress_bar();
  const Exercise *e = progress_current();
  printf("\n");
  if (e)
    say_next(e);
  else
    printf("All exercises have passed. ./ferry list shows them; ./ferry diff EX\nputs yours beside another answer.\n");
  return EXIT_PASS;
}

int cmd_next(int argc, char **argv) {
  if (argc > 1)
    return usage_error(argv[0], "it takes no arguments");
  const Exercise *e = progress_current();
  if (e)
    say_next(e);
  else
    printf("All exercises have passed.\n");
  return EXIT_PASS;
}

// ---- list --------------------------------------------------------------------------------------------------------------

static void chapter_title(int chapter, char *title, size_t bytes) {
  char pattern[4096];
  glob_t found;
  snprintf(title, bytes, "Chapter %d", chapter);
  in_root(pattern, sizeof pattern, "docs/%02d_*.md", chapter);
  if (glob(pattern, 0, NULL, &found) == 0) {
    char *text = file_read(found.gl_pathv[0], NULL);
    if (text && strncmp(text, "# ", 2) == 0)
      snprintf(title, bytes, "%.*s", (int)strcspn(text + 2, "\n"), text + 2);
    free(text);
  }
  globfree(&found);
}

static void list_one(const Exercise *e) {
  Progress p = progress_of(e);
  bool current = e == progress_current();
  Style s = p.passed ? GREEN : current ? BOLD : PLAIN;
  char mark = (char)(p.on_gpu ? 'X' : p.passed ? 'x' : current ? '>' : '-');
  printf("  %s%c %-31s%s %s\n", style(s), mark, e->id, style(PLAIN), e->title);
}

int cmd_list(int argc, char **argv) {
  bool ids = argc == 2 && strcmp(argv[1], "--ids") == 0;
  int chapter = -1;
  if (argc > 1 && !ids)
    return no_option(argv[0], argv[1]);
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *e = exercise_at(i);
    if (ids) {
      printf("%s\n", e->id);
      continue;
    }
    if (e->chapter != chapter) {
      char title[256];
      chapter_title(e->chapter, title, sizeof title);
      printf("%s%s%s%s\n", chapter < 0 ? "" : "\n", style(BOLD), title, style(PLAIN));
      chapter = e->chapter;
    }
    list_one(e);
  }
  if (!ids) {
    printf("\n> next   x passed on the simulator   X passed on NVIDIA hardware\n");
    progress_bar();
  }
  return EXIT_PASS;
}

// ---- start, reset, edit ------------------------------------------------------------------------------------------------

int cmd_start(int argc, char **argv) {
  char folder[4096];
  if (argc > 1)
    return usage_error(argv[0], "it takes no arguments");
  bool there = work_exists();
  int copied = work_start();
  if (copied < 0)
    return EXIT_GRADER;
  work_path(folder, sizeof folder, "%s", "");
  printf("%s %d exercises %s %s%s\n\n", there ? "Added" : "Copied", copied, there ? "that were not yet in" : "to",
         folder, there ? "; what was there is as it was" : "");
  return cmd_next(1, argv);
}

int cmd_reset(int argc, char **argv) {
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : NULL;
  if (argc != 2)
    return usage_error(argv[0], "which exercise? ./ferry reset EX");
  if (!e)
    return EXIT_USAGE;
  char file[4096], aside[4200], stamp[32];
  time_t now = time(NULL);
  work_file(e, file, sizeof file);
  strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime(&now));
  snprintf(aside, sizeof aside, "%s.%s", file, stamp);
  if (access(file, F_OK) == 0 && rename(file, aside) != 0) {
    perror(file);
    return EXIT_GRADER;
  }
  if (work_start() < 0)
    return EXIT_GRADER;
  Progress p = progress_of(e);
  p.passed = p.on_gpu = false;
  progress_set(e, p);
  printf("%s is as it was at first. Your version is kept: %s\n", file, aside);
  return EXIT_PASS;
}

int cmd_edit(int argc, char **argv) {
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : progress_current();
  if (argc > 2)
    return usage_error(argv[0], "one exercise at a time");
  if (!e)
    return EXIT_USAGE;
  char file[4096], command[8300];
  const char *editor = getenv("EDITOR");
  if (!editor || !*editor)
    return usage_error(argv[0], "set EDITOR to your editor first: export EDITOR=vim");
  if (!work_exists() && work_start() < 0)
    return EXIT_GRADER;
  work_file(e, file, sizeof file);
  snprintf(command, sizeof command, "%s \"$1\"", editor); // $EDITOR may have options
  execl("/bin/sh", "sh", "-c", command, "sh", file, (char *)NULL);
  perror("/bin/sh");
  return EXIT_GRADER;
}

// ---- hint ----------------------------------------------------------------------------------------------------------------

int cmd_hint(int argc, char **argv) {
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : progress_current();
  if (argc > 2)
    return usage_error(argv[0], "one exercise at a time");
  if (!e)
    return EXIT_USAGE;
  int all = 0;
  while (all < MAX_HINTS && e->hints[all])
    all++;
  Progress p = progress_of(e);
  bool more = p.hints < all;
  p.hints += more;
  for (int i = 0; i < p.hints && i < all; i++) {
    printf("%s%d of %d%s", style(BOLD), i + 1, all, style(PLAIN));
    term_paragraph(stdout, "  ", 8, e->hints[i]);
  }
  char lesson[256];
  lesson_command(e->lesson, lesson, sizeof lesson);
  printf("\n%s\nThe lesson: %s\n", p.hints < all ? "One more at each asking." : "That was the last one.", lesson);
  if (more)
    progress_set(e, p);
  return EXIT_PASS;
}
