// The learner's way through the workbook: where am I, what is there, what next.
#include "commands.h"
#include <glob.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int passed_count(void) {
  int passed = 0;
  for (int i = 0; i < exercise_count(); i++)
    passed += progress_of(exercise_at(i)).passed;
  return passed;
}

static void progress_bar(void) {
  int passed = passed_count(), all = exercise_count(), width = 40;
  printf("[");
  for (int i = 0; i < width; i++)
    putchar(all > 0 && i < passed * width / all ? '#' : '-');
  printf("] %d of %d exercises passed\n", passed, all);
}

// The learner's file as it is best typed: relative to here where it is below.
static void shown_file(const Exercise *e, char *path, size_t bytes) {
  char here[4096], whole[4096];
  work_file(e, whole, sizeof whole);
  size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
  bool below = length > 0 && strncmp(whole, here, length) == 0 && whole[length] == '/';
  snprintf(path, bytes, "%s", below ? whole + length + 1 : whole);
}

static void say_next(const Exercise *e) {
  char file[4096];
  shown_file(e, file, sizeof file);
  printf("Next: %s%s%s, %s (chapter %d, %s)\n", style(BOLD), e->id, style(PLAIN), e->title, e->chapter, e->kind);
  printf("  lesson   ./ferry chapter %d --read\n", e->chapter);
  printf("  edit     %s\n", file);
  printf("  check    ./ferry run %s      (at every save: ./ferry watch)\n", e->id);
  printf("  hint     ./ferry hint %s\n", e->id);
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
    printf("All exercises have passed. ./ferry list shows them; ./ferry solution EX compares yours with another "
           "answer.\n");
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
  Style s = p.passed ? GREEN : PLAIN;
  const char *state = p.on_gpu ? "passed on NVIDIA hardware" : p.passed ? "passed (simulator)" : "";
  printf("  %s%c %-32s%s %-44s %-12s %s\n", style(s), p.passed ? 'x' : '-', e->id, style(PLAIN), e->title, e->kind,
         state);
}

int cmd_list(int argc, char **argv) {
  bool ids = argc == 2 && strcmp(argv[1], "--ids") == 0;
  int part = -1;
  if (argc > 1 && !ids)
    return usage_error(argv[0], "it takes --ids, or nothing");
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *e = exercise_in_order(i);
    if (ids) {
      printf("%s\n", e->id);
      continue;
    }
    if (exercise_part(e) != part) {
      char title[256] = "Kernels in CUDA C, each a little more than the one before";
      if (exercise_part(e) != PART_KERNELS)
        chapter_title(e->chapter, title, sizeof title);
      printf("%s%s%s%s\n", part < 0 ? "" : "\n", style(BOLD), title, style(PLAIN));
      part = exercise_part(e);
    }
    list_one(e);
  }
  if (!ids) {
    printf("\n");
    progress_bar();
  }
  return EXIT_PASS;
}

// ---- chapter -----------------------------------------------------------------------------------------------------------

static int show_text(const char *path) {
  const char *pager = getenv("PAGER");
  if (isatty(1)) {
    char *argv[] = {(char *)(uintptr_t)(pager && *pager ? pager : "less"), (char *)(uintptr_t)path, NULL};
    execvp(argv[0], argv);
  }
  char *text = file_read(path, NULL);
  if (!text)
    return EXIT_GRADER;
  fputs(text, stdout);
  free(text);
  return EXIT_PASS;
}

// A chapter on kernels runs as nvcc built it where that is done and a GPU is there.
static void chapter_program(const char *source, char *program, size_t bytes) {
  const char *name = strrchr(source, '/') + 1, *end = strrchr(name, '.'), *cuda = getenv("FERRY_CUDA");
  in_root(program, bytes, "build/cuda/chapters/%.*s", (int)(end - name), name);
  bool gpu = strcmp(end, ".cu") == 0 && access("/dev/nvidiactl", F_OK) == 0 && (!cuda || strcmp(cuda, "real") == 0);
  if (!gpu || access(program, X_OK) != 0)
    in_root(program, bytes, "build/chapters/%.*s", (int)(end - name), name);
}

int cmd_chapter(int argc, char **argv) {
  if (argc < 2)
    return usage_error(argv[0], "which one? ./ferry chapter 3");
  int number = atoi(argv[1]);
  bool read = argc > 2 && strcmp(argv[2], "--read") == 0;
  char pattern[4096], program[4096];
  glob_t found;
  in_root(pattern, sizeof pattern, read ? "docs/%02d_*.md" : "chapters/%02d_*.c*", number);
  if (glob(pattern, 0, NULL, &found) != 0)
    return usage_error(argv[0], "there is no chapter %s", argv[1]);
  if (read) {
    int status = show_text(found.gl_pathv[0]);
    globfree(&found);
    return status;
  }
  chapter_program(found.gl_pathv[0], program, sizeof program);
  globfree(&found);
  argv[1] = program;
  execv(program, argv + 1);
  fprintf(stderr, "ferry chapter: %s is not built; run make\n", program);
  return EXIT_GRADER;
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

// ---- hint, solution ------------------------------------------------------------------------------------------------------

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
  for (int i = 0; i < p.hints && i < all; i++)
    printf("%s%d of %d%s  %s\n", style(BOLD), i + 1, all, style(PLAIN), e->hints[i]);
  printf("\n%s The lesson: %s\n", p.hints < all ? "One more at each asking." : "That was the last one.", e->lesson);
  if (more)
    progress_set(e, p);
  return EXIT_PASS;
}

int cmd_solution(int argc, char **argv) {
  const Exercise *e = argc >= 2 ? exercise_named(argv[0], argv[1]) : NULL;
  bool spoil = argc == 3 && strcmp(argv[2], "--spoil") == 0;
  if (argc < 2 || argc > 3 || (argc == 3 && !spoil))
    return usage_error(argv[0], "./ferry solution EX [--spoil]");
  if (!e)
    return EXIT_USAGE;
  if (!spoil && !progress_of(e).passed) {
    printf("%s has not passed yet. ./ferry hint %s helps; ./ferry solution %s --spoil shows it all the same.\n", e->id,
           e->id, e->id);
    return EXIT_ANSWER;
  }
  char path[4096];
  in_root(path, sizeof path, "solutions/%s.%s", e->id, exercise_extension(e));
  char *text = file_read(path, NULL);
  if (!text) {
    perror(path);
    return EXIT_GRADER;
  }
  // Without its tags, and without the stub's part.
  bool shown = true;
  for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
    end = strchr(line, '\n');
    size_t blank = strspn(line, " ");
    bool stub = strncmp(line + blank, "// [stub]", 9) == 0, last = strncmp(line + blank, "// [end]", 8) == 0;
    shown = stub ? false : last ? true : shown;
    if (shown && !last && strncmp(line + blank, "// [answer]", 11) != 0)
      printf("%.*s\n", (int)strcspn(line, "\n"), line);
  }
  free(text);
  return EXIT_PASS;
}
