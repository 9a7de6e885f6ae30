// Kernels as pointers: (void *)kernel forgets the parameters' types, which a launch by cudaLaunchKernel or a graph's node needs.
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
