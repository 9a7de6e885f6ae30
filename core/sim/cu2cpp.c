// cu2cpp [--gcc] [--judge] IN OUT: turns CUDA C++ (.cu, .cuh) into C++ for the simulator.
//
// Outside comments and literals it rewrites
//     kernel<<<config>>>(args)       ->  ::cudasim::launch(kernel, [=](auto... p) { kernel(p...); }, "kernel",
// config)(args) extern __shared__ T name[];    ->  T *name = (T *)cudasim_dynamic_shared(); and copies everything else
// as it stands, line breaks included, so that the #line it begins with holds to the end. A kernel that is cast to void * becomes
// ::cudasim::kernel_pointer(kernel). With --gcc, #pragma unroll becomes what g++ calls it. With --judge, shared arrays have guards
// (include/cudasim_judged.h), and a launch of a function that is not marked __global__ is refused, as nvcc does.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
  char *bytes; // always NUL-terminated
  size_t length, capacity;
};

static const char *input_name;
static int for_gcc, for_judge;

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

static const char *skip_spaces(const char *p) {
  while (is_space(*p))
    p++;
  return p;
}

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

static void expect_global(const struct text *in, size_t at, const char *kernel) {
  size_t length;
  const char *name = base_name(kernel, &length);
  char why[300];
  snprintf(why, sizeof why,
           "error: %.100s is launched, and it is no kernel: nvcc refuses a function that is not marked __global__",
           kernel);
  if (for_judge && declared(in, name, length) == 1)
    fail_at(in, at, why);
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
    expect_global(in, i, kernel);
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
static size_t rewrite_shared(const struct text *in, size_t i, struct text *out) {
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

static size_t rewrite_kernel_cast(const struct text *in, size_t i, struct text *out) {
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
               (after = rewrite_shared(in, i, out)) != i || (after = rewrite_kernel_cast(in, i, out)) != i) {
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
  for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
    for_gcc |= strcmp(argv[1], "--gcc") == 0;
    for_judge |= strcmp(argv[1], "--judge") == 0;
  }
  if (argc != 3) {
    fprintf(stderr, "usage: cu2cpp [--gcc] [--judge] IN.cu OUT.cpp\n");
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
