// SPDX-License-Identifier: MIT
// Block coarsening: neighboring blocks of a kernel run as one wide block (thread coarsening across blocks; Magni, Dubach and O'Boyle,
// "A Large-Scale Cross-Architecture Evaluation of Thread-Coarsening", SC 2013).
//
// `int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i];` does the same in whichever block a thread is. Several
// neighbors in a row of the grid can then be one wide block. Required: threadIdx.x and blockIdx.x occur only in such a sum, and the
// kernel does not wait, has no shared memory, and calls nothing that depends on its block.
#include <stddef.h>

#include "sim/compile/workitem_loops.h"

static bool is_member_x(const struct tokens *t, int i, const char *object) {
  return token_is(t, i, object) && token_is(t, i + 1, ".") && token_is(t, i + 2, "x");
}

// What may stand before or behind the sum, so that it is a sum of these two alone, or of these and others.
static bool may_precede(const struct tokens *t, int i) {
  static const char *const signs[] = {
      "=", "(", ",", "[", "+", "<", "<=", ">=", "==", "!=", "+=", "&&", "||", "?", ":", "{", ";", NULL};
  return token_in(t, i, signs) || token_is(t, i, "return");
}

static bool may_follow(const struct tokens *t, int i) {
  static const char *const signs[] = {";",  ")",  ",",  "]",  "+",  "-", "<", "<=", ">",
                                      ">=", "==", "!=", "&&", "||", "?", ":", "}",  NULL};
  return token_in(t, i, signs);
}

// A factor that begins at i: a name with its members, a number, or a bracket; past it, or i.
static int past_factor(const struct tokens *t, int i) {
  if (token_is(t, i, "(") && t->all[i].match > i)
    return t->all[i].match + 1;
  if (t->all[i].kind == TOKEN_NUMBER)
    return i + 1;
  if (t->all[i].kind != TOKEN_WORD)
    return i;
  return token_is(t, i + 1, ".") ? i + 3 : i + 1;
}

static int factor_begin(const struct tokens *t, int end) { // the one that ends before `end`, or `end`
  const int last = end - 1;
  if (token_is(t, last, ")") && t->all[last].match < last && t->all[last].match >= 0)
    return t->all[t->all[last].match - 1].kind == TOKEN_WORD ? end : t->all[last].match;
  if (t->all[last].kind == TOKEN_NUMBER)
    return last;
  if (t->all[last].kind != TOKEN_WORD)
    return end;
  return token_is(t, last - 1, ".") ? last - 2 : last;
}

// (size_t) before a factor changes nothing about a sum that an int can hold.
static int before_cast(const struct tokens *t, int begin) {
  const int close = begin - 1;
  if (!token_is(t, close, ")") || t->all[close].match < 0 || t->all[close].match + 1 == close)
    return begin;
  for (int i = t->all[close].match + 1; i < close; i++)
    if (!known_type(t, i) || token_is(t, i, "float") || token_is(t, i, "char") || token_is(t, i, "short") ||
        token_is(t, i, "double"))
      return begin;
  return t->all[close].match;
}

// The thread's place in the row of the grid round its threadIdx.x at i, with *block at the blockIdx.x in it; false: there is none.
static bool place_round(const struct kernel *k, int i, int *block) {
  const struct tokens *t = k->t;
  struct range thread = {i, i + 3};
  if (token_is(t, thread.begin - 1, "+") && token_is(t, thread.begin - 2, "(") && token_is(t, thread.end, ")"))
    thread = (struct range){thread.begin - 2, thread.end + 1};
  while (token_is(t, thread.begin - 1, "(") && token_is(t, thread.end, ")") &&
         t->all[thread.begin - 2].kind != TOKEN_WORD)
    thread = (struct range){thread.begin - 1, thread.end + 1};
  thread.begin = before_cast(t, thread.begin);
  struct range product = {0, 0}, sum;
  if (token_is(t, thread.begin - 1, "+")) { // blockIdx.x * blockDim.x + threadIdx.x
    product.end = thread.begin - 1;
    product.begin = factor_begin(t, product.end);
    if (!(product.begin < product.end && token_is(t, product.begin, "(") && kernel_is_origin(k, product))) {
      if (!token_is(t, product.begin - 1, "*"))
        return false;
      product.begin = factor_begin(t, product.begin - 1);
    }
    sum = (struct range){before_cast(t, product.begin), thread.end};
  } else if (token_is(t, thread.end, "+")) {
    product = (struct range){thread.end + 1, past_factor(t, thread.end + 1)};
    if (!kernel_is_origin(k, product)) {
      if (!token_is(t, product.end, "*"))
        return false;
      product.end = past_factor(t, product.end + 1);
    }
    sum = (struct range){thread.begin, product.end};
  } else {
    return false;
  }
  if (!kernel_is_origin(k, product) || !may_precede(t, sum.begin - 1) || !may_follow(t, sum.end))
    return false;
  for (int at = product.begin; at < product.end; at++)
    if (is_member_x(t, at, "blockIdx"))
      *block = at;
  return true;
}

static bool is_call(const struct tokens *t, int i) {
  int next = token_next(t, i);
  if (token_is(t, next, "<"))
    next = token_past_angles(t, next);
  return token_is(t, next, "(");
}

// The words of the kernel's body that say where a thread is: each blockIdx.x stands in a place of its own.
static bool only_places(const struct kernel *k) {
  enum { MOST = 16 };
  const struct tokens *t = k->t;
  int places[MOST], count = 0, blocks = 0;
  for (int i = k->body.begin; i < k->body.end; i++) {
    const bool x = token_is(t, i + 2, "x"), thread = token_is(t, i, "threadIdx");
    int block = -1;
    if (t->all[i].kind != TOKEN_WORD || (!thread && !token_is(t, i, "blockIdx")))
      continue;
    if (!token_is(t, i + 1, ".") || !(x || token_is(t, i + 2, "y") || token_is(t, i + 2, "z")))
      return false;
    blocks += x && !thread;
    if (!x || !thread)
      continue;
    if (count == MOST || !place_round(k, i, &block) || block < 0)
      return false;
    for (int p = 0; p < count; p++)
      if (places[p] == block)
        return false;
    places[count++] = block;
  }
  return count > 0 && count == blocks;
}

bool kernel_can_coarsen(const struct kernel *k) {
  const struct tokens *t = k->t;
  if (k->reads_place)
    return false;
  for (int i = 0; i < k->variable_count; i++) {
    const struct variable *v = &k->variables[i];
    if (v->shared || v->block_group || (v->fixed && !v->constant) || (v->parameter && v->class != V_UNIFORM))
      return false;
  }
  for (int i = k->body.begin; i < k->body.end; i++) {
    struct call_effects effects;
    if (t->all[i].kind != TOKEN_WORD)
      continue;
    if (known_block_dependent(t, i) || known_atomic(t, i))
      return false;
    if (is_call(t, i) && !kernel_variable(k, i) &&
        (!effects_of_call(t, i, &effects) || effects.block_dependent || effects.atomic))
      return false;
  }
  return !k->top->barrier && !k->top->warp && only_places(k);
}
