// cu2cpp IN OUT: turns CUDA C++ (.cu, .cuh) into C++ for the simulator.
//
// Outside comments and literals it rewrites
//     kernel<<<config>>>(args)       ->  ::cudasim::launch(kernel, [=](auto... p) { kernel(p...); }, "kernel", config)(args)
//     extern __shared__ T name[];    ->  T *name = (T *)cudasim_dynamic_shared();
//     threadIdx.x                    ->  (+threadIdx.x)
// and copies everything else as it stands, line breaks included, so that the #line it begins with holds to the end. With --gcc
// before IN, #pragma unroll becomes what g++ calls it.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
  char *bytes; // always NUL-terminated
  size_t length, capacity;
};

static const char *input_name;
static int for_gcc;

static void fail(const char *name, const char *why) {
  fprintf(stderr, "cu2cpp: %s: %s\n", name, why);
  exit(1);
}

static void append(struct text *text, const char *bytes, size_t length) {
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

static void append_string(struct text *text, const char *string) {
  append(text, string, strlen(string));
}

static int is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}
static int is_space(char c) {
  return isspace((unsigned char)c);
}

static size_t line_of(const struct text *in, size_t at) {
  size_t line = 1;
  for (size_t i = 0; i < at; i++)
    line += in->bytes[i] == '\n';
  return line;
}

static void fail_at(const struct text *in, size_t at, const char *why) {
  fprintf(stderr, "%s:%zu: cu2cpp: %s\n", input_name, line_of(in, at), why);
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

// The end of the comment or literal that begins at i; i itself when none does.
static size_t skip_opaque(const struct text *in, size_t i) {
  const char *p = in->bytes + i;
  char before = i > 0 ? p[-1] : ' ';
  if (p[0] == '/' && p[1] == '/')
    return skip_line_comment(in, i);
  if (p[0] == '/' && p[1] == '*') {
    const char *end = strstr(p + 2, "*/");
    return end ? (size_t)(end - in->bytes) + 2 : in->length;
  }
  if (p[0] == 'R' && p[1] == '"' && !is_word(before))
    return skip_raw_string(in, i);
  int digit_separator = p[0] == '\'' && isxdigit((unsigned char)before);
  if (p[0] == '"' || (p[0] == '\'' && !digit_separator))
    return skip_quoted(in, i);
  return i;
}

// Back over one bracketed group that ends before `end`; `end` itself when no such group ends there.
static size_t back_over_group(const struct text *out, size_t end, char open, char close) {
  if (end == 0 || out->bytes[end - 1] != close)
    return end;
  size_t i = end;
  int depth = 0;
  do {
    i--;
    depth += out->bytes[i] == close ? 1 : out->bytes[i] == open ? -1 : 0;
  } while (i > 0 && depth != 0);
  return i;
}

// Where the expression before a <<< begins: name, ns::name<T>, table[i], object->kernel, (expression).
static size_t kernel_begin(const struct text *out, size_t end) {
  size_t i = end;
  for (;;) {
    size_t group = back_over_group(out, i, '<', '>');
    group = group == i ? back_over_group(out, i, '[', ']') : group;
    group = group == i ? back_over_group(out, i, '(', ')') : group;
    i = group;
    while (i > 0 && is_word(out->bytes[i - 1]))
      i--;
    if (i >= 2 && (strncmp(out->bytes + i - 2, "::", 2) == 0 || strncmp(out->bytes + i - 2, "->", 2) == 0))
      i -= 2;
    else if (i >= 1 && out->bytes[i - 1] == '.')
      i -= 1;
    else
      return i;
  }
}

// A plain name can be called from the launch's lambda, which lets the compiler inline it; other expressions are values.
static int is_plain_name(const char *kernel) {
  for (const char *p = kernel; *p && *p != '<'; p++)
    if (!is_word(*p) && *p != ':')
      return 0;
  return 1;
}

static void append_quoted(struct text *out, const char *string) {
  append_string(out, "\"");
  for (const char *p = string; *p; p++) {
    if (*p == '"' || *p == '\\')
      append_string(out, "\\");
    append(out, *p == '\n' ? " " : p, 1);
  }
  append_string(out, "\"");
}

// The position of the >>> that ends the configuration beginning at i.
static size_t config_end(const struct text *in, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < in->length;) {
    size_t after = skip_opaque(in, i);
    if (after != i) {
      i = after;
      continue;
    }
    if (depth == 0 && strncmp(in->bytes + i, ">>>", 3) == 0)
      return i;
    char c = in->bytes[i++];
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
  }
  fail_at(in, begin, "<<< without its >>>");
  return 0;
}

// Rewrites the launch whose <<< is at i; the position after its >>>.
static size_t rewrite_launch(const struct text *in, size_t i, struct text *out) {
  size_t end = out->length;
  while (end > 0 && is_space(out->bytes[end - 1]))
    end--;
  size_t begin = kernel_begin(out, end);
  if (begin == end)
    fail_at(in, i, "<<< without a kernel's name before it");
  char *kernel = strndup(out->bytes + begin, end - begin);
  size_t close = config_end(in, i + 3);
  if (kernel == NULL)
    fail(input_name, "out of memory");
  out->length = begin;
  if (is_plain_name(kernel)) {
    append_string(out, "::cudasim::launch(");
    append_string(out, kernel);
    append_string(out, ", [=](auto... cudasim_p) ");
    append_string(out, for_gcc ? "__attribute__((always_inline)) { " : "{ ");
    append_string(out, kernel);
    append_string(out, "(cudasim_p...); }, ");
  } else {
    append_string(out, "::cudasim::launch_pointer(");
    append_string(out, kernel);
    append_string(out, ", ");
  }
  append_quoted(out, kernel);
  append_string(out, ", ");
  append(out, in->bytes + i + 3, close - i - 3);
  append_string(out, ")");
  free(kernel);
  return close + 3;
}

