// cu2cpp --judge, and what is refused: shared arrays with guards, launches of what is no kernel, kernels as void pointers.
#include "sim/compile/cu2cpp.h"

#include <stdio.h>
#include <string.h>

int for_judge;

static int begins_word(const struct text *in, size_t i, const char *word) {
  size_t length = strlen(word);
  return strncmp(in->bytes + i, word, length) == 0 && !is_word(in->bytes[i + length]) &&
         (i == 0 || !is_word(in->bytes[i - 1]));
}

// Is a function of that name declared here: 0 no, 1 without __global__, 2 with it?
static int declared(const struct text *in, const char *name, size_t length) {
  int found = 0, global = 0, is_void = 0;
  for (size_t i = 0; i < in->length;) {
    size_t after = skip_opaque(in, i);
    if (after != i) {
      i = after;
      continue;
    }
    global |= begins_word(in, i, "__global__");
    is_void |= begins_word(in, i, "void");
    int named = strncmp(in->bytes + i, name, length) == 0 && !is_word(in->bytes[i + length]) && i > 0 &&
                !is_word(in->bytes[i - 1]) && *skip_spaces(in->bytes + i + length) == '(';
    if (named && is_void && (found == 0 || global))
      found = global ? 2 : 1;
    if (strchr(";{}", in->bytes[i]))
      global = is_void = 0;
    i++;
  }
  return found;
}

// A kernel's own name: without namespaces and template arguments.
static const char *base_name(const char *kernel, size_t *length) {
  const char *end = strchr(kernel, '<');
  end = end ? end : kernel + strlen(kernel);
  const char *begin = end;
  while (begin > kernel && is_word(begin[-1]))
    begin--;
  *length = (size_t)(end - begin);
  return begin;
}

void expect_global(const struct text *in, size_t at, const char *kernel) {
  size_t length;
  const char *name = base_name(kernel, &length);
  char why[300];
  snprintf(why, sizeof why,
           "error: %.100s is launched, and it is no kernel: nvcc refuses a function that is not marked __global__",
           kernel);
  if (for_judge && declared(in, name, length) == 1)
    fail_at(in, at, why);
}

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
  if (!for_judge || !begins_word(in, i, "__shared__"))
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

// ---- kernels cast to void * ----------------------------------------------------------------------------------------------

// Past "(const void *)" or the like, or past "reinterpret_cast<const void *>(", which `closes`; NULL: neither.
static const char *skip_void_cast(const char *p, int *closes) {
  static const char cast[] = "reinterpret_cast<";
  *closes = strncmp(p, cast, sizeof cast - 1) == 0;
  if (!*closes && *p != '(')
    return NULL;
  p += *closes ? sizeof cast - 1 : 1;
  int voids = 0, stars = 0;
  for (; *p && *p != ')' && *p != '>'; p++) {
    if (strncmp(p, "const", 5) == 0)
      p += 4;
    else if (strncmp(p, "void", 4) == 0 && ++voids)
      p += 3;
    else if (*p == '*')
      stars++;
    else if (*p != ' ')
      return NULL;
  }
  if (voids != 1 || stars != 1 || *p != (*closes ? '>' : ')'))
    return NULL;
  p = skip_spaces(p + 1);
  return *closes && *p != '(' ? NULL : skip_spaces(p + *closes);
}

size_t rewrite_kernel_cast(const struct text *in, size_t i, struct text *out) {
  int closes;
  if (in->bytes[i] != '(' && !begins_word(in, i, "reinterpret_cast"))
    return i;
  const char *name = skip_void_cast(in->bytes + i, &closes);
  if (name == NULL)
    return i;
  name += *name == '&';
  const char *end = name;
  while (is_word(*end))
    end++;
  if (end == name || declared(in, name, (size_t)(end - name)) != 2 || (closes && *skip_spaces(end) != ')'))
    return i;
  append_string(out, "::cudasim::kernel_pointer(");
  append(out, name, (size_t)(end - name));
  append_string(out, ", \"");
  append(out, name, (size_t)(end - name));
  append_string(out, "\")");
  return (size_t)((closes ? skip_spaces(end) + 1 : end) - in->bytes);
}
