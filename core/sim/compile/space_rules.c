// SPDX-License-Identifier: MIT
// Variables on the wrong side, and where __shared__ and __constant__ may not be: see execution_spaces.c.
#include "sim/compile/execution_spaces.h"

#define NAME(t, i) (t)->all[i].length, (t)->all[i].p

static const struct function *function_around(const struct space_check *c, int i) {
  for (int k = 0; k < c->count; k++)
    if (c->functions[k].body >= 0 && c->functions[k].body < i && i < c->functions[k].end)
      return &c->functions[k];
  return NULL;
}

static bool is_device_only(const struct function *f) {
  return f->body >= 0 && !f->conditional && !(f->space & (HOST_SPACE | UNKNOWN_SPACE));
}

// The sign that ends the declarator of a declaration, from i on: = { [ ; or -1.
static int declaration_has_initializer(const struct tokens *t, int i) {
  for (; i < t->main_count && !token_is(t, i, ";"); i = token_next(t, i)) {
    if (token_is(t, i, "="))
      return i;
    if (token_is(t, i, "{") || token_is(t, i, "}"))
      return -1;
    if ((token_is(t, i, "(") || token_is(t, i, "[")) && t->all[i].match > i)
      i = t->all[i].match;
    else if (token_is(t, i, "<"))
      i = token_past_angles(t, i) > i ? token_past_angles(t, i) - 1 : i;
  }
  return -1;
}

static void check_shared(struct space_check *c, int i) {
  const struct tokens *t = c->t;
  const struct function *f = function_around(c, i);
  const bool shared = token_is(t, i, "__shared__"), constant = token_is(t, i, "__constant__");
  if ((!shared && !constant) || f == NULL || f->conditional || (f->space & UNKNOWN_SPACE))
    return;
  if (constant)
    space_refuse(c, i, "a __constant__ variable cannot be declared in a function. Declare it outside of all functions");
  else if (f->space == HOST_SPACE) {
    for (int k = f->body; k < f->end; k++)
      if (token_is(t, k, "__device__")) // a lambda of the device
        return;
    space_refuse(c, i,
                 "a __shared__ variable in a host function (%.*s) is not allowed. Only kernels and __device__ "
                 "functions have shared memory",
                 NAME(t, f->name));
  } else if (declaration_has_initializer(t, i) >= 0 && !token_is(t, i - 1, "extern"))
    space_refuse(c, declaration_has_initializer(t, i),
                 "a __shared__ variable cannot have an initializer. Let one thread assign the value, and put a "
                 "__syncthreads() after it");
}

// A local array whose size is a parameter or the size of the block.
static void check_array(struct space_check *c, const struct function *f, int i) {
  const struct tokens *t = c->t;
  const int name = token_next(t, i), open = token_next(t, name);
  if (!known_type(t, i) || t->all[name].kind != TOKEN_WORD || !token_is(t, open, "[") || t->all[open].match < open)
    return;
  for (int k = open + 1; k < t->all[open].match; k++) {
    bool variable = token_is(t, k, "blockDim") || token_is(t, k, "threadIdx") || token_is(t, k, "gridDim");
    for (int p = f->open; p < t->all[f->open].match; p++)
      variable |= t->all[p].kind == TOKEN_WORD && token_same(t, p, k) &&
                  (token_is(t, token_next(t, p), ",") || token_next(t, p) == t->all[f->open].match);
    if (token_is(t, k, "sizeof") || token_is(t, k, "("))
      return;
    if (variable && t->all[k].kind == TOKEN_WORD) {
      space_refuse(c, k,
                   "the size of an array in device code must be a constant: %.*s is a variable. For shared memory, "
                   "use extern __shared__ and the launch's third value",
                   NAME(t, k));
      return;
    }
  }
}

// ---- variables of the host -------------------------------------------------------------------------------------------------

