// SPDX-License-Identifier: MIT
// `ferry chapter`: runs a chapter's program, or shows its lesson.
#include "tool/adopt.h"
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/compile/process.h"
#include "tool/milestones.h"
#include "tool/print/page.h"
#include "tool/print/pager.h"
#include "tool/print/language.h"
#include "tool/print/lesson.h"
#include <ctype.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_NAME "abcdefghijklmnopqrstuvwxyz_"

// The lines that come out before `section`, which is in `text`.
static int lines_before(char *text, char *section) {
  char *lines = NULL, first = *section;
  size_t bytes = 0;
  int count = 0;
  FILE *to = open_memstream(&lines, &bytes);
  if (!to)
    return 0;
  *section = '\0';
  page_render(to, text);
  *section = first;
  fclose(to);
  for (const char *line = lines; (line = strchr(line, '\n')); line++)
    count++;
  free(lines);
  return count;
}

// The whole lesson, or what of it is to be shown of a section: on a terminal all of it, and less begins at the section; other
// pagers get what follows; into a pipe goes the section alone.
static void show_text(char *text, char *section) {
  bool whole = !section || (isatty(STDOUT_FILENO) && pager_is_less());
  FILE *pager = pager_begin(section && whole ? lines_before(text, section) + 1 : 1);
  if (!whole && !pager)
    *lesson_section_end(section) = '\0';
  page_render(pager ? pager : stdout, whole ? text : section);
  if (pager)
    pclose(pager);
}

// Anchors are those of the English page, also of its translation.
static int show_lesson(const char *path, const char *anchor) {
  char *text = file_read(path, NULL), *section = NULL, shown[4096];
  if (!text) {
    perror(path);
    return EXIT_GRADER;
  }
  if (anchor && !(section = lesson_section(text, anchor))) {
    fprintf(stderr, "ferry chapter: %s has no section #%s. It has:\n", strrchr(path, '/') + 1, anchor);
    lesson_sections(stderr, text);
    free(text);
    return EXIT_USAGE;
  }
  language_page(path, shown, sizeof shown);
  char *translation = strcmp(shown, path) != 0 ? file_read(shown, NULL) : NULL;
  if (translation && section)
    show_text(translation, lesson_same_section(text, section, translation));
  else
    show_text(translation ? translation : text, section);
  free(translation);
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

// "20", "20#guard", or the name of a different page of docs/, such as "glossary": where its file is.
static void pattern_of(const char *chapter, bool read, char *pattern, size_t bytes) {
  if (isdigit((unsigned char)*chapter))
    in_root(pattern, bytes, read ? "docs/%02d_*.md" : "chapters/%02d_*.c*", atoi(chapter));
  else
    in_root(pattern, bytes, "docs/%.*s.md", (int)strspn(chapter, PAGE_NAME), chapter);
}

// make builds the exercises first; a lesson's program when it is asked for.
static void build_program(const char *program) {
  Words make = {0};
  if (CONFIG_INSTALLED || access(program, X_OK) == 0)
    return;
  fprintf(stderr, "Building the program of this lesson\n");
  words_split(&make, "make --silent");
  words_add(&make, program + strlen(root_folder()) + 1);
  run_tool(make.items, root_folder(), NULL, NULL, NULL);
}

// The lesson whose program ends with sentences of a GPT that it has trained: a milestone, where it comes to its end.
enum { GPT_LESSON = 33 };

static int run_gpt(const char *program, char **argv) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    execv(program, argv);
    _exit(127);
  }
  const int status = pid > 0 ? wait_for_tool(pid) : EXIT_GRADER;
  bool asks = false;
  for (char **a = argv + 1; *a; a++)
    asks |= strcmp(*a, "--help") == 0 || strcmp(*a, "-h") == 0;
  if (status == EXIT_PASS && !asks)
    milestone_note(MILESTONE_GPT, "lesson 33");
  return status;
}

int cmd_chapter(int argc, char **argv) {
  if (argc < 2)
    return usage_error(argv[0], "which one? ./ferry chapter 3");
  const char *anchor = strchr(argv[1], '#');
  bool read = anchor || !isdigit((unsigned char)*argv[1]) || (argc > 2 && strcmp(argv[2], "--read") == 0);
  const int lesson = atoi(argv[1]);
  char pattern[4096], program[4096];
  glob_t found;
  pattern_of(argv[1], read, pattern, sizeof pattern);
  if (glob(pattern, 0, NULL, &found) != 0)
    return usage_error(argv[0], "there is no lesson %s; README.md lists all lessons", argv[1]);
  if (read) {
    int status = show_lesson(found.gl_pathv[0], anchor ? anchor + 1 : NULL);
    globfree(&found);
    return status;
  }
  chapter_program(found.gl_pathv[0], program, sizeof program);
  globfree(&found);
  argv[1] = program;
  build_program(program);
  if (argc > 2 && strcmp(argv[2], "--adopted") == 0)
    return adopt_run_chapter(program, argv + 2);
  if (lesson == GPT_LESSON && access(program, X_OK) == 0)
    return run_gpt(program, argv + 1);
  execv(program, argv + 1);
  if (CONFIG_INSTALLED)
    fprintf(stderr, "ferry chapter: an installed Ferry has the text of a lesson (--read), and not its program\n");
  else
    fprintf(stderr, "ferry chapter: %s could not be built; run make chapters\n", program);
  return EXIT_GRADER;
}
