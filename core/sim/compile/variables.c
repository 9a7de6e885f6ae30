// SPDX-License-Identifier: MIT
// The kernel's parameters, and name resolution: which variable each word of the body means, by lexical scope.
#include <stdlib.h>

#include "sim/compile/kernel.h"

int function_parameters(const struct tokens *t, int i, const char *const *stops) {
  for (int at = token_next(t, i); at < t->main_count && !token_in(t, at, stops); at = token_next(t, at)) {
    if (!token_is(t, at, "("))
      continue;
    const int before = token_before(t, at);
    if (!token_begins(t, before, "__") && !token_is(t, before, "alignas") && before > i)
      return at;
    at = t->all[at].match > at ? t->all[at].match : at;
  }
  return -1;
}

void kernel_add_parameters(struct kernel *k) {
  const struct tokens *t = k->t;
  for (int i = k->parameters.begin; i < k->parameters.end;) {
    struct variable v = {.parameter = true, .name = -1, .scope_end = k->body.end, .class = V_UNIFORM};
    v.init = (struct range){i, i};
    bool named = false; // what follows is no name: a default argument
    for (; i < k->parameters.end && !token_is(t, i, ","); i++) {
      named |= k->names_only && token_is(t, i, "=");
      if (named) {
        i = t->all[i].match > i ? t->all[i].match : i;
        continue;
      }
      if (t->all[i].kind == TOKEN_WORD && !token_begins(t, i, "__restrict") && !token_is(t, i, "const"))
        v.name = i;
      v.pointer |= token_is(t, i, "*") || token_is(t, i, "[");
      if (v.name == i && i > k->parameters.begin)
        v.block_group = token_is(t, token_is(t, i - 1, "&") ? i - 2 : i - 1, "thread_block");
      if (token_is(t, i, "<"))
        i = token_past_angles(t, i) - 1 > i ? token_past_angles(t, i) - 1 : i;
      while (token_is(t, i, "[") && v.name >= 0 && t->all[i].match > i && // float x[8][8], a pointer
             (token_is(t, t->all[i].match + 1, "[") || t->all[i].match + 1 == k->parameters.end ||
              token_is(t, t->all[i].match + 1, ",")))
        i = t->all[i].match + (token_is(t, t->all[i].match + 1, "[") ? 1 : 0);
      if (!k->names_only && (t->all[i].match > i || token_is(t, i, "=") || token_is(t, i, "...")))
        kernel_refuse(k, REFUSED_PARAMETER_TYPE);
      if (k->names_only && token_is(t, i, "..."))
        v.name = -1, named = true; // a parameter pack
    }
    const int before = v.name >= 0 ? token_before(t, v.name) : -1;
    if (v.name > k->parameters.begin && !known_type(t, v.name) && !token_is(t, before, "::") &&
        before >= k->parameters.begin && !token_is(t, before, ","))
      kernel_add_variable(k, &v);
    else if (!k->names_only)
      kernel_refuse(k, REFUSED_UNNAMED_PARAMETER);
    i++;
  }
}

void kernel_resolve(struct kernel *k) {
  const struct tokens *t = k->t;
  const int count = k->body.end - k->body.begin;
  k->variable_of = malloc(((size_t)count + 1) * sizeof *k->variable_of);
  k->modified = calloc((size_t)count + 1, sizeof *k->modified);
  if (k->variable_of == NULL || k->modified == NULL)
    fail(input_name, "out of memory");
  for (int i = k->body.begin; i < k->body.end; i++) {
    k->variable_of[i - k->body.begin] = -1;
    const int before = token_before(t, i);
    if (t->all[i].kind != TOKEN_WORD || token_is(t, before, ".") || token_is(t, before, "->") ||
        token_is(t, before, "::"))
      continue;
    int found = -1;
    for (int v = 0; v < k->variable_count; v++)
      if (k->variables[v].name <= i && i < k->variables[v].scope_end && token_same(t, k->variables[v].name, i) &&
          (found < 0 || k->variables[v].name > k->variables[found].name))
        found = v;
    k->variable_of[i - k->body.begin] = found;
  }
}

bool kernel_plain_type(const struct kernel *k, const struct variable *v) {
  const struct tokens *t = k->t;
  const struct range type = v->parameter ? (struct range){v->init.begin, v->name} : v->specifiers;
  if (v->pointer)
    return true;
  for (int i = type.begin; i < type.end; i++) {
    if (token_is(t, i, "__align__") && t->all[i + 1].match > i)
      i = t->all[i + 1].match;
    else if (t->all[i].kind != TOKEN_WORD || !(known_type(t, i) || token_is(t, i, "const") || token_is(t, i, "auto") ||
                                               kernel_template_parameter(k, i)))
      return false;
  }
  return true;
}

struct variable *kernel_variable(const struct kernel *k, int token) {
  const int v = token >= k->body.begin && token < k->body.end ? k->variable_of[token - k->body.begin] : -1;
  return v < 0 ? NULL : (struct variable *)&k->variables[v];
}

bool kernel_template_parameter(const struct kernel *k, int token) {
  for (int i = k->template_parameters.begin; i < k->template_parameters.end; i++)
    if (token_same(k->t, i, token))
      return true;
  return false;
}

bool kernel_mentions(const struct kernel *k, struct range where, const struct variable *v) {
  for (int i = where.begin; i < where.end; i++)
    if (kernel_variable(k, i) == v)
      return true;
  return false;
}
