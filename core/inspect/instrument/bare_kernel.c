// SPDX-License-Identifier: MIT
// A kernel without a program: writes a copy of its file with a main that launches it (core/sim/include/cudasim_bare_launch.h makes the
// arguments). The launch comes from --grid and --block, or from a comment as GPUVerify's test suite has it:
// "//--blockDim=64 --gridDim=[8,8]".
#include "inspect/instrument/instrument.h"
#include "tool/compile/files.h"
#include "tool/print/usage.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_ARRAYS "*" // --arg '*=[1000]': all pointers of which nothing else is said
enum { MOST_PARAMETERS = 64, NAME_BYTES = 128 };

typedef struct BareKernel {
  char name[NAME_BYTES];
  struct {
    char name[NAME_BYTES];
    int line;
  } parameters[MOST_PARAMETERS];
  int count;
  bool is_template;
} BareKernel;

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

// A copy in which comments and string literals are blank, line for line.
static char *without_comments(const char *text) {
  char *copy = strdup(text);
  if (!copy)
    fatal_error("no memory for %zu bytes", strlen(text));
  for (char *at = copy; *at; at++) {
    char *end = at;
    if (strncmp(at, "//", 2) == 0)
      end = at + strcspn(at, "\n");
    else if (strncmp(at, "/*", 2) == 0)
      end = (end = strstr(at + 2, "*/")) ? end + 2 : at + strlen(at);
    else if (*at == '"')
      for (end = at + 1; *end && *end != '"' && *end != '\n'; end++)
        end += *end == '\\' && end[1];
    for (; at < end; at++)
      *at = *at == '\n' ? '\n' : ' ';
    if (!*at)
      break;
  }
  return copy;
}

// The parenthesis that closes the one at `open`; NULL: none.
static const char *closing(const char *open) {
  int depth = 0;
  for (const char *at = open; *at; at++) {
    depth += (*at == '(') - (*at == ')');
    if (depth == 0)
      return at;
  }
  return NULL;
}

static int line_at(const char *text, const char *at) {
  int line = 1;
  for (; text < at; text++)
    line += *text == '\n';
  return line;
}

static void copy_word(char to[NAME_BYTES], const char *begin, const char *end) {
  snprintf(to, NAME_BYTES, "%.*s", (int)(end - begin < NAME_BYTES ? end - begin : NAME_BYTES - 1), begin);
}

// The last word before the end, a bracket or a default value: "const float *x", "int n = 3", "float x[]".
static void add_parameter(BareKernel *k, const char *text, const char *begin, const char *end) {
  const char *stop = begin;
  while (stop < end && *stop != '[' && *stop != '=')
    stop++;
  while (stop > begin && !is_word(stop[-1]))
    stop--;
  const char *word = stop;
  while (word > begin && is_word(word[-1]))
    word--;
  if (word == stop || k->count == MOST_PARAMETERS)
    return;
  copy_word(k->parameters[k->count].name, word, stop);
  k->parameters[k->count++].line = line_at(text, word);
}

static void read_parameters(BareKernel *k, const char *text, const char *open, const char *close) {
  int depth = 0;
  const char *begin = open + 1;
  k->count = 0;
  for (const char *at = begin; at <= close; at++) {
    depth += (*at == '(' || *at == '<' || *at == '[') - (at < close && (*at == ')' || *at == '>' || *at == ']'));
    if (at == close || (*at == ',' && depth == 0)) {
      const char *word = begin + strspn(begin, " \t\n");
      const bool none = word == at || (strncmp(word, "void", 4) == 0 && word + 4 + strspn(word + 4, " \t\n") == at);
      if (!none)
        add_parameter(k, text, begin, at);
      begin = at + 1;
    }
  }
}

// Whether the word stands between the end of what was declared before and `at`.
static bool follows_template(const char *text, const char *at) {
  const char *begin = at;
  while (begin > text && begin[-1] != ';' && begin[-1] != '}')
    begin--;
  const char *word = strstr(begin, "template");
  return word && word < at;
}

// The kernel that is declared after `at`: past its __global__ to the name before its parameters. Returns where to go on; NULL: none.
static const char *next_kernel(const char *text, const char *at, BareKernel *k) {
  while ((at = strstr(at, "__global__"))) {
    k->is_template = follows_template(text, at);
    const char *open = at += strlen("__global__"), *close;
    while ((open = strchr(open, '(')) && (close = closing(open))) {
      const char *end = open, *begin;
      while (end > at && isspace((unsigned char)end[-1]))
        end--;
      for (begin = end; begin > at && is_word(begin[-1]); begin--)
        ;
      const size_t length = (size_t)(end - begin);
      if (length == 0 || (length == 17 && strncmp(begin, "__launch_bounds__", length) == 0) ||
          (length == 13 && strncmp(begin, "__attribute__", length) == 0)) {
        open = close + 1;
        continue;
      }
      copy_word(k->name, begin, end);
      read_parameters(k, text, open, close);
      return close;
    }
  }
  return NULL;
}

