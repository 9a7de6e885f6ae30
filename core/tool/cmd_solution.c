// SPDX-License-Identifier: MIT
// `ferry solution` and `ferry diff`: another answer, alone or beside the learner's.
#include "tool/commands.h"
#include "tool/print/page.h"
#include "tool/print/pager.h"
#include "tool/print/term.h"
#include <stdint.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The solution without its tags, and without the stub's part.
static bool write_solution(const Exercise *e, FILE *to) {
  char path[4096];
  in_root(path, sizeof path, "solutions/%s.%s", e->id, exercise_extension(e));
  char *text = file_read(path, NULL);
  if (!text) {
    perror(path);
    return false;
  }
  bool shown = true;
  for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
    end = strchr(line, '\n');
    size_t blank = strspn(line, " ");
    bool stub = strncmp(line + blank, "// [stub]", 9) == 0, last = strncmp(line + blank, "// [end]", 8) == 0;
    shown = stub ? false : last ? true : shown;
    if (shown && !last && strncmp(line + blank, "// [answer]", 11) != 0)
      fprintf(to, "%.*s\n", (int)strcspn(line, "\n"), line);
  }
  free(text);
  return true;
}

// An answer is another's to see when its own has passed.
static int allowed(const char *command, int argc, char **argv, const Exercise **e) {
  *e = argc >= 2 ? exercise_named(argv[0], argv[1]) : NULL;
  bool spoil = argc == 3 && strcmp(argv[2], "--spoil") == 0;
  if (argc < 2 || argc > 3)
    return usage_error(argv[0], "./ferry %s EX [--spoil]", command);
  if (argc == 3 && !spoil)
    return no_option(argv[0], argv[2]);
  if (!*e)
    return EXIT_USAGE;
  if (spoil || progress_of(*e).passed)
    return EXIT_PASS;
  printf("%s has not passed yet. ./ferry hint %s helps;\n./ferry %s %s --spoil shows it anyway.\n", (*e)->id,
         exercise_number(*e), command, exercise_number(*e));
  return EXIT_ANSWER;
}

// Why it is solved so, and how else.
static void show_page(const Exercise *e) {
  char path[4096];
  in_root(path, sizeof path, "solutions/%s.md", e->id);
  char *page = file_read(path, NULL);
  if (page) {
    printf("\n");
    page_render(stdout, page);
  }
  free(page);
}

int cmd_solution(int argc, char **argv) {
  const Exercise *e;
  int status = allowed("solution", argc, argv, &e);
  if (status != EXIT_PASS)
    return status;
  const bool on_terminal = isatty(STDOUT_FILENO); // into a file goes the code only
  pager_take_stdout();
  if (!write_solution(e, stdout))
    return EXIT_GRADER;
  if (on_terminal)
    show_page(e);
  return EXIT_PASS;
}

// Right answers that are written in other ways say so in their first line.
static void say_other_ways(const Exercise *e) {
  char pattern[4096];
  glob_t found;
  in_root(pattern, sizeof pattern, "tests/hidden/%s/right_*.%s", e->id, exercise_extension(e));
  if (glob(pattern, 0, NULL, &found) == 0) {
    bool any = false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
      char *text = file_read(found.gl_pathv[i], NULL);
      if (text && strncmp(text, "// ", 3) == 0) {
        text[strcspn(text, "\n")] = '\0';
        if (!any)
          printf("\n%sThe tests also accept other solutions:%s\n", style(BOLD), style(PLAIN));
        any = true;
        term_paragraph(stdout, "  - ", 4, text + 3);
      }
      free(text);
    }
  }
  globfree(&found);
}

int cmd_diff(int argc, char **argv) {
  const Exercise *e;
  int status = allowed("diff", argc, argv, &e);
  if (status != EXIT_PASS)
    return status;
  char own[4096], solution[4096], shown[4096], command[64 + 4 * 4096];
  const char *tmp = getenv("TMPDIR");
  snprintf(solution, sizeof solution, "%s/ferry-solution-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  int to = mkstemp(solution);
  FILE *file = to >= 0 ? fdopen(to, "w") : NULL;
  if (!file) {
    perror("ferry diff: no temporary file");
    return EXIT_GRADER;
  }
  bool written = write_solution(e, file) && fclose(file) == 0;
  work_file(e, own, sizeof own);
  work_shown(e, shown, sizeof shown);
  printf("Lines with - are yours, lines with + are the solution's.\n\n");
  fflush(stdout);
  setenv("FERRY_OWN", own, 1);
  setenv("FERRY_SOLUTION", solution, 1);
  setenv("FERRY_SHOWN", shown, 1);
  snprintf(command, sizeof command,
           "diff -u %s --label \"$FERRY_SHOWN\" --label the-solution \"$FERRY_OWN\" \"$FERRY_SOLUTION\"",
           *style(BOLD) ? "--color=always" : "");
  int ended = written ? system(command) : -1;
  unlink(solution);
  if (ended == 0)
    printf("No line differs.\n");
  say_other_ways(e);
  return ended == -1 || ended >= 512 ? EXIT_GRADER : EXIT_PASS;
}
