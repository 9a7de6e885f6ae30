// SPDX-License-Identifier: MIT
// `ferry cut`: stubs from tagged solutions.
//
//   // [answer]   what follows is in the solution alone
//   // [stub]     what follows is in the stub alone, each line behind `//|`
//   // [end]
#include "tool/commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cut {
  char *text; // never longer than the solution
  size_t used;
  const char *path;
  int line;
  enum { BOTH, ANSWER, STUB } part;
  bool failed;
} Cut;

static bool is_tag(const char *line, size_t length, const char *tag) {
  size_t blank = strspn(line, " ");
  size_t want = strlen(tag);
  return length == blank + 3 + want && strncmp(line + blank, "// ", 3) == 0 &&
         strncmp(line + blank + 3, tag, want) == 0;
}

static void wrong(Cut *c, const char *what) {
  fprintf(stderr, "%s:%d: %s\n", c->path, c->line, what);
  c->failed = true;
}

static void append(Cut *c, const char *text, size_t length) {
  memcpy(c->text + c->used, text, length);
  c->used += length;
}

// "  //| return NULL;" is "  return NULL;" in the stub.
static void put_stub_line(Cut *c, const char *line, size_t length) {
  size_t blank = strspn(line, " ");
  if (length < blank + 3 || strncmp(line + blank, "//|", 3) != 0) {
    wrong(c, "a line between [stub] and [end] begins with //|");
    return;
  }
  size_t skip = blank + 3 + (line[blank + 3] == ' ');
  if (length > skip) {
    append(c, line, blank);
    append(c, line + skip, length - skip);
  }
  append(c, "\n", 1);
}

static void take_line(Cut *c, const char *line, size_t length) {
  if (is_tag(line, length, "[answer]")) {
    if (c->part != BOTH)
      wrong(c, "[answer] before the [end] of the one above");
    c->part = ANSWER;
  } else if (is_tag(line, length, "[stub]")) {
    if (c->part != ANSWER)
      wrong(c, "[stub] without an [answer] before it");
    c->part = STUB;
  } else if (is_tag(line, length, "[end]")) {
    if (c->part == BOTH)
      wrong(c, "[end] without an [answer]");
    c->part = BOTH;
  } else if (c->part == STUB) {
    put_stub_line(c, line, length);
  } else if (c->part == BOTH) {
    append(c, line, length);
    append(c, "\n", 1);
  }
}

// The stub (malloc), NULL after messages about its tags.
static char *cut(const char *path, const char *solution, size_t *bytes) {
  Cut c = {.text = malloc(2 * strlen(solution) + 2), .path = path};
  bool any = strstr(solution, "// [answer]") != NULL;
  for (const char *line = solution; c.text && *line;) {
    size_t length = strcspn(line, "\n");
    c.line++;
    take_line(&c, line, length);
    line += length + (line[length] == '\n');
  }
  if (c.part != BOTH || !any)
    wrong(&c, any ? "an [answer] has no [end]" : "it has no [answer]: the stub would be the solution");
  *bytes = c.used;
  if (c.failed || !c.text) {
    free(c.text);
    return NULL;
  }
  return c.text;
}

static bool cut_one(const Exercise *e, bool check) {
  char from[4096], to[4096];
  in_root(from, sizeof from, "solutions/%s.%s", e->id, exercise_extension(e));
  in_root(to, sizeof to, "exercises/%s.%s", e->id, exercise_extension(e));
  char *solution = file_read(from, NULL);
  if (!solution) {
    fprintf(stderr, "ferry cut: %s cannot be read\n", from);
    return false;
  }
  size_t bytes = 0, old_bytes = 0;
  char *stub = cut(from, solution, &bytes), *old = file_read(to, &old_bytes);
  bool same = stub && old && old_bytes == bytes && memcmp(old, stub, bytes) == 0;
  bool right = same || (stub && !check && file_write(to, stub, bytes));
  if (stub && !right)
    fprintf(stderr, check ? "%s is not what ./ferry cut makes of its solution\n" : "ferry cut: %s cannot be written\n",
            to);
  else if (stub && !same)
    printf("wrote exercises/%s.%s\n", e->id, exercise_extension(e));
  free(solution);
  free(stub);
  free(old);
  return right;
}

int cmd_cut(int argc, char **argv) {
  bool check = argc > 1 && strcmp(argv[1], "--check") == 0, right = true;
  if (argc > 2 || (argc == 2 && !check))
    return usage_error("cut", "it takes --check, or nothing");
  for (int i = 0; i < exercise_count(); i++)
    right &= cut_one(exercise_at(i), check);
  return right ? EXIT_PASS : EXIT_ANSWER;
}