// Of "ns::k<float, 4>" the name k.
static void base_name(const char *given, char name[NAME_BYTES]) {
  const char *end = given + strcspn(given, "<"), *begin = end;
  while (begin > given && is_word(begin[-1]))
    begin--;
  copy_word(name, begin, end);
}

// Finds the kernel that --kernel names, or the only one. A kernel that is declared and then defined counts once.
static bool find_kernel(const InspectOptions *o, const char *text, BareKernel *found) {
  char wanted[NAME_BYTES] = "", names[1000] = "";
  BareKernel k = {0};
  int count = 0;
  if (o->kernel)
    base_name(o->kernel, wanted);
  for (const char *at = text; (at = next_kernel(text, at, &k));) {
    if (o->kernel ? strcmp(k.name, wanted) != 0 : count && strcmp(k.name, found->name) == 0)
      continue;
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", count ? ", " : "", k.name);
    *found = k;
    count++;
    if (o->kernel)
      return true;
  }
  if (count == 1)
    return true;
  if (o->kernel)
    fprintf(stderr, "ferry inspect: %s has no kernel %s.\n", o->file, wanted);
  else if (count == 0)
    fprintf(stderr, "ferry inspect: %s has no kernel: there is no __global__ function in it.\n", o->file);
  else
    fprintf(stderr, "ferry inspect: %s has several kernels (%s): choose one with --kernel NAME.\n", o->file, names);
  return false;
}

// ---- the launch ----------------------------------------------------------------------------------------------------------

// "8", "8,8", "[8,8]", "(8,8,1)": "8,8,1". Returns false for anything else.
static bool read_shape(const char *given, char shape[64]) {
  unsigned long n[3] = {1, 1, 1};
  const char *at = given + (*given == '[' || *given == '(');
  for (int i = 0; i < 3; i++) {
    char *end;
    if (!isdigit((unsigned char)*at))
      return false;
    n[i] = strtoul(at, &end, 10);
    at = end;
    if (*at != ',')
      break;
    at += 1 + strspn(at + 1, " ");
  }
  at += *at == ']' || *at == ')';
  snprintf(shape, 64, "%lu, %lu, %lu", n[0], n[1], n[2]);
  return (!*at || isspace((unsigned char)*at)) && n[0] && n[1] && n[2];
}

// The value of an option in a comment of the file.
static const char *in_comment(const char *text, const char *option) {
  const char *at = strstr(text, option);
  return at ? at + strlen(option) : NULL;
}

static bool has_template_arguments(const InspectOptions *o, const BareKernel *k) {
  if (!k->is_template || (o->kernel && strchr(o->kernel, '<')))
    return true;
  return usage_error("inspect", "%s is a template: give its arguments, as in --kernel '%s<32>' or '%s<float>'", k->name,
                     k->name, k->name),
         false;
}

static bool shapes_of(const InspectOptions *o, const char *text, char grid[64], char block[64]) {
  const char *g = o->grid ? o->grid : in_comment(text, "--gridDim="),
             *b = o->block ? o->block : in_comment(text, "--blockDim=");
  if (!g || !b)
    return usage_error("inspect", "%s has no main. Say how to launch its kernel: --grid 8 --block 256", o->file), false;
  if (!read_shape(g, grid))
    return usage_error("inspect", "--grid takes up to three numbers, as in 8 or 16,16, not %.40s", g), false;
  if (!read_shape(b, block))
    return usage_error("inspect", "--block takes up to three numbers, as in 256 or 16,16, not %.40s", b), false;
  return true;
}

