// `ferry chapter`: runs a chapter's program, or shows its lesson.
#include "commands.h"
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The reader's pager, which gets what is written to the file; NULL: there is no terminal, or no pager.
static FILE *pager_begin(void) {
  const char *pager = getenv("PAGER");
  if (!isatty(STDOUT_FILENO))
    return NULL;
  style(PLAIN); // whether there are colours is decided by the terminal, not by the pipe
  setenv("LESS", "FRX", 0);
  signal(SIGPIPE, SIG_IGN); // it may be left before the end
  return popen(pager && *pager ? pager : "less", "we");
}

static int show_lesson(const char *path) {
  char *text = file_read(path, NULL);
  if (!text) {
    perror(path);
    return EXIT_GRADER;
  }
  FILE *pager = pager_begin();
  page_render(pager ? pager : stdout, text);
  if (pager)
    pclose(pager);
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
    return usage_error(argv[0], "there is no chapter %s; README.md lists them", argv[1]);
  if (read) {
    int status = show_lesson(found.gl_pathv[0]);
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