// The word at i is the name of a variable of the host alone, declared there outside of all functions and types.
static bool is_host_variable(const struct space_check *c, int i) {
  static const char *const after[] = {"=", ";", "[", "{", NULL};
  const struct tokens *t = c->t;
  const int before = token_before(t, i), next = token_next(t, i);
  bool is_const = false, pointer = false, typed = false;
  int begin = i;
  if (before < 0 || t->all[i].kind != TOKEN_WORD || t->all[i].depth != 0 || !token_in(t, next, after) ||
      t->all[i].system || (t->all[i].within >= 0 && !token_is(t, t->all[i].within, "{")))
    return false;
  while (begin > 0 && t->all[begin - 1].kind != TOKEN_DIRECTIVE && !token_is(t, begin - 1, ";") &&
         !token_is(t, begin - 1, "{") && !token_is(t, begin - 1, "}"))
    begin--;
  for (int k = begin; k < i; k++) {
    is_const |= token_is(t, k, "const");
    pointer |= token_is(t, k, "*");
    typed |= known_type(t, k);
    if (!known_type(t, k) && !token_is(t, k, "const") && !token_is(t, k, "static") && !token_is(t, k, "*") &&
        !token_is(t, k, "volatile") && !token_is(t, k, "extern"))
      return false;
  }
  return typed && (!is_const || token_is(t, next, "[")) && (is_const ? !pointer : true);
}

// A use of a host variable in device code.
static void check_use(struct space_check *c, const struct function *f, int i) {
  static const char *const members[] = {".", "->", "::", "&", NULL}; // of &x, nvcc only warns
  const struct tokens *t = c->t;
  int declared = 0;
  if (t->all[i].kind != TOKEN_WORD || known_type(t, i) || token_in(t, token_before(t, i), members) ||
      token_is(t, token_next(t, i), "(") || token_is(t, token_next(t, i), "::"))
    return;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i))
      continue;
    const bool outside = t->all[at].depth == 0 && (t->all[at].within < 0 || token_is(t, t->all[at].within, "{"));
    if (at >= t->main_count || (outside && !is_host_variable(c, at)))
      return; // of another file, a macro's, or a second variable in another namespace
    declared += outside;
  }
  if (declared > 0 && !space_is_local(c, f, i))
    space_refuse(c, i,
                 "%.*s is a host variable: the %s function %.*s cannot use it. Pass it as an argument, or declare "
                 "it __device__ or __constant__",
                 NAME(t, i), space_name(f), NAME(t, f->name));
}

static bool is_member(const struct tokens *t, const struct function *f) {
  return token_is(t, token_before(t, f->name), "::") || t->all[f->name].depth > 0;
}

static bool is_unevaluated(const struct tokens *t, int i) {
  const int open = t->all[i].within;
  return token_is(t, open, "(") && (token_is(t, open - 1, "sizeof") || token_is(t, open - 1, "decltype"));
}

// A kernel's parameter of a class of the C++ library: what is wrong is its first use.
static void check_parameters(struct space_check *c, const struct function *f) {
  const struct tokens *t = c->t;
  for (int i = f->open; i < t->all[f->open].match; i++) {
    if (!token_is(t, i, "std") || !token_is(t, i + 1, "::") || !host_standard_name(t, i + 2, true))
      continue;
    const int past = token_is(t, i + 3, "<") ? token_past_angles(t, i + 3) : i + 3;
    const int name = token_is(t, past, "&") ? past + 1 : past;
    for (int use = f->body; use < f->end && t->all[name].kind == TOKEN_WORD; use++)
      if (token_same(t, use, name) && token_in(t, use + 1, (const char *const[]){"[", ".", NULL})) {
        space_refuse(c, use,
                     "%.*s is a std::%.*s, whose functions exist only on the host: the %s function %.*s cannot "
                     "use it. Pass a pointer to device memory",
                     NAME(t, name), NAME(t, i + 2), space_name(f), NAME(t, f->name));
        break;
      }
  }
}

void space_check_variables(struct space_check *c) {
  const struct tokens *t = c->t;
  for (int i = 0; i < t->main_count; i++)
    check_shared(c, i);
  for (int k = 0; k < c->count; k++) {
    const struct function *f = &c->functions[k];
    if (!is_device_only(f) || f->end >= t->main_count)
      continue;
    check_parameters(c, f);
    for (int i = f->body + 1; i < f->end; i++) {
      check_array(c, f, i);
      space_check_members(c, f, i);
      if (!is_member(t, f) && !is_unevaluated(t, i))
        check_use(c, f, i);
    }
  }
}
