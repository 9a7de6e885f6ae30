// SPDX-License-Identifier: MIT
// cu2cpp --judge: shared arrays get guard zones, so that an index out of bounds is reported. A __shared__ array becomes a
// ::cudasim::guarded object (include/cudasim_judged.h).
#include "sim/compile/cu2cpp.h"

#include <stdio.h>
#include <string.h>

int check_bounds;

// ---- shared arrays with guards -------------------------------------------------------------------------------------------

// One declarator, "name[4][5]", with the type before it; 0 when it is more than that.
static int append_guarded(struct text *out, const char *type, size_t type_length, const char *at, const char *end) {
  at = skip_spaces(at);
  const char *name = at;
  while (at < end && is_word(*at))
    at++;
  const char *name_end = at, *dimensions = skip_spaces(at);
  if (name == name_end || (dimensions < end && *dimensions != '['))
    return 0;
  dimensions = dimensions < end ? dimensions : end;
  char line[512];
  int name_length = (int)(name_end - name);
  int written =
      snprintf(line, sizeof line,
               "typedef %.*s cudasim_t_%.*s %.*s; __shared__ ::cudasim::guarded<cudasim_t_%.*s> cudasim_of_%.*s; "
               "[[maybe_unused]] auto &%.*s = cudasim_of_%.*s.of(\"%.*s\")",
               (int)type_length, type, name_length, name, (int)(end - dimensions), dimensions, name_length, name,
               name_length, name, name_length, name, name_length, name, name_length, name);
  if (written < 0 || (size_t)written >= sizeof line)
    return 0;
  append_string(out, line);
  return 1;
}

// Where the declarator that begins at p ends: at a comma or semicolon outside of brackets. NULL: it is nothing that can be rewritten.
static const char *declarator_end(const char *p) {
  int depth = 0;
  for (; *p; p++) {
    if (strchr("={}\"'", *p) || (*p == '/' && (p[1] == '/' || p[1] == '*')))
      return NULL;
    depth += *p == '[' || *p == '(' ? 1 : *p == ']' || *p == ')' ? -1 : 0;
    if (depth == 0 && (*p == ',' || *p == ';'))
      return p;
  }
  return NULL;
}

// Where the type ends and the first declarator's name begins.
static const char *first_name(const char *p, const char *end) {
  const char *name = NULL;
  int depth = 0;
  for (; p < end && *p != '['; p++) {
    depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
    if (depth == 0 && is_word(*p) && !is_word(p[-1]))
      name = p;
  }
  return name;
}

// Rewrites  __shared__ T a[4], b;  at i, up to its semicolon; i itself when it is something else, which stays as it is.
size_t rewrite_shared(const struct text *in, size_t i, struct text *out) {
  if (!check_bounds || !word_at(in, i, "__shared__"))
    return i;
  const char *type = skip_alignment(skip_spaces(in->bytes + i + strlen("__shared__"))), *end = type;
  const size_t before = out->length;
  for (const char *p = type; *p && *p != ',' && *p != ';'; p++) // template arguments have commas
    if (*p == '<')
      return i;
  end = declarator_end(type);
  const char *name = end ? first_name(type, end) : NULL;
  if (name == NULL || name == type || strncmp(type, "extern", 6) == 0)
    return i;
  size_t type_length = (size_t)(name - type);
  for (const char *at = name;; at = end + 1) {
    end = declarator_end(at);
    if (end == NULL || !append_guarded(out, type, type_length, at, end)) {
      out->length = before;
      out->bytes[before] = '\0';
      return i;
    }
    if (*end == ';')
      return (size_t)(end - in->bytes);
    append_string(out, "; ");
  }
}
