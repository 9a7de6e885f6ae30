// SPDX-License-Identifier: MIT
// Which tokens of a kernel may change a variable: assignments, arguments passed by reference, addresses, references. Without types,
// whatever may change a variable counts as a change (k->modified).
#include "sim/compile/kernel.h"

bool token_is_assignment(const struct tokens *t, int i) {
  static const char *const signs[] = {
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--", NULL};
  return token_in(t, i, signs);
}

// A sign at i that has no operand on its left.
bool kernel_unary(const struct tokens *t, int i) {
  const int before = token_before(t, i);
  const struct token *b = &t->all[before];
  return b->kind == TOKEN_SIGN
             ? !token_is(t, before, ")") && !token_is(t, before, "]")
             : b->kind == TOKEN_WORD && (token_is(t, before, "return") || token_is(t, before, "case"));
}

// Past members and elements: v.x, v[i].y.
static int past_members(const struct tokens *t, int i, bool *element) {
  for (int at = token_next(t, i);; at = token_next(t, at)) {
    if (token_is(t, at, "[") && t->all[at].match > at) {
      *element = true;
      at = t->all[at].match;
    } else if (token_is(t, at, ".")) {
      at = token_next(t, at);
    } else {
      return at;
    }
  }
}

// An argument by itself of a function that may take it by reference.
static bool is_given_away(const struct tokens *t, int i) {
  const int before = token_before(t, i), after = token_next(t, i), open = t->all[i].within;
  if (open < 0 || !token_is(t, open, "(") || !(before == open || token_is(t, before, ",")) ||
      !(after == t->all[open].match || token_is(t, after, ",")))
    return false;
  int callee = token_before(t, open);
  if (token_is(t, callee, ">")) { // f<int>(v): whose function is it?
    int depth = 0;
    do
      depth += token_is(t, callee, ">") ? 1 : token_is(t, callee, "<") ? -1 : 0, callee--;
    while (callee > 0 && depth > 0);
    callee = token_before(t, callee + 1);
    return !known_keyword(t, callee) && known_by_reference(t, callee);
  }
  if (t->all[callee].kind != TOKEN_WORD)
    return token_is(t, callee, ")") || token_is(t, callee, "]");
  return known_by_reference(t, callee);
}

// Out of brackets that only group: what is before and after ((v)).
static void leave_groups(const struct tokens *t, int *before, int *after) {
  while (token_is(t, *before, "(") && t->all[*before].match == *after) {
    const int callee = token_before(t, *before);
    if (t->all[callee].kind == TOKEN_WORD || token_is(t, callee, ">") || token_is(t, callee, "]"))
      return; // a call or a condition
    *after = token_next(t, *after);
    *before = callee;
  }
}

void kernel_find_modifications(struct kernel *k) {
  const struct tokens *t = k->t;
  for (int i = k->body.begin; i < k->body.end; i++) {
    struct variable *v = kernel_variable(k, i);
    if (v == NULL || v->name == i)
      continue;
    bool element = false;
    int before = token_before(t, i), after = past_members(t, i, &element);
    leave_groups(t, &before, &after);
    const bool address =
        token_is(t, before, "&") && kernel_unary(t, before) && !element && !token_is(t, token_next(t, i), "->");
    bool changes = (token_is_assignment(t, after) || token_is(t, before, "++") || token_is(t, before, "--")) &&
                   !(element && !v->array);
    if (token_is(t, after, "(") && token_is(t, token_next(t, i), ".")) // a member function
      changes |= !known_const_method(t, token_before(t, after));
    changes |= is_given_away(t, i);
    v->addressed |= address || (v->array && !element && !token_is(t, before, "sizeof"));
    k->modified[i - k->body.begin] = changes || address;
  }
  for (int r = 0; r < k->variable_count; r++) { // a reference may change what it is made of
    const struct variable *reference = &k->variables[r];
    for (int i = reference->init.begin; i < reference->init.end && reference->reference && !reference->parameter; i++) {
      struct variable *v = kernel_variable(k, i);
      if (v && token_before(t, i) >= reference->init.begin - 1) {
        k->modified[i - k->body.begin] = true;
        v->addressed = true;
      }
    }
  }
}
