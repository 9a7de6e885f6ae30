// SPDX-License-Identifier: MIT
// Kernels that are called like functions, hello(3), which nvcc refuses: "a __global__ function call must be configured".
//
// Only the compiler can tell which function a call means: a host function may have the kernel's name, or overload it. Therefore a
// statement that may be such a call is compiled where the use of a deprecated function is an error, and the kernels of that name are
// declared deprecated. Everywhere else the warning is off. A text without such a statement stays as it is.
#include <stdlib.h>

#include "sim/compile/workitem_loops.h"

static const char attribute[] = " __attribute__((deprecated(\"a __global__ function call must be configured, as in "
                                "kernel<<<blocks, threads>>>(x, n)\")))";

static bool is_kernels_word(const struct tokens *t, int i) {
  return token_is(t, i, "__global__") || token_is(t, i, "__cudasim_global__") || token_is(t, i, "__cudasim_kernel__");
}

// The name of the function that is declared behind the __global__ at i, or -1.
static int kernel_name(const struct tokens *t, int i) {
  for (int at = token_next(t, i); at < t->main_count; at = token_next(t, at)) {
    if (token_is(t, at, ";") || token_is(t, at, "{") || token_is(t, at, "}"))
      return -1;
    if (!token_is(t, at, "("))
      continue;
    int before = token_before(t, at);
    if (t->all[at].match > at && (token_begins(t, before, "__") || token_is(t, before, "alignas"))) {
      at = t->all[at].match;
      continue;
    }
    while (before > i && !token_is(t, before, "<") && token_is(t, token_before(t, at), ">")) // k<int>(
      before = token_before(t, before);
    return token_is(t, before, "<") ? token_before(t, before) : before;
  }
  return -1;
}

// Where the text has __global__, and the names behind it.
struct kernels {
  int *at, *names, count;
};

static struct kernels find_kernels(const struct tokens *t) {
  const size_t room = ((size_t)t->main_count + 1) * sizeof(int);
  struct kernels k = {malloc(room), malloc(room), 0};
  if (k.at == NULL || k.names == NULL)
    fail(input_name, "out of memory");
  for (int i = 0; i < t->main_count; i++) {
    const int name = t->all[i].kind == TOKEN_WORD && is_kernels_word(t, i) ? kernel_name(t, i) : -1;
    if (name < 0)
      continue;
    k.at[k.count] = i;
    k.names[k.count++] = name;
  }
  return k;
}

static bool is_kernel(const struct tokens *t, const struct kernels *k, int name) {
  for (int i = 0; i < k->count; i++)
    if (token_same(t, k->names[i], name))
      return true;
  return false;
}

// Somewhere the word is a type's name, or a macro's: what looks like a call may be something else.
static bool may_be_no_function(const struct tokens *t, int name) {
  static const char *const words[] = {"struct", "class", "union", "enum", "typename", "using", "namespace", NULL};
  for (int at = token_last(t, name); at >= 0; at = t->all[at].same)
    if (token_same(t, at, name) && (token_in(t, token_before(t, at), words) || at >= t->text_count))
      return true;
  return false;
}

// The name of what the statement at i calls, if it is nothing but a call: [return] [(void)] a::b<c>(...); -1: it is something else.
static int called(const struct tokens *t, int i, int *end) {
  static const char *const before[] = {";", "{", "}", ")", ":", "else", "do", NULL};
  if (t->all[i].depth == 0 || t->all[i].kind == TOKEN_DIRECTIVE || !token_in(t, token_before(t, i), before))
    return -1;
  if (token_is(t, i, "return"))
    i = token_next(t, i);
  if (token_is(t, i, "(") && token_is(t, i + 1, "void") && token_is(t, i + 2, ")"))
    i = token_next(t, i + 2);
  if (token_is(t, i, "::"))
    i = token_next(t, i);
  while (i < t->main_count && t->all[i].kind == TOKEN_WORD && token_is(t, token_next(t, i), "::"))
    i = token_next(t, token_next(t, i));
  if (i >= t->main_count || t->all[i].kind != TOKEN_WORD || known_keyword(t, i))
    return -1;
  int open = token_next(t, i);
  if (token_is(t, open, "<"))
    open = token_past_angles(t, open);
  if (!token_is(t, open, "(") || t->all[open].match < open || !token_is(t, token_next(t, t->all[open].match), ";"))
    return -1;
  *end = token_next(t, t->all[open].match) + 1;
  return i;
}

// A statement [begin, end) that calls the function at `name`, and in which nothing else may be a kernel.
static bool may_call_kernel(const struct tokens *t, const struct kernels *k, int begin, int end, int name) {
  if (!is_kernel(t, k, name) || may_be_no_function(t, name))
    return false;
  for (int i = begin; i < end; i++)
    if (token_is(t, i, "<<<") || t->all[i].kind == TOKEN_DIRECTIVE ||
        (i != name && t->all[i].kind == TOKEN_WORD && is_kernel(t, k, i)))
      return false;
  return true;
}

struct marker {
  const struct tokens *t;
  struct writer w;
  size_t written; // of the text
};

static void copy_up_to(struct marker *m, const char *at) {
  const size_t place = (size_t)(at - m->w.in->bytes);
  append(m->w.out, m->w.in->bytes + m->written, place - m->written);
  m->written = place;
}

// In braces of its own, since it may be all that an if does.
static void mark_call(struct marker *m, int begin, int end) {
  const struct token *last = &m->t->all[end - 1];
  copy_up_to(m, m->t->all[begin].p);
  append_string(m->w.out, "{\n#pragma GCC diagnostic push\n#pragma GCC diagnostic error \"-Wdeprecated-declarations\"");
  move_to(&m->w, m->t->all[begin].p, true);
  copy_up_to(m, last->p + last->length);
  append_string(m->w.out, "\n#pragma GCC diagnostic pop");
  move_to(&m->w, last->p + last->length, true);
  append_string(m->w.out, "}");
}

bool mark_calls_of_kernels(const struct text *in, struct text *out, bool program) {
  struct tokens t = {0};
  tokens_read(&t, in, !program);
  struct kernels kernels = find_kernels(&t);
  bool *calls = calloc((size_t)t.count + 1, sizeof *calls), *deprecated = calloc((size_t)t.count + 1, sizeof *calls),
       any = false;
  if (calls == NULL || deprecated == NULL)
    fail(input_name, "out of memory");
  int end = 0;
  for (int i = 0; i < t.main_count && kernels.count > 0; i++) {
    const int name = called(&t, i, &end);
    if (name < 0 || !may_call_kernel(&t, &kernels, i, end, name))
      continue;
    any = calls[i] = true;
    for (int k = 0; k < kernels.count; k++)
      deprecated[kernels.at[k]] |= token_same(&t, kernels.names[k], name);
    i = end - 1;
  }
  struct marker m = {.t = &t, .w = {.out = out, .in = in, .program = program, .marked = program, .spot = {.line = 1}}};
  append(out, "", 0);
  for (int i = 0; i < t.main_count && any; i++) {
    if (calls[i] && called(&t, i, &end) >= 0)
      mark_call(&m, i, end);
    if (calls[i])
      i = end - 1;
    if (!deprecated[i])
      continue;
    copy_up_to(&m, t.all[i].p + t.all[i].length);
    append_string(out, attribute);
    move_to(&m.w, t.all[i].p + t.all[i].length, true);
  }
  copy_up_to(&m, in->bytes + in->length);
  free(calls);
  free(deprecated);
  free(kernels.at);
  free(kernels.names);
  tokens_free(&t);
  return any;
}
