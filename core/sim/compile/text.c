// Text, and how to step over what a converter must not look into.
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

int is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}
int is_space(char c) {
  return isspace((unsigned char)c);
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
  fprintf(stderr, "%s:%zu: cu2cpp: %s\n", file, line, why);
  exit(1);
}

static size_t skip_line_comment(const struct text *in, size_t i) {
  while (i < in->length && in->bytes[i] != '\n')
    i += in->bytes[i] == '\\' && i + 1 < in->length ? 2 : 1;
  return i;
}

static size_t skip_quoted(const struct text *in, size_t i) {
  char quote = in->bytes[i++];
  while (i < in->length && in->bytes[i] != quote && in->bytes[i] != '\n')
    i += in->bytes[i] == '\\' && i + 1 < in->length ? 2 : 1;
  return i + 1 < in->length ? i + 1 : in->length;
}

static size_t skip_raw_string(const struct text *in, size_t i) {
  const char *open = strchr(in->bytes + i, '(');
  if (open == NULL)
    fail_at(in, i, "a raw string has no '('");
  struct text close = {0};
  append_string(&close, ")");
  append(&close, in->bytes + i + 2, (size_t)(open - (in->bytes + i + 2)));
  append_string(&close, "\"");
  const char *end = strstr(open, close.bytes);
  size_t length = close.length;
  free(close.bytes);
  return end ? (size_t)(end - in->bytes) + length : in->length;
}

// Where the word begins that ends before i.
static size_t word_begin(const struct text *in, size_t i) {
  while (i > 0 && is_word(in->bytes[i - 1]))
    i--;
  return i;
}

// R"(, u8R"x( and their like: the R is at i.
static int is_raw_string(const struct text *in, size_t i) {
  static const char *const prefixes[] = {"", "u8", "u", "U", "L"};
  if (in->bytes[i] != 'R' || in->bytes[i + 1] != '"')
    return 0;
  const size_t begin = word_begin(in, i);
  for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
    if (i - begin == strlen(prefixes[p]) && strncmp(in->bytes + begin, prefixes[p], i - begin) == 0)
      return 1;
  return 0;
}

// The ' at i is within a number: 1'000, 0xff'ff.
static int is_digit_separator(const struct text *in, size_t i) {
  size_t begin = word_begin(in, i);
  while (begin > 1 && begin < i && in->bytes[begin - 1] == '\'' && is_word(in->bytes[begin - 2]))
    begin = word_begin(in, begin - 1);
  return begin < i && isdigit((unsigned char)in->bytes[begin]) && is_word(in->bytes[i + 1]);
}

// The end of the comment or literal that begins at i; i itself when none does.
size_t skip_opaque(const struct text *in, size_t i) {
  const char *p = in->bytes + i;
  if (p[0] == '/' && p[1] == '/')
    return skip_line_comment(in, i);
  if (p[0] == '/' && p[1] == '*') {
    const char *end = strstr(p + 2, "*/");
    return end ? (size_t)(end - in->bytes) + 2 : in->length;
  }
  if (is_raw_string(in, i))
    return skip_raw_string(in, i);
  if (p[0] == '"' || (p[0] == '\'' && !is_digit_separator(in, i)))
    return skip_quoted(in, i);
  return i;
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

// Special registers that a program reads by PTX because CUDA C++ has no name for them.
static const struct {
  const char *name, *value;
} registers[] = {{"laneid", "(unsigned int)::cudasim::lane()"},
                 {"warpid", "::cudasim::warp_of_block()"},
                 {"lanemask_eq", "(1u << ::cudasim::lane())"},
                 {"lanemask_lt", "((1u << ::cudasim::lane()) - 1u)"},
                 {"lanemask_le", "((2u << ::cudasim::lane()) - 1u)"},
                 {"lanemask_gt", "(0u - (2u << ::cudasim::lane()))"},
                 {"lanemask_ge", "(0u - (1u << ::cudasim::lane()))"},
                 {"clock", "(unsigned int)clock64()"},
                 {"clock64", "clock64()"},
                 {"globaltimer", "__nv_globaltimer()"}};

int append_register(const char *text, struct text *out) {
  char name[16], type[4], constraint;
  int place = 0, end = 0;
  if (sscanf(text, " \"mov.%3[usb0-9] %%0, %%%%%15[a-z0-9_]%n", type, name, &place) != 2 || place == 0) {
    place = 0;
    if (sscanf(text, " \"mov.%3[usb0-9] %%0, %%%15[a-z0-9_]%n", type, name, &place) != 2 || place == 0)
      return 0;
  }
  text += place;
  text += *text == ';';
  if (sscanf(text, "\" : \"=%c\" %n", &constraint, &end) != 1 || end == 0 || text[end] != '(')
    return 0;
  const char *close = strrchr(text + end, ')');
  if (close == NULL || close[1 + strspn(close + 1, " ")] != '\0')
    return 0;
  for (size_t r = 0; r < sizeof registers / sizeof *registers; r++)
    if (strcmp(registers[r].name, name) == 0) {
      append(out, text + end, (size_t)(close + 1 - text - end));
      append_string(out, " = ");
      append_string(out, registers[r].value);
      return 1;
    }
  return 0;
}
