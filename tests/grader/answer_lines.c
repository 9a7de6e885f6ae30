// SPDX-License-Identifier: MIT
// Where an answer crashed. Its process prints addresses (core/sim/engine/crash.c); what they stand for is looked up afterwards, in the same answer
// compiled again with lines: most answers do not crash, and lines would make each verdict slower.
#include "answer_tools.h"
#include "case.h"
#include "sim/engine/crash.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ADDRESSES = 32, MOST_SHOWN = 8 };

// "  at program +0x12 +0x34", up to the end of its line: its addresses as words of `c`. Where the row ends.
static const char *read_row(const char *row, Command *c) {
  const char *end = row + strcspn(row, "\n");
  int count = 0;
  for (const char *at = row; (at = strstr(at, " +0x")) && at < end && count < MOST_ADDRESSES; count++) {
    char address[24];
    size_t length = 2; // "0x"
    at += 2;
    while (length < sizeof address - 1 && isxdigit((unsigned char)at[length]))
      length++;
    snprintf(address, sizeof address, "%.*s", (int)length, at);
    command_word(c, "%s", address);
    at += length;
  }
  return *end ? end + 1 : end;
}

// The source's line, without what it begins with.
static void put_source(FILE *to, const char *text, int number) {
  for (; text && *text && number > 1; number--)
    text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
  if (!text || !*text)
    return;
  text += strspn(text, " \t");
  fprintf(to, "      %.*s\n", (int)strcspn(text, "\r\n"), text);
}

// One line of addr2line's, "function at path:12"; " (inlined by) " before those that it became part of. True: it is the answer's.
static bool put_place(FILE *to, const Answer *a, const char *line, bool first) {
  char text[1024];
  static const char inlined[] = " (inlined by) ";
  snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
  char *name = strncmp(text, inlined, sizeof inlined - 1) == 0 ? text + sizeof inlined - 1 : text;
  char *at = strstr(name, " at "), *slash = strrchr(text, '/'), *file = slash ? slash + 1 : at ? at + 4 : NULL;
  const size_t title = strlen(a->title);
  if (!at || strncmp(file, a->title, title) != 0 || file[title] != ':')
    return false;
  const bool innermost = strncmp(line + strcspn(line, "\n"), "\n (inlined by) ", sizeof inlined) == 0;
  const int number = atoi(file + title + 1);
  name[strcspn(name, "(. ")] = '\0';
  if (innermost && first) // addr2line has the name of the function that this one became part of
    fprintf(to, "  at %s:%d\n", a->title, number);
  else
    fprintf(to, "  %s %s, %s:%d\n", first ? "in" : "called from", name, a->title, number);
  if (first)
    put_source(to, a->text, number);
  return true;
}

static void put_places(FILE *to, const Answer *a, const char *said) {
  int shown = 0;
  for (const char *line = said; *line && shown < MOST_SHOWN; line += strcspn(line, "\n") + 1) {
    shown += put_place(to, a, line, shown == 0);
    if (!strchr(line, '\n'))
      break;
  }
  if (shown == 0)
    fprintf(to, "  not in a function of %s, but your function may have passed or returned an invalid pointer\n",
            a->title);
}

// The program's folder is the grader's since it was taken over; the tool works in one of its own.
static void look_up(FILE *to, const Answer *a, const char *program, Command *c) {
  Answer tool = {.exercise = a->exercise};
  char *said = NULL;
  if (!sandbox_folder(tool.folder, sizeof tool.folder))
    return;
  if (answer_run_tool(&tool, c, (const char *[2]){program, NULL}, COMPILE_SECONDS, &said) && said)
    put_places(to, a, said);
  free(said);
  free(tool.diagnostics);
  sandbox_folder_remove(tool.folder);
}

// Its path; made by the first test that needs it. False: it cannot be made.
static bool find_program(const Answer *a, char *path, size_t bytes) {
  Answer built;
  snprintf(path, bytes, "%s", a->program);
  if (a->for_inspector) // which needs lines in any case
    return true;
  snprintf(path, bytes, "%s/with_lines", a->folder);
  if (access(path, R_OK) == 0)
    return true;
  const bool made = answer_build_with_lines(&built, a) && rename(built.program, path) == 0;
  answer_free(&built);
  return made;
}

char *answer_name_lines(const Answer *a, char *output) {
  static Command c; // large
  char program[320], *text = NULL;
  size_t bytes = 0;
  if (!output || !strstr(output, SIM_CRASH_ADDRESSES) || a->real_gpu)
    return output;
  const bool found = find_program(a, program, sizeof program);
  FILE *to = open_memstream(&text, &bytes);
  if (!to)
    fatal_error("no memory for what an answer printed");
  const char *at = output;
  for (const char *row; (row = strstr(at, SIM_CRASH_ADDRESSES));) {
    fwrite(at, 1, (size_t)(row - at), to);
    c = (Command){0};
    command_program(&c, "addr2line");
    command_words(&c, "-Cfpie");
    command_word(&c, "%s", program);
    at = read_row(row, &c);
    if (found)
      look_up(to, a, program, &c);
  }
  fputs(at, to);
  fclose(to);
  free(output);
  return text;
}
