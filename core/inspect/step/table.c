// SPDX-License-Identifier: MIT
// The table that cu2cpp --step wrote (core/sim/compile/step_hooks.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/step/step.h"

struct step_function *step_functions;
struct step_statement *step_statements;
int step_function_count, step_statement_count;

struct skipped {
  int line;
  char *name, *why;
};
static struct skipped *skipped;
static int skipped_count;

// Cuts the text at the separator; the part before it, or NULL at the end.
static char *next_part(char **text, char separator) {
  char *part = *text, *end = part ? strchr(part, separator) : NULL;
  *text = end ? end + 1 : NULL;
  if (end)
    *end = '\0';
  return part;
}

static int next_number(char **text) {
  const char *part = next_part(text, '\t');
  return part ? (int)strtol(part, NULL, 10) : 0;
}

static char **split_names(char *list, int *count) {
  char **names = NULL, *name;
  *count = 0;
  while (list && *list && (name = next_part(&list, ','))) {
    names = inspect_resize(names, (size_t)(*count + 1) * sizeof *names);
    names[(*count)++] = inspect_copy(name, SIZE_MAX);
  }
  return names;
}

static void read_function(char *line) {
  const int number = next_number(&line);
  step_functions = inspect_resize(step_functions, (size_t)(number + 1) * sizeof *step_functions);
  struct step_function *f = &step_functions[number];
  *f = (struct step_function){0};
  step_function_count = number + 1;
  f->line = next_number(&line);
  f->end = next_number(&line);
  f->is_kernel = next_number(&line);
  f->name = inspect_copy(next_part(&line, '\t'), SIZE_MAX);
  f->parameters = split_names(line, &f->parameter_count);
}

static struct step_statement *new_statement(int number) {
  if (number >= step_statement_count) {
    step_statements = inspect_resize(step_statements, (size_t)(number + 1) * sizeof *step_statements);
    memset(step_statements + step_statement_count, 0,
           (size_t)(number + 1 - step_statement_count) * sizeof *step_statements);
    step_statement_count = number + 1;
  }
  return &step_statements[number];
}

static void read_statement(char *line) {
  struct step_statement *s = new_statement(next_number(&line));
  s->function = next_number(&line);
  s->kind = inspect_copy(next_part(&line, '\t'), SIZE_MAX);
  s->line = next_number(&line);
  s->end = next_number(&line);
  s->column = next_number(&line);
  s->length = next_number(&line);
  char *loops = next_part(&line, '\t'), *loop;
  while (loops && *loops && (loop = next_part(&loops, ','))) {
    s->loops = inspect_resize(s->loops, (size_t)(s->loop_count + 1) * sizeof *s->loops);
    s->loops[s->loop_count++] = (int)strtol(loop, NULL, 10);
  }
  s->names = split_names(line, &s->name_count);
}

static void read_line(char *line) {
  const char *kind = next_part(&line, '\t');
  if (strcmp(kind, "F") == 0) {
    read_function(line);
  } else if (strcmp(kind, "S") == 0) {
    read_statement(line);
  } else if (strcmp(kind, "V") == 0) {
    struct step_statement *s = new_statement(next_number(&line));
    s->names = split_names(line, &s->name_count);
  } else if (strcmp(kind, "R") == 0) {
    skipped = inspect_resize(skipped, (size_t)(skipped_count + 1) * sizeof *skipped);
    const int at = next_number(&line);
    char *name = next_part(&line, '\t');
    skipped[skipped_count++] = (struct skipped){at, inspect_copy(name, SIZE_MAX), inspect_copy(line, SIZE_MAX)};
  }
}

void step_table_read(const char *path) {
  char *line = NULL;
  size_t room = 0;
  FILE *file = fopen(path, "r");
  if (file == NULL)
    inspect_give_up("the table of statements cannot be read");
  while (getline(&line, &room, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    read_line(line);
  }
  free(line);
  fclose(file);
}

// ---- of the record: the functions that were used -----------------------------------------------------------------------

static void write_statement(FILE *out, const struct step_statement *s, int number, const char *comma) {
  fprintf(out, "%s{\"id\":%d,\"f\":%d,\"k\":\"%s\",\"l\":%d,\"e\":%d,\"c\":%d,\"n\":%d", comma, number, s->function,
          s->kind, s->line, s->end, s->column, s->length);
  for (int i = 0; i < s->loop_count; i++)
    fprintf(out, "%s%d", i ? "," : ",\"loops\":[", s->loops[i]);
  fputs(s->loop_count ? "]}" : "}", out);
}

// A function that no lane has entered keeps its number, but has no name.
static void write_function(FILE *out, const struct step_function *f, const char *comma) {
  fprintf(out, "%s{\"name\":", comma);
  step_write_quoted(out, f->used ? f->name : "");
  fprintf(out, ",\"file\":0,\"line\":%d,\"end\":%d,\"kernel\":%s,\"parameters\":[", f->line, f->end,
          f->is_kernel ? "true" : "false");
  for (int i = 0; f->used && i < f->parameter_count; i++) {
    fputs(i ? "," : "", out);
    step_write_quoted(out, f->parameters[i]);
  }
  fputs("]}", out);
}

void step_table_write(FILE *out) {
  const char *comma = "";
  fputs("\"functions\":[", out);
  for (int i = 0; i < step_function_count; i++)
    write_function(out, &step_functions[i], i ? ",\n" : "");
  fputs("],\n\"skipped\":[", out);
  for (int i = 0; i < skipped_count; i++) {
    fprintf(out, "%s{\"name\":", i ? "," : "");
    step_write_quoted(out, skipped[i].name);
    fprintf(out, ",\"file\":0,\"line\":%d,\"why\":", skipped[i].line);
    step_write_quoted(out, skipped[i].why);
    fputs("}", out);
  }
  fputs("],\n\"statements\":[", out);
  for (int i = 0; i < step_statement_count; i++)
    if (step_statements[i].kind && step_functions[step_statements[i].function].used) {
      write_statement(out, &step_statements[i], i, comma);
      comma = ",\n";
    }
  fputs("],\n", out);
}