static const char *skip_spaces(const char *p) {
  while (is_space(*p))
    p++;
  return p;
}

// Past __align__(n) and alignas(n): dynamic shared memory is aligned to 128 bytes anyway.
static const char *skip_alignment(const char *p) {
  if (strncmp(p, "__align__", 9) != 0 && strncmp(p, "alignas", 7) != 0)
    return p;
  const char *close = strchr(p, ')');
  return close ? skip_spaces(close + 1) : p;
}

// Rewrites  extern __shared__ T name[];  at i, up to its semicolon; i itself when it is something else.
static size_t rewrite_dynamic_shared(const struct text *in, size_t i, struct text *out) {
  if (strncmp(in->bytes + i, "extern", 6) != 0 || (i > 0 && is_word(in->bytes[i - 1])))
    return i;
  const char *p = skip_alignment(skip_spaces(in->bytes + i + 6));
  if (strncmp(p, "__shared__", 10) != 0 || is_word(p[10]))
    return i;
  p = skip_alignment(skip_spaces(p + 10));
  const char *semicolon = strchr(p, ';'), *bracket = strchr(p, '[');
  if (semicolon == NULL || bracket == NULL || bracket > semicolon)
    fail_at(in, i, "extern __shared__ must declare an array without a size");
  const char *name_end = bracket;
  while (is_space(name_end[-1]))
    name_end--;
  const char *name = name_end;
  while (is_word(name[-1]))
    name--;
  size_t type_length = (size_t)(name - p), name_length = (size_t)(name_end - name);
  append(out, p, type_length);
  append_string(out, "*");
  append(out, name, name_length);
  append_string(out, " = (");
  append(out, p, type_length);
  append_string(out, "*)cudasim_dynamic_shared()");
  return (size_t)(semicolon - in->bytes);
}

// #pragma unroll, alone or with a number, at i: all of a loop is at most 64 steps here.
static size_t rewrite_unroll(const struct text *in, size_t i, struct text *out) {
  static const char pragma[] = "#pragma unroll";
  const char *p = in->bytes + i + sizeof pragma - 1;
  if (!for_gcc || strncmp(in->bytes + i, pragma, sizeof pragma - 1) != 0 || is_word(*p))
    return i;
  append_string(out, "#pragma GCC unroll ");
  p += strspn(p, " \t");
  if (*p == '\n' || *p == '\r' || *p == '/')
    append_string(out, "64 ");
  return (size_t)(p - in->bytes);
}

// threadIdx.x at i, for reading: (+threadIdx.x) is an unsigned int where threadIdx.x is an object that knows where to look. In an
// assert it stays, whose message has the words.
static size_t rewrite_coordinate(const struct text *in, size_t i, struct text *out) {
  static size_t assert_end;
  const char *p = in->bytes + i;
  if (i > 1 && (is_word(p[-1]) || p[-1] == '.' || (p[-1] == '>' && p[-2] == '-')))
    return i;
  if (strncmp(p, "assert", 6) == 0 && *skip_spaces(p + 6) == '(') {
    const char *end = strchr(p, ';');
    assert_end = end ? (size_t)(end - in->bytes) : in->length;
  }
  if (i < assert_end || strncmp(p, "threadIdx.", 10) != 0 || strchr("xyz", p[10]) == NULL || is_word(p[11]))
    return i;
  const char *next = skip_spaces(p + 11);
  if (*next == '=' && next[1] != '=')
    return i;
  append_string(out, "(+");
  append(out, p, 11);
  append_string(out, ")");
  return i + 11;
}

static void transform(const struct text *in, struct text *out) {
  append_string(out, "#line 1 ");
  append_quoted(out, input_name);
  append_string(out, "\n");
  for (size_t i = 0; i < in->length;) {
    size_t after = skip_opaque(in, i);
    if (after != i) {
      append(out, in->bytes + i, after - i);
      i = after;
    } else if (strncmp(in->bytes + i, "<<<", 3) == 0) {
      i = rewrite_launch(in, i, out);
    } else if ((after = rewrite_dynamic_shared(in, i, out)) != i || (after = rewrite_unroll(in, i, out)) != i ||
               (after = rewrite_coordinate(in, i, out)) != i) {
      i = after;
    } else {
      append(out, in->bytes + i, 1);
      i++;
    }
  }
}

static struct text read_file(const char *name) {
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

int main(int argc, char **argv) {
  for_gcc = argc > 1 && strcmp(argv[1], "--gcc") == 0;
  argc -= for_gcc;
  argv += for_gcc;
  if (argc != 3) {
    fprintf(stderr, "usage: cu2cpp [--gcc] IN.cu OUT.cpp\n");
    return 2;
  }
  input_name = argv[1];
  struct text in = read_file(argv[1]), out = {0};
  transform(&in, &out);
  FILE *file = fopen(argv[2], "wb");
  if (file == NULL || fwrite(out.bytes, 1, out.length, file) != out.length || fclose(file) != 0)
    fail(argv[2], "cannot be written");
  free(in.bytes);
  free(out.bytes);
  return 0;
}
