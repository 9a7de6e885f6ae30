// SPDX-License-Identifier: MIT
// Which source lines read members of CUDA's vectors by name: `a[i].x`, `p->y`, where the file declares a and p as float4 or the like.
//
// nvcc merges such reads into one load, since a float4 is aligned. The instrumentation sees accesses of 4 bytes, like those of a
// float array, which nvcc does not merge: the difference is in the source only. The text is searched for tokens, not parsed: a type
// behind `auto` or a typedef is not recognized, and its members count as separate requests.
#include "inspect/instrument/members.h"
#include "inspect/instrument/instrument.h"
#include "sim/compile/c_tokens.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZES = 4, MOST_NAME = 64, MOST_TEXT = 4 << 20 }; // element sizes of 1, 2, 4 and 8 bytes

typedef struct Variable {
  char name[MOST_NAME];
  int bytes, whole; // of an element, of the vector
} Variable;

typedef struct Lines {
  int number;                 // of the file, in the assembly
  unsigned char (*of)[SIZES]; // for each line, by element size: bytes of the vectors whose members it reads
  int count;
} Lines;

static Lines *files;
static int file_count, now_file, now_line; // now_file: an index; -1: none

// ---- declarations --------------------------------------------------------------------------------------------------------

static size_t word_length(const char *p) {
  size_t length = 0;
  while (is_word(p[length]))
    length++;
  return length;
}

// "float4", "uchar2", ...; not the types with 3 elements, which are not aligned.
static bool vector_type(const char *p, size_t length, int *bytes, int *whole) {
  static const struct {
    const char *name;
    int bytes;
  } elements[] = {{"float", 4}, {"double", 8}, {"int", 4},  {"uint", 4},  {"char", 1},     {"uchar", 1},
                  {"short", 2}, {"ushort", 2}, {"long", 8}, {"ulong", 8}, {"longlong", 8}, {"ulonglong", 8}};
  if (length < 2 || (p[length - 1] != '2' && p[length - 1] != '4'))
    return false;
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    if (strlen(elements[i].name) == length - 1 && strncmp(p, elements[i].name, length - 1) == 0) {
      const int size = elements[i].bytes * (p[length - 1] - '0');
      *bytes = elements[i].bytes;
      *whole = size < 16 ? size : 16; // the longest access: a double4 is two
      return true;
    }
  return false;
}

static bool is_qualifier(const char *p, size_t length) {
  static const char *const names[] = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__shared__"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && strncmp(p, names[i], length) == 0)
      return true;
  return false;
}

// The name that a declaration gives after its type, at p; 0: its length.
static const char *declared(const char *p, size_t *length) {
  for (;; p += *length) {
    p += strspn(p, " \t\r\n*&");
    *length = word_length(p);
    if (!is_qualifier(p, *length))
      return p;
  }
}

static int find_variables(const char *text, Variable **variables) {
  const char *const end = text + strlen(text);
  int count = 0;
  for (const char *p = text; p < end;) {
    const char *after = c_opaque_end(text, p, end);
    const size_t length = after == p ? word_length(p) : 0;
    Variable v = {0};
    size_t name_length = 0;
    if (length && vector_type(p, length, &v.bytes, &v.whole)) {
      const char *name = declared(p + length, &name_length);
      if (name_length && name_length < sizeof v.name) {
        memcpy(v.name, name, name_length);
        *variables = inspect_grown(*variables, count, sizeof **variables);
        (*variables)[count++] = v;
      }
    }
    p = after != p ? after : p + (length ? length : 1);
  }
  return count;
}

static const Variable *variable_named(const Variable *variables, int count, const char *p, size_t length) {
  for (int i = 0; i < count; i++)
    if (strlen(variables[i].name) == length && strncmp(variables[i].name, p, length) == 0)
      return &variables[i];
  return NULL;
}

// ---- uses ----------------------------------------------------------------------------------------------------------------

// Back over the bracket that the one before `p` closes; NULL: it is not closed.
static const char *before_group(const char *text, const char *p) {
  int depth = 0;
  while (p > text) {
    p--;
    depth += *p == ']' || *p == ')' ? 1 : *p == '[' || *p == '(' ? -1 : 0;
    if (depth == 0)
      return p;
  }
  return NULL;
}

// The vector that the parentheses from `p` to `end` make: of a cast, `(const float4 *)x`, or of a variable, `*q`.
static bool group_vector(const Variable *variables, int count, const char *p, const char *end, Variable *v) {
  for (size_t length; p < end; p += length ? length : 1) {
    length = word_length(p);
    const Variable *named = length ? variable_named(variables, count, p, length) : NULL;
    if (named)
      *v = *named;
    if (named || (length && vector_type(p, length, &v->bytes, &v->whole)))
      return true;
  }
  return false;
}

