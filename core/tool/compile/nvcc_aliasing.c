// SPDX-License-Identifier: MIT
// Does a program look at memory as what it was not written as? `*(int *)&x`, or numbers of 16 bits that a pointer to float copies:
// g++ takes two such pointers for pointers to different places and may reorder what is done through them; nvcc does not.
#include "tool/compile/nvcc.h"
#include "sim/compile/c_tokens.h"
#include "tool/compile/files.h"
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Of these a pointer may look at anything: characters by C's rules, CUDA's vectors by their declaration (vector_types.h).
static bool may_look_anywhere(const char *type, size_t length) {
  static const char *const known[] = {"void", "char", "signed char", "unsigned char", "uint8_t", "int8_t", "std::byte"};
  static const char *const elements[] = {"char",  "uchar", "short", "ushort",   "int",       "uint",
                                         "float", "long",  "ulong", "longlong", "ulonglong", "double"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (length == strlen(known[i]) && strncmp(type, known[i], length) == 0)
      return true;
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    const size_t name = strlen(elements[i]);
    if (length == name + 1 && strncmp(type, elements[i], name) == 0 && strchr("1234", type[name]))
      return true;
  }
  return false;
}

static const char *spaces(const char *p) {
  while (isspace((unsigned char)*p))
    p++;
  return p;
}

static const char *past_word(const char *p, const char *word) {
  const size_t length = strlen(word);
  return strncmp(p, word, length) == 0 && !is_word(p[length]) ? spaces(p + length) : p;
}

// A pointer's or reference's type at `p`, up to `close`. Past it, or NULL; *looks: it looks at memory as what it may not be.
static const char *pointer_type(const char *p, char close, bool *looks) {
  p = spaces(p);
  for (const char *before = NULL; before != p;) {
    before = p;
    p = past_word(past_word(past_word(past_word(p, "const"), "volatile"), "struct"), "typename");
  }
  const char *type = p, *end = p;
  while (is_word(*p) || *p == ':' || *p == ' ')
    if (is_word(*p++))
      end = p;
  if (*p == '<') { // of a template, without brackets of others
    p += strcspn(p, ">(;");
    end = *p == '>' ? ++p : p;
  }
  if (end == type || isdigit((unsigned char)*type))
    return NULL;
  *looks = !may_look_anywhere(type, (size_t)(end - type));
  p = past_word(past_word(spaces(p), "const"), "volatile");
  if (*p != '*' && *p != '&')
    return NULL;
  p = spaces(p + 1);
  if (*p == '*') // a pointer to pointers
    *looks = false;
  while (*p == '*' || isspace((unsigned char)*p))
    p++;
  p = past_word(past_word(past_word(p, "const"), "__restrict__"), "__restrict");
  return *p == close ? p + 1 : NULL;
}

// Memory that is handed out for the first time: malloc(n), allocate<float>(n).
static bool is_fresh(const char *p) {
  char name[64] = "";
  size_t length = 0;
  while (is_word(p[length]) || p[length] == ':')
    length++;
  const char *behind = spaces(p + length);
  if (*behind != '(' && *behind != '<')
    return false;
  for (size_t i = 0; i < length && i + 1 < sizeof name; i++)
    name[i] = (char)tolower((unsigned char)p[i]);
  return strstr(name, "alloc") != NULL;
}

// A cast at `p`, which begins with a bracket. A list of parameters looks like one: there a word stands before it, or nothing behind.
static bool is_cast(const char *text, const char *p) {
  bool looks;
  const char *behind = pointer_type(p + 1, ')', &looks), *before = p;
  if (behind == NULL || !looks || p[1] == ')')
    return false;
  while (before > text && isspace((unsigned char)before[-1]))
    before--;
  if (before > text && (is_word(before[-1]) || strchr(")]>", before[-1])) &&
      !(before - text >= 6 && strncmp(before - 6, "return", 6) == 0))
    return false;
  behind = spaces(behind);
  return (is_word(*behind) || *behind == '&' || *behind == '(') && !is_fresh(behind);
}

// A cast at `p`; `line`: where its line begins.
static bool looks_at(const char *line, const char *p) {
  static const char cast[] = "reinterpret_cast";
  bool looks = false;
  if (*p == '(')
    return is_cast(line, p);
  if (strncmp(p, cast, sizeof cast - 1) != 0)
    return false;
  const char *open = spaces(p + sizeof cast - 1);
  return *open == '<' && pointer_type(open + 1, '>', &looks) && looks;
}

// # 12 "file" 3: the 3 is of system headers.
static bool enters_system_header(const char *line, const char *end) {
  const char *quote = line;
  for (const char *p = line; p < end; p++)
    quote = *p == '"' ? p : quote;
  return memchr(quote, '3', (size_t)(end - quote)) != NULL;
}

bool nvcc_looks_through_casts(const char *text) {
  const char *end = text + strlen(text), *line = text;
  bool system_header = false;
  for (const char *p = text; p < end;) {
    const char *opaque = c_opaque_end(text, p, end);
    if (p == line && *p == '#') {
      p += strcspn(p, "\n");
      system_header = line[1] == ' ' ? enters_system_header(line, p) : system_header;
    } else if (opaque != p) {
      p = opaque;
    } else if (!system_header && looks_at(line, p)) {
      return true;
    } else if (*p++ == '\n') {
      line = p;
    }
  }
  return false;
}

bool nvcc_file_looks_through_casts(const char *path) {
  char *text = file_read(path, NULL);
  const bool looks = text && nvcc_looks_through_casts(text);
  free(text);
  return looks;
}
