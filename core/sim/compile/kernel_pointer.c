// SPDX-License-Identifier: MIT
// Kernels as pointers: (void *)kernel drops the parameters' types, which cudaLaunchKernel and kernel nodes of graphs need.
#include "sim/compile/cu2cpp.h"

#include <stdlib.h>
#include <string.h>

void note_kernel(const struct text *in, size_t i, struct text *kernels) {
  size_t name = i, name_end = i;
  while (i < in->length && !strchr(";{}", in->bytes[i])) {
    size_t after = skip_opaque(in, i), end = i;
    while (is_word(in->bytes[end]))
      end++;
    if (after != i) {
      i = after;
    } else if (word_at(in, i, "__attribute__")) {
      i = skip_group(in, skip_space(in, end));
    } else if (end > i) {
      name = i;
      i = name_end = end;
    } else if (in->bytes[i] == '(') {
      break;
    } else if (in->bytes[i] == '<') { // template arguments
      for (int depth = 0; i < in->length && !strchr(";{}", in->bytes[i]);) {
        depth += in->bytes[i] == '<' ? 1 : in->bytes[i] == '>' ? -1 : 0;
        i = in->bytes[i] == '(' ? skip_group(in, i) : i + 1;
        if (depth == 0)
          break;
      }
    } else {
      i = skip_space(in, i) == i ? i + 1 : skip_space(in, i);
    }
  }
  if (name_end > name && in->bytes[i] == '(') {
    append(kernels, "\n", 1);
    append(kernels, in->bytes + name, name_end - name);
    append(kernels, "\n", 1);
  }
}

static int is_kernel(const struct text *kernels, const char *name, size_t length) {
  for (const char *line = kernels->bytes; line && (line = strchr(line, '\n')); line++)
    if (strncmp(line + 1, name, length) == 0 && line[1 + length] == '\n')
      return 1;
  return 0;
}

// The position after "(void *)" or "(const void *)" at i; i itself when it is something else.
static size_t skip_void_cast(const struct text *in, size_t i) {
  size_t at = skip_space(in, i + 1);
  if (word_at(in, at, "const"))
    at = skip_space(in, at + 5);
  if (!word_at(in, at, "void"))
    return i;
  at = skip_space(in, at + 4);
  if (in->bytes[at] != '*')
    return i;
  at = skip_space(in, at + 1);
  return in->bytes[at] == ')' ? at + 1 : i;
}

// The same for a cast to a pointer to a function, as in (void (*)())kernel.
static size_t skip_function_cast(const struct text *in, size_t i) {
  const size_t past = skip_group(in, i);
  for (size_t at = i + 1; at + 3 < past; at++)
    if (strncmp(in->bytes + at, "(*)", 3) == 0)
      return past;
  return i;
}

// A kernel's name at `i`, with what it is qualified by and its template arguments; *past is behind them, and so is the result's end.
// False: it is none, or part of something else.
static int kernel_at(const struct text *in, size_t i, const struct text *kernels, struct text *written, size_t *past) {
  size_t name = i;
  if (in->bytes[name] == '&')
    name = skip_space(in, name + 1);
  size_t begin = name, end = name;
  while (is_word(in->bytes[end]) || strncmp(in->bytes + end, "::", 2) == 0) {
    name = in->bytes[end] == ':' ? end + 2 : name;
    end += in->bytes[end] == ':' ? 2 : 1;
  }
  if (end == name || !is_kernel(kernels, in->bytes + name, end - name))
    return 0;
  *past = end;
  if (in->bytes[skip_space(in, end)] == '<') {
    int depth = 0;
    for (*past = skip_space(in, end); *past < in->length; ++*past) {
      depth += in->bytes[*past] == '<' ? 1 : in->bytes[*past] == '>' ? -1 : 0;
      if (depth == 0)
        break;
    }
    ++*past;
  }
  if (!strchr(",;)}", in->bytes[skip_space(in, *past)]))
    return 0;
  append_flat(written, in->bytes + begin, *past - begin);
  return 1;
}

static void append_named(struct text *out, const char *function, struct text *kernel) {
  append_call(out, function, kernel->bytes, ", ");
  append_quoted(out, kernel->bytes);
  append_string(out, ")");
  free(kernel->bytes);
}

size_t rewrite_kernel_pointer(const struct text *in, size_t i, const struct text *kernels, struct text *out) {
  const size_t forgets = skip_void_cast(in, i), at = forgets != i ? forgets : skip_function_cast(in, i);
  struct text kernel = {0};
  size_t past;
  if (at == i || !kernel_at(in, skip_space(in, at), kernels, &kernel, &past))
    return i;
  if (forgets == i)
    append(out, in->bytes + i, at - i);
  append_named(out, "::cudasim::kernel_pointer(", &kernel);
  return past;
}

size_t rewrite_kernel_argument(const struct text *in, size_t i, const struct text *kernels, struct text *out) {
  struct text kernel = {0};
  size_t past;
  if (!kernel_at(in, i, kernels, &kernel, &past))
    return i;
  append_named(out, "::cudasim::named_kernel(", &kernel);
  return past;
}

// ---- in source text, without a list of the kernels -------------------------------------------------------------------------

// Is a function of that name declared here: 0 no, 1 without __global__, 2 with it?
int declared_as_kernel(const struct text *in, const char *name, size_t length) {
  int found = 0, global = 0, is_void = 0;
  for (size_t i = 0; i < in->length;) {
    size_t after = skip_opaque(in, i);
    if (after != i) {
      i = after;
      continue;
    }
    global |= word_at(in, i, "__global__");
    is_void |= word_at(in, i, "void");
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

// Past "(const void *)" or the like, or past "reinterpret_cast<const void *>(", which `closes`; NULL: neither.
static const char *past_void_cast(const char *p, int *closes) {
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
  if (in->bytes[i] != '(' && !word_at(in, i, "reinterpret_cast"))
    return i;
  const char *name = past_void_cast(in->bytes + i, &closes);
  if (name == NULL)
    return i;
  name += *name == '&';
  const char *end = name;
  while (is_word(*end))
    end++;
  if (end == name || declared_as_kernel(in, name, (size_t)(end - name)) != 2 || (closes && *skip_spaces(end) != ')'))
    return i;
  append_string(out, "::cudasim::kernel_pointer(");
  append(out, name, (size_t)(end - name));
  append_string(out, ", \"");
  append(out, name, (size_t)(end - name));
  append_string(out, "\")");
  return (size_t)((closes ? skip_spaces(end) + 1 : end) - in->bytes);
}
