// SPDX-License-Identifier: MIT
// The tables of a record: files, functions, statements, variables, arrays, findings.
#include "step/record_tables.h"
#include <stdlib.h>
#include <string.h>

StepFile read_file(Reader *in) {
  StepFile f = {.name = ""};
  const char *name, *whole_text = "";
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "name") == 0)
      f.name = read_text(in);
    else if (strcmp(name, "text") == 0)
      whole_text = read_text(in);
    else
      read_skip(in, 0);
  const char **lines = NULL;
  for (char *line = (char *)(uintptr_t)whole_text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    lines = step_grown(lines, f.line_count, sizeof *lines);
    lines[f.line_count++] = line;
  }
  f.lines = step_kept(in->r, lines, f.line_count, sizeof *lines);
  return f;
}

StepFunction read_function(Reader *in) {
  StepFunction f = {.name = ""};
  const char *name;
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "name") == 0)
      f.name = read_text(in);
    else if (strcmp(name, "file") == 0)
      f.file = read_whole(in, 0);
    else if (strcmp(name, "line") == 0)
      f.line = read_whole(in, 0);
    else if (strcmp(name, "end") == 0)
      f.end = read_whole(in, 0);
    else if (strcmp(name, "kernel") == 0)
      f.kernel = read_truth(in);
    else
      read_skip(in, 0);
  return f;
}

StepSkipped read_skipped(Reader *in) {
  StepSkipped s = {"", "", 0, 0};
  const char *name;
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "name") == 0)
      s.name = read_text(in);
    else if (strcmp(name, "why") == 0)
      s.why = read_text(in);
    else if (strcmp(name, "file") == 0)
      s.file = read_whole(in, 0);
    else if (strcmp(name, "line") == 0)
      s.line = read_whole(in, 0);
    else
      read_skip(in, 0);
  return s;
}

Numbered read_statement(Reader *in) {
  Numbered s = {.statement = {.kind = ""}};
  const char *name;
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "id") == 0)
      s.id = read_whole(in, 0);
    else if (strcmp(name, "f") == 0)
      s.statement.function = read_whole(in, 0);
    else if (strcmp(name, "k") == 0)
      s.statement.kind = read_text(in);
    else if (strcmp(name, "l") == 0)
      s.statement.line = read_whole(in, 0);
    else if (strcmp(name, "e") == 0)
      s.statement.end = read_whole(in, 0);
    else if (strcmp(name, "c") == 0)
      s.statement.column = read_whole(in, 0);
    else if (strcmp(name, "n") == 0)
      s.statement.length = read_whole(in, 0);
    else
      read_skip(in, 0);
  return s;
}

static StepMember read_member(Reader *in) {
  StepMember m = {"", "", 1};
  int n = 0;
  for (bool more = read_begin(in); more; more = read_more(in), n++)
    if (n == 0)
      m.name = read_text(in);
    else if (n == 1)
      m.type = read_text(in);
    else if (n == 2)
      m.count = read_whole(in, 1);
    else
      read_skip(in, 0);
  return m;
}

StepVariable read_variable(Reader *in) {
  StepVariable v = {.name = "", .type = "", .count = 1};
  StepMember *members = NULL;
  int n = 0;
  for (bool more = read_begin(in); more; more = read_more(in), n++)
    if (n == 0)
      v.function = read_whole(in, 0);
    else if (n == 1)
      v.name = read_text(in);
    else if (n == 2)
      v.type = read_text(in);
    else if (n == 3)
      v.count = read_whole(in, 1);
    else if (n == 4 && !read_null(in))
      for (bool next = read_begin(in); next; next = read_more(in)) {
        members = step_grown(members, v.member_count, sizeof *members);
        members[v.member_count++] = read_member(in);
      }
    else if (n == 5 && !read_null(in))
      for (bool next = read_begin(in); next; next = read_more(in)) {
        const int dim = read_whole(in, 0);
        if (v.dim_count < (int)(sizeof v.dims / sizeof *v.dims))
          v.dims[v.dim_count++] = dim;
      }
  v.members = step_kept(in->r, members, v.member_count, sizeof *members);
  return v;
}

StepArray read_array(Reader *in) {
  StepArray a = {.name = "", .element = 4, .letter = 'x'};
  const char *name;
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "s") == 0)
      a.shared = read_truth(in);
    else if (strcmp(name, "name") == 0)
      a.name = read_text(in);
    else if (strcmp(name, "bytes") == 0)
      a.bytes = read_integer(in, 0, INT64_MAX);
    else if (strcmp(name, "e") == 0)
      a.element = read_whole(in, 1);
    else if (strcmp(name, "k") == 0)
      a.letter = *read_text(in);
    else if (strcmp(name, "d") == 0)
      read_integers(in, a.dims, 3, 0);
    else if (strcmp(name, "bank") == 0)
      a.bank = read_whole(in, 0);
    else if (strcmp(name, "at") == 0)
      a.at = read_whole(in, 0);
    else
      read_skip(in, 0);
  return a;
}

StepFinding read_finding(Reader *in) {
  StepFinding f = {.kind = "", .text = "", .step = -1, .thread = -1, .other_step = -1, .other = -1, .array = -1};
  const char *name;
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "k") == 0)
      f.kind = read_text(in);
    else if (strcmp(name, "title") == 0)
      f.title = read_text(in);
    else if (strcmp(name, "text") == 0)
      f.text = read_text(in);
    else if (strcmp(name, "step") == 0)
      f.step = read_whole(in, -1);
    else if (strcmp(name, "thread") == 0)
      f.thread = read_whole(in, -1);
    else if (strcmp(name, "other_step") == 0)
      f.other_step = read_whole(in, -1);
    else if (strcmp(name, "other") == 0)
      f.other = read_whole(in, -1);
    else if (strcmp(name, "lanes") == 0)
      f.lanes = read_mask(in);
    else if (strcmp(name, "other_lanes") == 0)
      f.other_lanes = read_mask(in);
    else if (strcmp(name, "array") == 0)
      f.array = read_whole(in, -1);
    else if (strcmp(name, "i") == 0)
      f.index = read_integer(in, INT64_MIN, INT64_MAX);
    else
      read_skip(in, 0);
  f.title = f.title ? f.title : f.kind;
  return f;
}
