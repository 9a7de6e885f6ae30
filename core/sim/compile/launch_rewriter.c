// SPDX-License-Identifier: MIT
// Launches, kernel<<<config>>>(args), in source text (cu2cpp.c) and in preprocessed text (program.c): where a launch begins and ends,
// what nvcc refuses, and the C++ that calls the simulator instead. Also extern __shared__ arrays, whose size the launch gives.
#include "sim/compile/cu2cpp.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- << < ... >> > -------------------------------------------------------------------------------------------------------

// Where the third sign of `<< <` or `>> >` at i stands, with white space between; 0: it is something else.
static size_t third_sign(const struct text *in, size_t i, char sign) {
  size_t at = i + 2;
  if (in->bytes[i] != sign || in->bytes[i + 1] != sign || !is_space(in->bytes[at]))
    return 0;
  while (is_space(in->bytes[at]))
    at++;
  return in->bytes[at] == sign && in->bytes[at + 1] != sign && in->bytes[at + 1] != '=' ? at : 0;
}

// operator<< <char>(...)
static int names_operator(const struct text *in, size_t i) {
  static const char word[] = "operator";
  const size_t length = sizeof word - 1;
  while (i > 0 && is_space(in->bytes[i - 1]))
    i--;
  return i >= length && strncmp(in->bytes + i - length, word, length) == 0 &&
         (i == length || !is_word(in->bytes[i - length - 1]));
}

static int precedes_arguments(const struct text *in, size_t i) {
  while (is_space(in->bytes[i]))
    i++;
  return in->bytes[i] == '(';
}

static void swap(char *a, char *b) {
  const char c = *a;
  *a = *b;
  *b = c;
}

enum opened { NONE, TOGETHER, APART };

// A configuration whose end has not been found yet, outside of brackets that stand in it.
struct configuration {
  enum opened opened;
  size_t end, third; // `>> >` followed by arguments; 0: none so far
};

// Where the first signs stand together, `>>>` ends the configuration if there is one.
static void end_configuration(struct text *in, struct configuration *c) {
  if (c->opened && c->end)
    swap(&in->bytes[c->end + 2], &in->bytes[c->third]);
  *c = (struct configuration){0};
}

// Past the signs of a launch at i; i itself where there are none.
static size_t join_signs(struct text *in, size_t i, struct configuration *c) {
  const size_t first = third_sign(in, i, '<'), last = c->opened && c->end == 0 ? third_sign(in, i, '>') : 0;
  if (first && !names_operator(in, i)) {
    swap(&in->bytes[i + 2], &in->bytes[first]);
    *c = (struct configuration){.opened = APART};
    return first + 1;
  }
  if (strncmp(in->bytes + i, "<<<", 3) == 0) {
    *c = (struct configuration){.opened = TOGETHER};
    return i + 3;
  }
  if (strncmp(in->bytes + i, ">>>", 3) == 0) {
    *c = (struct configuration){0};
    return i + 3;
  }
  if (last && precedes_arguments(in, last + 1)) {
    c->end = i;
    c->third = last;
    if (c->opened == APART)
      end_configuration(in, c);
    return last + 1;
  }
  return i;
}

void join_launch_signs(struct text *in) {
  struct text levels = {0}; // a configuration for each bracket that is open, and one more
  struct configuration none = {0};
  append(&levels, (const char *)&none, sizeof none);
  for (size_t i = 0; i < in->length;) {
    struct configuration *now = (struct configuration *)(void *)(levels.bytes + levels.length) - 1;
    size_t after = skip_opaque(in, i);
    after = after == i ? join_signs(in, i, now) : after;
    const char c = in->bytes[i];
    if (after != i) {
      i = after;
      continue;
    }
    if (c == ';' || c == ')' || c == ']' || c == '}')
      end_configuration(in, now);
    if (c == '(' || c == '[' || c == '{')
      append(&levels, (const char *)&none, sizeof none);
    else if ((c == ')' || c == ']' || c == '}') && levels.length > sizeof none)
      levels.length -= sizeof none;
    i++;
  }
  end_configuration(in, (struct configuration *)(void *)(levels.bytes + levels.length) - 1);
  free(levels.bytes);
}

// ---- what is refused -----------------------------------------------------------------------------------------------------

static size_t config_end(const struct text *in, size_t begin, size_t end) {
  for (size_t i = begin; i < end && !strchr(";)]}", in->bytes[i]);) {
    const size_t after = skip_opaque(in, i);
    if (after != i)
      i = after;
    else if (strncmp(in->bytes + i, ">>>", 3) == 0)
      return i;
    else if (strchr("([{", in->bytes[i]))
      i = skip_group(in, i);
    else
      i++;
  }
  fail_at(in, begin, "expected \">>>\": a launch is kernel<<<blocks, threads>>>(x, n)");
}