// The vector whose member follows `end`, which is behind `a[i]`, `p` or `((float4 *)x)[i]`.
static bool object_vector(const char *text, const char *end, const Variable *variables, int count, Variable *v) {
  const char *p = end;
  for (const char *close = p; p > text; close = p) {
    while (p > text && is_space(p[-1]))
      p--;
    if (p == text || (p[-1] != ']' && p[-1] != ')')) {
      const char *word_end = p;
      while (p > text && is_word(p[-1]))
        p--;
      const Variable *named = variable_named(variables, count, p, (size_t)(word_end - p));
      if (named)
        *v = *named;
      return named != NULL;
    }
    const bool parentheses = p[-1] == ')';
    close = p;
    if (!(p = before_group(text, p)))
      return false;
    if (parentheses && group_vector(variables, count, p, close, v))
      return true;
    if (parentheses && p > text && p[-1] == '>') { // reinterpret_cast<const float4 *>(x)
      const char *type = p;
      while (type > text && *type != '<')
        type--;
      return group_vector(variables, count, type, p, v);
    }
  }
  return false;
}

// Is there a member's name at p, by itself?
static bool is_member(const char *p) {
  if (!strchr("xyzw", *p) || is_word(p[1]))
    return false;
  const char next = p[1 + strspn(p + 1, " \t\r\n")];
  return next != '[' && next != '(';
}

static void find_uses(const char *text, const Variable *variables, int count, Lines *lines) {
  const char *const end = text + strlen(text);
  int line = 0;
  for (const char *p = text; p < end;) {
    const char *after = c_opaque_end(text, p, end);
    const int sign = *p == '.' ? 1 : p[0] == '-' && p[1] == '>' ? 2 : 0;
    Variable v;
    if (after == p && sign && p > text && p[sign] && is_member(p + sign) &&
        object_vector(text, p, variables, count, &v)) {
      unsigned char *whole = &lines->of[line][__builtin_ctz((unsigned)v.bytes)];
      *whole = v.whole > *whole ? (unsigned char)v.whole : *whole;
    }
    for (after += after == p; p < after; p++)
      line += *p == '\n';
  }
}

// ---- a file --------------------------------------------------------------------------------------------------------------

// A regular file of moderate size, NUL-terminated; NULL: it is something else.
static char *text_of(const char *path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  char *text = NULL;
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < MOST_TEXT)
    text = calloc(1, (size_t)status.st_size + 1);
  if (text && read(file, text, (size_t)status.st_size) != status.st_size) {
    free(text);
    text = NULL;
  }
  if (file >= 0)
    close(file);
  return text;
}

static Lines read_file(int number, const char *path) {
  Lines lines = {.number = number};
  Variable *variables = NULL;
  char *text = text_of(path);
  const int count = text ? find_variables(text, &variables) : 0;
  if (count) {
    lines.count = 1;
    for (const char *p = text; *p; p++)
      lines.count += *p == '\n';
    lines.of = calloc((size_t)lines.count, sizeof *lines.of);
    if (lines.of)
      find_uses(text, variables, count, &lines);
  }
  free(variables);
  free(text);
  return lines;
}

// ---- the assembly --------------------------------------------------------------------------------------------------------

int members_line(const char *line, int *bytes) {
  static const char call[] = "\tcall\t__tsan_read";
  char path[4096];
  int number;
  if (sscanf(line, "\t.file %d \"%4095[^\"]\"", &number, path) == 2) {
    files = inspect_grown(files, file_count, sizeof *files);
    files[file_count++] = read_file(number, path);
  } else if (sscanf(line, "\t.loc %d %d", &number, &now_line) == 2) {
    for (now_file = file_count - 1; now_file >= 0 && files[now_file].number != number;)
      now_file--;
  } else if (strncmp(line, call, sizeof call - 1) == 0 && file_count && now_file >= 0) {
    const Lines *l = &files[now_file];
    *bytes = atoi(line + sizeof call - 1);
    if (l->of && now_line > 0 && now_line <= l->count && *bytes > 0 && *bytes <= 8)
      return l->of[now_line - 1][__builtin_ctz((unsigned)*bytes)];
  }
  return 0;
}

void members_end(void) {
  for (int i = 0; i < file_count; i++)
    free(files[i].of);
  free(files);
  files = NULL;
  file_count = 0;
  now_file = -1;
}
