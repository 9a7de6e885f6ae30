// SPDX-License-Identifier: MIT
// Text buffers, and the rewrites that both modes of cu2cpp share.
#include "sim/compile/cu2cpp.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *input_name;

_Noreturn void fail(const char *name, const char *why) {
  fprintf(stderr, "cu2cpp: %s: %s\n", name, why);
  exit(1);
}

void append(struct text *text, const char *bytes, size_t length) {
  if (text->length + length + 1 > text->capacity) {
    text->capacity = 2 * (text->length + length + 1);
    text->bytes = realloc(text->bytes, text->capacity);
    if (text->bytes == NULL)
      fail(input_name, "out of memory");
  }
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = '\0';
}

void append_string(struct text *text, const char *string) {
  append(text, string, strlen(string));
}

// Where `at` stands: in a preprocessed text the lines `# 12 "file"` tell.
static void locate(const struct text *in, size_t at, char *file, size_t bytes, size_t *line) {
  *line = 1;
  snprintf(file, bytes, "%s", input_name);
  for (size_t i = 0; i < at; i++) {
    if (in->bytes[i] != '\n')
      continue;
    ++*line;
    char name[1024];
    size_t number;
    if (sscanf(in->bytes + i + 1, "# %zu \"%1023[^\"]\"", &number, name) == 2) {
      *line = number - 1;
      snprintf(file, bytes, "%s", name);
    }
  }
}

_Noreturn void fail_at(const struct text *in, size_t at, const char *why) {
  char file[1024];
  size_t line;
  locate(in, at, file, sizeof file, &line);
  fprintf(stderr, "%s:%zu: error: %s\n", file, line, why);
  exit(1);
}

size_t skip_opaque(const struct text *in, size_t i) {
  return (size_t)(c_opaque_end(in->bytes, in->bytes + i, in->bytes + in->length) - in->bytes);
}

struct text read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (file == NULL)
    fail(name, "cannot be opened");
  struct text text = {0};
  append(&text, "", 0);
  char buffer[1 << 16];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
    append(&text, buffer, got);
  if (ferror(file))
    fail(name, "cannot be read");
  fclose(file);
  return text;
}

void append_quoted(struct text *out, const char *string) {
  append_string(out, "\"");
  for (const char *p = string; *p; p++) {
    if (*p == '"' || *p == '\\')
      append_string(out, "\\");
    append(out, *p == '\n' ? " " : p, 1);
  }
  append_string(out, "\"");
}

size_t rewrite_unroll(const struct text *in, size_t i, struct text *out) {
  static const char pragma[] = "#pragma unroll";
  const char *p = in->bytes + i + sizeof pragma - 1;
  if (strncmp(in->bytes + i, pragma, sizeof pragma - 1) != 0 || is_word(*p))
    return i;
  p += strspn(p, " \t");
  const char *digits = p + (*p == '(');
  int known = isdigit((unsigned char)*digits) && strchr(" \t\r\n)/", digits[strspn(digits, "0123456789")]) != NULL;
  append_string(out, known ? "#pragma GCC unroll " : "#pragma GCC unroll 64 ");
  if (!known && *p != '/') // a macro, a template's parameter: g++ wants a number here
    p += strcspn(p, "\n");
  return (size_t)(p - in->bytes);
}

size_t rewrite_coordinate(const struct text *in, size_t i, struct text *out) {
  const char *p = in->bytes + i;
  if (strncmp(p, "threadIdx.", 10) != 0 || strchr("xyz", p[10]) == NULL || is_word(p[11]))
    return i;
  if (i > 1 && (is_word(p[-1]) || p[-1] == '.' || (p[-1] == '>' && p[-2] == '-')))
    return i;
  const char *next = p + 11;
  while (is_space(*next))
    next++;
  if (*next == '=' && next[1] != '=') // somebody's own variable
    return i;
  append_string(out, "(+");
  append(out, p, 11);
  append_string(out, ")");
  return i + 11;
}

const char *skip_spaces(const char *p) {
  while (is_space(*p))
    p++;
  return p;
}

// Past __align__(n) and alignas(n): dynamic shared memory is aligned to 128 bytes anyway.
const char *skip_alignment(const char *p) {
  if (strncmp(p, "__align__", 9) != 0 && strncmp(p, "alignas", 7) != 0)
    return p;
  const char *close = strchr(p, ')');
  return close ? skip_spaces(close + 1) : p;
}

// ---- looking around --------------------------------------------------------------------------------------------------------

int word_at(const struct text *in, size_t i, const char *word) {
  size_t length = strlen(word);
  return strncmp(in->bytes + i, word, length) == 0 && !is_word(in->bytes[i + length]) &&
         (i == 0 || !is_word(in->bytes[i - 1]));
}

size_t skip_space(const struct text *in, size_t i) {
  for (;;) {
    while (is_space(in->bytes[i]))
      i++;
    if (in->bytes[i] != '#' || (i > 0 && in->bytes[i - 1] != '\n'))
      return i;
    while (i < in->length && in->bytes[i] != '\n')
      i++;
  }
}

// Past the bracket that closes the one at i.
size_t skip_group(const struct text *in, size_t i) {
  size_t begin = i;
  int depth = 0;
  do {
    if (i >= in->length)
      fail_at(in, begin, "a bracket is not closed");
    size_t after = skip_opaque(in, i);
    if (after != i) {
      i = after;
      continue;
    }
    char c = in->bytes[i++];
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  } while (depth > 0);
  return i;
}

// Back over white space, and over whole lines that only say where the text comes from.
size_t back_over_space(const struct text *out, size_t end) {
  for (;;) {
    while (end > 0 && is_space(out->bytes[end - 1]))
      end--;
    size_t line = end;
    while (line > 0 && out->bytes[line - 1] != '\n')
      line--;
    if (out->bytes[line] != '#' || line == end)
      return end;
    end = line;
  }
}

size_t back_over_word(const struct text *out, size_t end) {
  while (end > 0 && is_word(out->bytes[end - 1]))
    end--;
  return end;
}

int ends_with_word(const struct text *out, size_t end, const char *word) {
  size_t begin = back_over_word(out, end);
  return end - begin == strlen(word) && strncmp(out->bytes + begin, word, end - begin) == 0;
}

// Looks back over words and declarators' signs for the bracket or comma before the declaration that ends here.
bool ends_in_parameter(const struct text *out) {
  size_t end = out->length;
  for (size_t before = end;; before = end) {
    end = back_over_word(out, back_over_space(out, end));
    end -= end > 0 && strchr("*&:", out->bytes[end - 1]) != NULL;
    if (end == before)
      return end > 0 && (out->bytes[end - 1] == '(' || out->bytes[end - 1] == ',');
  }
}

// On one line, without the lines that say where the text comes from.
void append_flat(struct text *out, const char *bytes, size_t length) {
  for (size_t i = 0; i < length;) {
    if (bytes[i] == '#' && (i == 0 || bytes[i - 1] == '\n')) {
      while (i < length && bytes[i] != '\n')
        i++;
    } else {
      append(out, bytes[i] == '\n' || bytes[i] == '\r' ? " " : bytes + i, 1);
      i++;
    }
  }
}

void append_call(struct text *out, const char *before, const char *kernel, const char *after) {
  append_string(out, before);
  append_string(out, kernel);
  append_string(out, after);
}