static void expect_kernel(const struct text *in, size_t at, const struct text *out, size_t begin, size_t end,
                          size_t launched) {
  const size_t first = skip_space(out, begin);
  if (first >= end || out->bytes[first] == '<')
    fail_at(in, at, "expected an expression: <<< needs a kernel's name before it");
  if (begin < launched)
    fail_at(in, at, "expected a \"(\": a launch is no kernel that could be launched");
}

static int is_in_directive(const struct text *in, size_t i) {
  size_t begin = i;
  while (begin > 0 && (in->bytes[begin - 1] != '\n' || (begin > 1 && in->bytes[begin - 2] == '\\')))
    begin--;
  return *skip_spaces(in->bytes + begin) == '#';
}

void expect_arguments(const struct text *in, size_t at) {
  const char next = *skip_spaces(in->bytes + at);
  if (next != '(' && !is_word(next) &&
      !is_in_directive(in, at)) // a word may be a macro, or come after a macro's launch
    fail_at(in, at, "expected a \"(\": a launch needs its arguments, as in kernel<<<blocks, threads>>>(x, n)");
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
           "%.100s is launched, and it is no kernel: nvcc refuses a function that is not marked __global__", kernel);
  if (check_bounds && declared_as_kernel(in, name, length) == 1)
    fail_at(in, at, why);
}

// ---- the kernel's expression ---------------------------------------------------------------------------------------------

static size_t back_over_gap(const struct text *out, size_t end, bool preprocessed) {
  return preprocessed ? back_over_space(out, end) : end;
}

static size_t back_over_bracket(const struct text *out, size_t end) {
  int depth = 0;
  size_t i = end;
  do {
    i--;
    char c = out->bytes[i];
    depth += c == ')' || c == ']' ? 1 : c == '(' || c == '[' ? -1 : 0;
  } while (i > 0 && depth > 0);
  return i;
}

// Back over template arguments; a > inside brackets is a comparison.
static size_t back_over_angles(const struct text *out, size_t end) {
  int depth = 0;
  size_t i = end;
  do {
    char c = out->bytes[--i];
    if (c == ')' || c == ']')
      i = back_over_bracket(out, i + 1);
    else if (c == '>')
      depth += i == 0 || out->bytes[i - 1] != '-';
    else if (c == '<')
      depth--;
  } while (i > 0 && depth > 0);
  return i;
}

// Where the expression before a <<< begins: name, ns::name<T>, table[i], object->kernel, (expression). White space and lines # 12
// "file" may be within it in preprocessed text; in source text, where there are comments, it has none.
static size_t kernel_begin(const struct text *out, size_t end, bool preprocessed) {
  for (;;) {
    size_t i = end;
    if (i > 0 && out->bytes[i - 1] == '>')
      i = back_over_gap(out, back_over_angles(out, i), preprocessed);
    while (i > 0 && (out->bytes[i - 1] == ')' || out->bytes[i - 1] == ']'))
      i = back_over_bracket(out, i);
    i = back_over_word(out, i);
    size_t before = back_over_gap(out, i, preprocessed);
    if (ends_with_word(out, before, "template"))
      before = back_over_gap(out, before - strlen("template"), preprocessed);
    if (before >= 2 &&
        (strncmp(out->bytes + before - 2, "::", 2) == 0 || strncmp(out->bytes + before - 2, "->", 2) == 0))
      before -= 2;
    else if (before >= 1 && out->bytes[before - 1] == '.')
      before--;
    else
      return i;
    end = back_over_gap(out, before, preprocessed);
    if (end == 0 || (!is_word(out->bytes[end - 1]) && !strchr(")]>", out->bytes[end - 1])))
      return before; // ::name
    if (ends_with_word(out, end, "return") || ends_with_word(out, end, "else") || ends_with_word(out, end, "do"))
      return before; // return ::name
  }
}

// A plain name can be called from the launch's lambda, which lets the compiler inline it; other expressions are values.
bool is_plain_name(const char *kernel) {
  for (const char *p = kernel; *p && *p != '<'; p++)
    if (!is_word(*p) && *p != ':' && !is_space(*p))
      return false;
  return true;
}

// ---- a launch ------------------------------------------------------------------------------------------------------------

struct launch parse_launch(const struct text *in, size_t i, size_t limit, const struct text *out, size_t launched,
                           bool preprocessed) {
  struct launch l = {0};
  size_t end = back_over_space(out, out->length);
  if (!preprocessed)
    for (end = out->length; end > 0 && is_space(out->bytes[end - 1]);)
      end--;
  l.begin = kernel_begin(out, end, preprocessed);
  l.close = config_end(in, i + 3, limit);
  expect_kernel(in, i, out, l.begin, end, launched);
  if (skip_space(in, i + 3) >= l.close)
    fail_at(in, i, "a launch needs the number of blocks and of threads, as in kernel<<<blocks, threads>>>(x, n)");
  append(&l.written, out->bytes + l.begin, (preprocessed ? out->length : end) - l.begin);
  append_flat(&l.kernel, l.written.bytes, l.written.length);
  while (is_space(l.kernel.bytes[l.kernel.length - 1]))
    l.kernel.bytes[--l.kernel.length] = '\0';
  return l;
}