// What an --arg says of this parameter; NULL: it is for another one.
static const char *value_of(const char *argument, const char *parameter) {
  const size_t length = strlen(parameter);
  return strncmp(argument, parameter, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static const char *given_of(const InspectOptions *o, const char *parameter) {
  const char *value = NULL;
  for (int i = 0; i < o->argument_count && !value; i++)
    value = value_of(o->kernel_arguments[i], parameter);
  return value;
}

static bool arguments_are_known(const InspectOptions *o, const BareKernel *k) {
  for (int i = 0; i < o->argument_count; i++) {
    bool known = value_of(o->kernel_arguments[i], OTHER_ARRAYS);
    for (int p = 0; p < k->count; p++)
      known |= value_of(o->kernel_arguments[i], k->parameters[p].name) != NULL;
    if (!known)
      return usage_error("inspect", "--arg %s: %s has no such parameter; it is NAME=VALUE", o->kernel_arguments[i],
                         k->name),
             false;
  }
  return true;
}

// ---- the program ---------------------------------------------------------------------------------------------------------

static void put_string(FILE *out, const char *text) {
  if (!text) {
    fputs("nullptr", out);
    return;
  }
  fputc('"', out);
  for (; *text; text++)
    fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  fputc('"', out);
}

// A kernel with a grid barrier is launched cooperatively.
static void put_launch(FILE *out, const BareKernel *k, const char *kernel, const char *text) {
  const bool cooperative = strstr(text, "this_grid") || strstr(text, "grid_group");
  if (cooperative)
    fputs("    void *arguments[] = {", out);
  else
    fprintf(out, "    %s<<<l.grid, l.block, l.shared>>>(", kernel);
  for (int i = 0; i < k->count; i++)
    fprintf(out, "%s%sa%d.value", i ? ", " : "", cooperative ? "&" : "", i);
  if (cooperative)
    fprintf(out, "%s};\n    cudaLaunchCooperativeKernel((void *)%s, l.grid, l.block, arguments, l.shared);\n",
            k->count ? "" : "nullptr", kernel);
  else
    fputs(");\n", out);
}

static void put_main(FILE *out, const InspectJob *j, const BareKernel *k, const char *grid, const char *block) {
  const InspectOptions *o = &j->options;
  const char *kernel = o->kernel ? o->kernel : k->name;
  fprintf(out, "\n#line 1 \"main\"\nint main() {\n"
               "  const ferry_bare::parameter parameters[] = {");
  for (int i = 0; i < k->count; i++) {
    fprintf(out, "{\"%s\", ", k->parameters[i].name);
    put_string(out, given_of(o, k->parameters[i].name));
    fputs("}, ", out);
  }
  fprintf(out,
          "{nullptr, nullptr}};\n  using kernel_type = decltype(&%s);\n"
          "  static_assert(ferry_bare::parameters_of(kernel_type()) == %d, \"the kernel's parameters\");\n"
          "  ferry_bare::launch l = {{%s}, {%s}, %s, parameters, ",
          kernel, k->count, grid, block, o->shared ? o->shared : "0");
  put_string(out, given_of(o, OTHER_ARRAYS));
  fprintf(out, ", %d, {}, 0, {}};\n  const auto read = [&] {\n", k->count);
  for (int i = 0; i < k->count; i++)
    fprintf(out, "    ferry_bare::read_number<ferry_bare::parameter_type<%d, kernel_type>>(l, %d);\n", i, i);
  fputs("  };\n  return ferry_bare::launch_all(l, read, [&](int how) {\n    (void)how;\n", out);
  for (int i = 0; i < k->count; i++)
    fprintf(out,
            "#line %d \"%s\"\n    ferry_bare::argument<ferry_bare::parameter_type<%d, kernel_type>> a%d(l, %d, how);\n",
            k->parameters[i].line, j->build.bare, i, i, i);
  fputs("#line 10 \"main\"\n", out);
  put_launch(out, k, kernel, j->inspection.text);
  fputs("    return ferry_bare::finishes(l, how);\n  });\n}\n", out);
}

// The file's own main, where it has one, gets another name of the same length.
static void rename_main(char *text, const char *code) {
  for (const char *at = code; (at = strstr(at, "main")); at += 4)
    if ((at == code || !is_word(at[-1])) && at[4 + strspn(at + 4, " \t")] == '(')
      text[at - code + 3] = '_';
}

bool inspect_write_bare(InspectJob *j) {
  InspectOptions *o = &j->options;
  char grid[64], block[64], *text = file_read(o->file, NULL), *code = text ? without_comments(text) : NULL;
  BareKernel k = {0};
  snprintf(j->build.bare, sizeof j->build.bare, "%s/bare.cu", j->build.folder);
  const bool good = code && find_kernel(o, code, &k) && has_template_arguments(o, &k) &&
                    shapes_of(o, text, grid, block) && arguments_are_known(o, &k);
  FILE *out = good ? fopen(j->build.bare, "w") : NULL;
  if (out) {
    rename_main(text, code);
    fprintf(out, "%s", text);
    put_main(out, j, &k, grid, block);
    if (!o->no_proof)
      inspect_begin_proof(j, o->kernel ? o->kernel : k.name, grid, block);
    j->inspection.source = j->build.bare; // which has the file's lines
    o->kernel = NULL;                     // no other is launched
  }
  free(code);
  free(text);
  return out && fclose(out) == 0;
}
