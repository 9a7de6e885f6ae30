// SPDX-License-Identifier: MIT
// `ferry play`: any file in C or CUDA C, compiled against the library or for the simulated device, run, and what was counted.
#include "tool/adopt.h"
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/compile/diagnostics.h"
#include "tool/compile/nvcc.h"
#include "tool/compile/process.h"
#include "tool/print/plain.h"
#include "tool/print/term.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run_words(const Words *w) {
  return run_tool(w->items, ".", NULL, NULL, NULL);
}

// Its messages as a verdict has them: errors, or the first warning.
static int run_compiler(const Words *w, const char *source, const char *folder) {
  char messages[PATH_MAX];
  snprintf(messages, sizeof messages, "%s/messages", folder);
  int status = run_tool(w->items, ".", NULL, NULL, messages);
  char *said = file_read(messages, NULL);
  char *fit = !said ? NULL : status == 0 ? diagnostics_warning(said, source) : diagnostics_errors(said, source);
  char *plain = fit ? plain_text(fit, strlen(fit)) : NULL;
  if (plain)
    term_wrap(stderr, plain, 2);
  free(said);
  free(fit);
  free(plain);
  return status;
}

// What the chapters' programs share: a copy of one of them builds anywhere.
#define CHAPTER_HEADERS "-I" CONFIG_ROOT "/chapters"
#define CHAPTER_LIBRARY CONFIG_OBJECTS "/libchapters.a"

// With the library's headers and as the chapters are, but for the warnings: those are shown, and stop nothing.
// On adopted kernels, if there is a list of them.
static int build(const char *source, const char *folder, const char *program, const AdoptedList *adopted) {
  Words compile = {0}, link = {0};
  words_split(&compile,
              CONFIG_CC " -std=c17 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wno-unused-parameter -fopenmp " CONFIG_INCLUDES);
  words_add(&compile, "-I" CONFIG_ROOT "/core");
  words_add(&compile, "-I" CONFIG_ROOT "/build/include");
  words_add(&compile, CHAPTER_HEADERS);
  words_add(&compile, "-c");
  words_add(&compile, source);
  words_add(&compile, "-o");
  words_addf(&compile, "%s/program.o", folder);
  if (run_compiler(&compile, source, folder) != 0)
    return EXIT_ANSWER;
  if (adopted) {
    char object[PATH_MAX];
    snprintf(object, sizeof object, "%s/program.o", folder);
    const char *const objects[] = {object, CONFIG_OBJECTS "/tests/grader/play_count.o", NULL};
    return adopt_link(objects, CHAPTER_LIBRARY, adopted, NULL, NULL, program) ? EXIT_PASS : EXIT_GRADER;
  }
  words_split(&link, CONFIG_CXX " " CONFIG_LINKER " -o");
  words_add(&link, program);
  words_addf(&link, "%s/program.o", folder);
  words_add(&link, CONFIG_OBJECTS "/tests/grader/play_count.o");
  if (access(rooted(CHAPTER_LIBRARY), R_OK) == 0)
    words_add(&link, CHAPTER_LIBRARY);
  words_add(&link, CONFIG_LIBRARY);
  words_split(&link, CONFIG_LINK);
  return run_words(&link) == 0 ? EXIT_PASS : EXIT_ANSWER;
}

static bool defines_main(const char *source) {
  char *text = file_read(source, NULL);
  bool defines = text && (strstr(text, " main(") || strstr(text, "\nmain("));
  free(text);
  return defines;
}

static int play_c(const char *source, char **arguments, bool adopted) {
  AdoptedList list;
  const int begun = adopted ? adopt_begin_program("play", &list) : EXIT_PASS;
  if (begun != EXIT_PASS)
    return begun;
  char folder[PATH_MAX - 32], program[PATH_MAX];
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/ferry-play-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) {
    perror("ferry play: no temporary folder");
    return EXIT_GRADER;
  }
  snprintf(program, sizeof program, "%s/program", folder);
  int status = build(source, folder, program, adopted ? &list : NULL);
  arguments[0] = program;
  setenv("FERRY_CHECKED", "1", 0);
  if (status == EXIT_PASS)
    status = run_program("play", program, arguments);
  const char *remove[] = {"rm", "-rf", "--", folder, NULL};
  run_tool(remove, "/", NULL, NULL, NULL);
  return status;
}

static int play_cuda(char *source, char **arguments, int count) {
  char **argv = calloc((size_t)count + 6, sizeof *argv);
  int used = 0;
  if (!argv)
    return EXIT_GRADER;
  argv[used++] = (char *)(uintptr_t) "cuda";
  argv[used++] = (char *)(uintptr_t) "--count";
  argv[used++] = (char *)(uintptr_t)rooted(CHAPTER_HEADERS);
  argv[used++] = source;
  if (count > 0)
    argv[used++] = (char *)(uintptr_t) "--";
  for (int i = 0; i < count; i++)
    argv[used++] = arguments[i];
  int status = cmd_cuda(used, argv);
  free(argv);
  return status;
}

int cmd_play(int argc, char **argv) {
  if (argc < 2)
    return usage_error(argv[0], "which file? ./ferry play FILE.c");
  const char *dot = strrchr(argv[1], '.');
  bool cuda = dot && strcmp(dot, ".cu") == 0, c = dot && strcmp(dot, ".c") == 0;
  const bool adopted = argc > 2 && strcmp(argv[2], "--adopted") == 0;
  int first = adopted ? 3 : 2;
  first += argc > first && strcmp(argv[first], "--") == 0;
  if (!cuda && !c)
    return usage_error(argv[0], "%s is neither a .c nor a .cu file", argv[1]);
  if (cuda && adopted)
    return usage_error(argv[0], "--adopted is for .c files, which call the library's ops");
  if (access(argv[1], R_OK) != 0)
    return usage_error(argv[0], "there is no file %s", argv[1]);
  if (!defines_main(argv[1]))
    return usage_error(argv[0], "%s has no main(), so it cannot run by itself. ./ferry run checks an answer", argv[1]);
  return cuda ? play_cuda(argv[1], argv + first, argc - first) : play_c(argv[1], argv + first - 1, adopted);
}