void launch_free(struct launch *l) {
  free(l->written.bytes);
  free(l->kernel.bytes);
}

void append_launcher(struct text *out, const struct launch *l, enum launcher form, bool always_inline) {
  const char *kernel = l->kernel.bytes;
  if (!is_plain_name(kernel)) {
    append_call(out, "::cudasim::launch_pointer(", kernel, ", ");
  } else {
    if (form == BY_CALL) {
      append_call(out, "::cudasim::launch_call([=](auto cudasim_t) -> decltype(cudasim_t(", kernel, ")) { ");
      append_call(out, "return cudasim_t(", kernel, "); }, ");
    } else {
      append_string(out, form == ONLY_LAUNCHED ? "::cudasim::launch(CUDASIM_ONLY_LAUNCHED(" : "::cudasim::launch(");
      append(out, l->written.bytes, l->written.length); // with its line breaks: lines must stay what they are
      append_string(out, form == ONLY_LAUNCHED ? "), " : ", ");
    }
    append_string(out, "[=](auto... cudasim_p) ");
    append_string(out, always_inline ? "__attribute__((always_inline)) { " : "{ ");
    append_call(out, "", kernel, "(cudasim_p...); }, ");
  }
  append_quoted(out, kernel);
  append_string(out, ", ");
}

// ---- extern __shared__ T name[]; -----------------------------------------------------------------------------------------

// The words between begin and end without those that only say where the variable is.
static void append_type(const struct text *in, size_t begin, size_t end, const char *shared, struct text *type) {
  static const char *const aligned[] = {"__attribute__", "alignas", "__align__"};
  append(type, "", 0);
  for (size_t i = begin; i < end;) {
    size_t past = i;
    for (size_t a = 0; a < sizeof aligned / sizeof *aligned && past == i; a++)
      if (word_at(in, i, aligned[a]))
        past = skip_group(in, skip_space(in, i + strlen(aligned[a])));
    if (word_at(in, i, "extern") || word_at(in, i, "static"))
      past = i + 6;
    else if (word_at(in, i, shared))
      past = i + strlen(shared);
    else if (in->bytes[i] == '#')
      past = i + strcspn(in->bytes + i, "\n");
    if (past == i && !(type->length == 0 && is_space(in->bytes[i])))
      append_flat(type, in->bytes + i, 1);
    i = past > i ? past : i + 1;
  }
}

// Whether the declaration that begins at i has the word before its end.
static bool declaration_has(const struct text *in, size_t i, const char *word) {
  while (i < in->length && !strchr(";{}=", in->bytes[i])) {
    if (word_at(in, i, word))
      return true;
    const size_t after = skip_opaque(in, i);
    i = after != i ? after : i + 1;
  }
  return false;
}

size_t rewrite_dynamic_shared(const struct text *in, size_t i, const char *shared, bool global, struct text *out) {
  if (!declaration_has(in, i, "extern") || !declaration_has(in, i, shared))
    return i;
  size_t end = i, bracket = 0;
  while (end < in->length && !strchr(";{}=", in->bytes[end])) {
    if (in->bytes[end] == '[' && bracket == 0)
      bracket = end;
    const size_t after = skip_opaque(in, end);
    end = after != end ? after : in->bytes[end] == '(' ? skip_group(in, end) : end + 1;
  }
  if (in->bytes[end] != ';')
    return i;
  size_t name_end = bracket ? bracket : end;
  while (is_space(in->bytes[name_end - 1]))
    name_end--;
  const size_t name = back_over_word(in, name_end);
  const size_t rows = bracket ? skip_group(in, bracket) : end; // after []: the further dimensions
  struct text type = {0};
  append_type(in, i, name, shared, &type);
  append_string(out, global ? "static thread_local " : "");
  const bool plain = bracket && skip_space(in, rows) == end; // T name[]
  append_call(out, "", type.bytes, plain ? "*" : bracket ? "(*" : "(&");
  append(out, in->bytes + name, name_end - name);
  append_string(out, plain ? "" : ")");
  append(out, in->bytes + rows, plain ? 0 : end - rows);
  append_call(out, bracket ? " = (" : " = *(", type.bytes, plain ? "*" : "(*)");
  append(out, in->bytes + rows, plain ? 0 : end - rows);
  append_string(out, ")cudasim_dynamic_shared()");
  free(type.bytes);
  return end;
}
