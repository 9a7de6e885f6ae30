// SPDX-License-Identifier: MIT
// Calls of a class's members in device code: p.get() and P(1), where the class is the program's own and every such member of it is a
// host function. Like all of execution_spaces.c, this accepts what it cannot tell: inherited members, objects of other types.
#include "sim/compile/execution_spaces.h"

#define NAME(t, i) (t)->all[i].length, (t)->all[i].p

// The brace of the class whose name is at i, if the text has one of that name; or -1.
static int class_body(const struct tokens *t, int i) {
  int body = -1;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    const int before = token_before(t, at), next = token_next(t, at);
    if (!token_same(t, at, i) || (!token_is(t, before, "struct") && !token_is(t, before, "class")))
      continue;
    if (token_is(t, next, ":") || body >= 0)
      return -1; // it inherits, or there are two
    if (token_is(t, next, "{"))
      body = next;
  }
  return body;
}

// Whether every member at whose name the text has the word, in the class with that brace, is a function of the host; false if none.
static bool is_host_member(const struct space_check *c, int brace, int i, bool constructor) {
  static const char *const specifiers[] = {"explicit", "inline", "virtual", "static", NULL};
  static const char *const begins[] = {"{", "}", ";", ":", NULL};
  const struct tokens *t = c->t;
  bool any = false;
  for (int k = 0; k < c->count && !constructor; k++) {
    const struct function *f = &c->functions[k];
    if (t->all[f->name].within != brace || !token_same(t, f->name, i))
      continue;
    if (f->space != HOST_SPACE || f->conditional)
      return false;
    any = true;
  }
  for (int at = token_last(t, i); at >= 0 && constructor; at = t->all[at].same) {
    if (!token_same(t, at, i) || t->all[at].within != brace || !token_is(t, token_next(t, at), "("))
      continue;
    int before = token_before(t, at);
    while (token_in(t, before, specifiers))
      before = token_before(t, before);
    const int after = token_next(t, t->all[token_next(t, at)].match);
    if (token_is(t, before, "~"))
      continue;
    if (!token_in(t, before, begins) || !(token_is(t, after, "{") || token_is(t, after, ":")))
      return false; // __device__, constexpr, = default
    any = true;
  }
  return any;
}

// The class that the function's own variable at i is declared with, or -1: the word before it, between which there is a sign at most.
static int class_of_variable(const struct space_check *c, const struct function *f, int i) {
  const struct tokens *t = c->t;
  int found = -1;
  for (int j = f->open; j < i; j++) {
    if (!token_same(t, j, i) || token_is(t, j - 1, ".") || token_is(t, j - 1, "->"))
      continue;
    const int type = token_before(t, j) - (token_is(t, token_before(t, j), "&") ? 1 : 0);
    if (t->all[type].kind == TOKEN_WORD && class_body(t, type) >= 0)
      found = found < 0 ? type : -2;
    else if (t->all[type].kind == TOKEN_WORD && !known_keyword(t, type) && !token_is(t, type, "return"))
      return -1;
  }
  return found;
}

void space_check_members(struct space_check *c, const struct function *f, int i) {
  const struct tokens *t = c->t;
  const int before = token_before(t, i), next = token_next(t, i);
  int type = -1, brace;
  if (t->all[i].kind != TOKEN_WORD)
    return;
  if (token_is(t, next, "(") && token_is(t, before, ".") && t->all[before - 1].kind == TOKEN_WORD &&
      !token_is(t, before - 2, ".") && !token_is(t, before - 2, "->")) {
    type = class_of_variable(c, f, before - 1);
    brace = type >= 0 ? class_body(t, type) : -1;
    if (brace >= 0 && is_host_member(c, brace, i, false))
      space_refuse(c, i,
                   "calling a __host__ function (%.*s::%.*s) from a %s function (%.*s) is not allowed. Declare it "
                   "__host__ __device__",
                   NAME(t, type), NAME(t, i), space_name(f), NAME(t, f->name));
    return;
  }
  if (token_is(t, before, ".") || token_is(t, before, "->") || token_is(t, before, "::"))
    return;
  const bool variable = t->all[next].kind == TOKEN_WORD && token_is(t, token_next(t, next), "(");
  if (!variable && !token_is(t, next, "("))
    return;
  brace = class_body(t, i);
  if (brace >= 0 && brace < f->body && is_host_member(c, brace, i, true))
    space_refuse(c, i,
                 "calling a __host__ function (the constructor of %.*s) from a %s function (%.*s) is not allowed. "
                 "Declare it __host__ __device__",
                 NAME(t, i), space_name(f), NAME(t, f->name));
}
