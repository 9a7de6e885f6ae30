// SPDX-License-Identifier: MIT
// Side-effect summaries of called functions (after Banning, "An Efficient Way to Find the Side Effects of Procedure Calls and the
// Aliases of Variables", POPL 1979): whether a call may wait, use an atomic function, or read the thread's index. A summary covers every
// function that the call may mean, and what those call. A call of an unknown function counts as a barrier: the kernel is refused.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compile/kernel.h"

// ---- functions -----------------------------------------------------------------------------------------------------------

// The brace of the body behind the parameters whose bracket is `open`, or -1.
static int body_behind(const struct tokens *t, int open) {
  if (!token_is(t, open, "(") || t->all[open].match < open)
    return -1;
  int at = token_next(t, t->all[open].match);
  while (token_is(t, at, "const") || token_is(t, at, "noexcept") || token_is(t, at, "__restrict__"))
    at = token_next(t, at);
  if (token_is(t, at, "->") || token_is(t, at, ":")) // a result's type, what a constructor begins with
    while (at < t->count && !token_is(t, at, "{") && !token_is(t, at, ";") && !token_is(t, at, ")"))
      at = token_is(t, at, "(") && t->all[at].match > at ? t->all[at].match + 1 : at + 1;
  return token_is(t, at, "{") && t->all[at].match > at ? at : -1;
}

int known_body(const struct tokens *t, int i) {
  const int before = token_before(t, i);
  return token_is(t, before, ".") || token_is(t, before, "->") ? -1 : body_behind(t, token_next(t, i));
}

// How many there are between the brackets behind the name at i.
static int count_arguments(const struct tokens *t, int i) {
  int open = token_next(t, i), count = 1;
  if (token_is(t, open, "<"))
    open = token_past_angles(t, open);
  const int close = t->all[open].match;
  for (int at = token_argument_end(t, open + 1, close); at < close; at = token_argument_end(t, at + 1, close))
    count++;
  return close > open + 1 ? count : 0;
}

static const struct macro *macro_of(const struct tokens *t, int i, const struct macro *after) {
  for (const struct macro *m = after ? after + 1 : t->macros; m < t->macros + t->macro_count; m++)
    if (token_same(t, m->name, i))
      return m;
  return NULL;
}

// Parameters that may be given or left out.
static bool takes_fewer_or_more(const struct tokens *t, int i) {
  const int open = token_next(t, i);
  for (int at = open + 1; at < t->all[open].match; at++)
    if (token_is(t, at, "=") || token_is(t, at, "..."))
      return true;
  return false;
}

// Two declarations' parameters are of the same types: they differ in names alone.
static bool same_parameters(const struct tokens *t, int i, int j) {
  int a = token_next(t, i) + 1, b = token_next(t, j) + 1;
  const int a_close = t->all[a - 1].match, b_close = t->all[b - 1].match;
  while (a < a_close && b < b_close) {
    const int a_begin = a, a_end = token_argument_end(t, a, a_close), b_end = token_argument_end(t, b, b_close);
    while (a < a_end && b < b_end && token_same(t, a, b))
      a++, b++;
    if (a == a_begin || a_end - a > 1 || b_end - b > 1 || (a < a_end && known_type(t, a)) ||
        (b < b_end && known_type(t, b)))
      return false;
    a = a_end + 1;
    b = b_end + 1;
  }
  return a >= a_close && b >= b_close;
}

// The program declares something by the name at i that no body of the text belongs to: a function of another file, an object that can be
// called.
static bool is_defined_elsewhere(const struct tokens *t, int i) {
  for (int d = token_declaration(t, i); d >= 0; d = t->all[d].declared) {
    if (!token_same(t, d, i) || known_body(t, d) >= 0 || token_is(t, token_before(t, d), "struct") ||
        token_is(t, token_before(t, d), "class") || d >= t->text_count)
      continue;
    const int open = token_next(t, d);
    bool found = false;
    for (int at = token_last(t, i); at >= 0 && token_is(t, open, "(") && !found; at = t->all[at].same)
      found = token_same(t, at, i) && known_body(t, at) >= 0 && same_parameters(t, d, at);
    if (!found)
      return true;
  }
  return false;
}

static bool has_angle(const struct tokens *t, int i) { // a comparison in an argument, or a template
  const int open = token_next(t, i);
  for (int at = open; at < t->all[open].match; at++)
    if (token_is(t, at, "<"))
      return true;
  return false;
}

int known_function(const struct tokens *t, int i) {
  int found = -1, others = 0;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || known_body(t, at) < 0)
      continue;
    if (count_arguments(t, at) != count_arguments(t, i)) {
      others++;
      if (takes_fewer_or_more(t, at))
        return -1;
      continue;
    }
    if (found >= 0 || t->all[at].depth > 0)
      return -1;
    found = at;
  }
  for (int d = token_declaration(t, i); d >= 0; d = t->all[d].declared)
    if (token_same(t, d, i) && token_is(t, token_next(t, d), "(") && takes_fewer_or_more(t, d) && d != found)
      return -1;
  const bool macro = macro_of(t, i, NULL) != NULL;
  return macro || (others > 0 && has_angle(t, i)) || is_defined_elsewhere(t, i) ? -1 : found;
}

enum { DEEPEST = 12, MOST_BODIES = 200 };

// What a function's call comes to: the bodies that have been looked at on the way, each once.
struct search {
  const struct tokens *t;
  struct call_effects *effects;
  bool
      lenient; // of what may be the host's: what the text does not tell is no harm, nor is what kernels have no use for
  int bodies[MOST_BODIES], count;
};

static bool clean_call(struct search *s, int i, struct range function);

static bool is_loop(const struct tokens *t, int i) {
  return token_is(t, i, "for") || token_is(t, i, "while") || token_is(t, i, "do");
}

// A variable of the function, or a parameter, is called like that.
static bool is_own_variable(const struct tokens *t, int i, struct range function) {
  for (int at = function.begin; at < function.end; at++) {
    if (t->all[at].kind != TOKEN_WORD || !token_same(t, at, i))
      continue;
    const int before = token_before(t, at), next = token_next(t, at);
    const bool member = token_is(t, before, ".") || token_is(t, before, "->") || token_is(t, before, "::");
    const bool declares = t->all[before].kind == TOKEN_WORD && !known_keyword(t, before);
    if (!member && (declares || !(token_is(t, next, "(") || token_is(t, next, "<"))))
      return true;
  }
  return false;
}

// `: x(1), y{2}` before a constructor's body: what is between the brackets is looked at.
static bool is_member(const struct tokens *t, int i, struct range function) {
  const int before = token_before(t, i), brace = body_behind(t, function.begin);
  return i < brace && (token_is(t, before, ":") || token_is(t, before, ","));
}

static bool may_wait(const struct search *s, int i) {
  const struct tokens *t = s->t;
  if (s->lenient)
    return token_begins(t, i, "__") && known_wait(t, i);
  return known_wait(t, i) || (macro_of(t, i, NULL) && known_bad_macro(t, i));
}

// `function`: from the bracket before its parameters on, or a macro's text. Looked at is what begins at `begin`.
static bool clean_body(struct search *s, int begin, struct range function) {
  const struct tokens *t = s->t;
  bool loop = false;
  for (int b = 0; b < s->count; b++)
    if (s->bodies[b] == begin)
      return true; // or it has been found out, or is about to be
  if (s->count == MOST_BODIES)
    return false;
  s->bodies[s->count++] = begin;
  for (int i = begin; i < function.end; i++) {
    if (token_is(t, i, "<<<") && !s->lenient)
      return false;
    s->effects->reads_thread_index |= token_is(t, i, "threadIdx");
    s->effects->reads_place |= token_is(t, i, "threadIdx") || token_is(t, i, "blockIdx");
    s->effects->block_dependent |= s->effects->reads_place || known_block_dependent(t, i);
    if (t->all[i].kind != TOKEN_WORD)
      continue;
    if (may_wait(s, i))
      return false;
    loop |= is_loop(t, i);
    s->effects->atomic |= known_atomic(t, i);
    int next = token_next(t, i);
    if (token_is(t, next, "<"))
      next = token_past_angles(t, next);
    const int before = token_before(t, i);
    const bool declares = before >= begin && t->all[before].kind == TOKEN_WORD && !known_keyword(t, before);
    if (token_is(t, next, "(") && !declares && !known_atomic(t, i) && !is_member(t, i, function) &&
        !clean_call(s, i, function))
      return false;
  }
  return !(loop && s->effects->atomic); // it may wait for another thread
}

static bool is_type_parameter(const struct tokens *t, int i) {
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same)
    if (token_same(t, at, i) && (token_is(t, at - 1, "typename") || token_is(t, at - 1, "class")))
      return true;
  return false;
}

static bool clean_call(struct search *s, int i, struct range function) {
  const struct tokens *t = s->t;
  if (known_keyword(t, i) || known_type(t, i))
    return true;
  if ((known_math(t, i) || known_harmless(t, i)) && !is_own_variable(t, i, function)) {
    s->effects->reads_thread_index |= known_harmless(t, i);
    return true;
  }
  if (is_defined_elsewhere(t, i))
    return s->lenient;
  bool found = s->lenient;
  for (const struct macro *m = NULL; (m = macro_of(t, i, m));) {
    found = true;
    if ((known_bad_macro(t, i) && !s->lenient) || !clean_body(s, m->begin, (struct range){m->begin, m->end}))
      return false;
  }
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    const int brace = token_same(t, at, i) ? known_body(t, at) : -1, open = token_next(t, at);
    if (brace < 0 || (t->all[at].system && known_library(t, at)))
      continue;
    found = true;
    if (!clean_body(s, t->all[open].match + 1, (struct range){open, t->all[brace].match}))
      return false;
  }
  return found || is_type_parameter(t, i);
}

bool effects_of_call(const struct tokens *t, int i, struct call_effects *effects) {
  *effects = (struct call_effects){0};
  struct search s = {.t = t, .effects = effects};
  return clean_call(&s, i, (struct range){i, i});
}

// The bracket before the parameters of an operator, a constructor or a destructor at i, or -1.
static int parameters_of_unnamed(const struct tokens *t, int i) {
  static const char *const types[] = {"struct", "class", NULL};
  int open = token_next(t, i);
  if (token_is(t, i, "operator")) {
    open = token_is(t, open, "(") ? token_next(t, t->all[open].match) : open; // operator()
    while (open < t->text_count && !token_is(t, open, "(") && !token_is(t, open, ";") && !token_is(t, open, "{"))
      open++;
    return open;
  }
  for (int d = t->all[i].kind == TOKEN_WORD && token_is(t, open, "(") ? token_declaration(t, i) : -1; d >= 0;
       d = t->all[d].declared)
    if (token_same(t, d, i) && token_in(t, token_before(t, d), types))
      return open;
  return -1;
}

bool effects_of_unnamed_calls(const struct tokens *t, struct call_effects *effects) {
  *effects = (struct call_effects){0};
  struct search s = {.t = t, .effects = effects, .lenient = true};
  for (int i = 0; i < t->text_count; i++) {
    const int open = t->all[i].system ? -1 : parameters_of_unnamed(t, i), brace = open < 0 ? -1 : body_behind(t, open);
    if (brace >= 0 && !clean_body(&s, t->all[open].match + 1, (struct range){open, t->all[brace].match}))
      return false;
    s.count = s.count > MOST_BODIES / 2 ? 0 : s.count;
  }
  return true;
}

bool known_const_method(const struct tokens *t, int i) {
  bool found = false;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || known_body(t, at) < 0)
      continue;
    found = true;
    if (!token_is(t, token_next(t, t->all[token_next(t, at)].match), "const"))
      return false;
  }
  return found;
}

bool known_by_reference(const struct tokens *t, int i) {
  const bool by_value = (token_is(t, i, "printf") || token_is(t, i, "assert")) && known_harmless(t, i);
  if (known_keyword(t, i) || known_type(t, i) || known_math(t, i) || by_value || token_begins(t, i, "cudasim_warp_") ||
      token_begins(t, i, "cudasim_vote_"))
    return false;
  bool found = false;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || known_body(t, at) < 0 || (t->all[at].system && known_library(t, at)))
      continue;
    const int open = token_next(t, at);
    found = true;
    for (int p = open; p < t->all[open].match; p++)
      if (token_is(t, p, "&") || token_is(t, p, "&&") || token_is(t, p, "..."))
        return true;
  }
  return !found || macro_of(t, i, NULL) != NULL || is_defined_elsewhere(t, i);
}

// ---- macros and constants ------------------------------------------------------------------------------------------------

bool known_bad_macro(const struct tokens *t, int i) {
  static const char *const bad[] = {"return",  "break", "continue",  "goto",       "if",  "else", "case",
                                    "default", ";",     "{",         "}",          "#",   "##",   "=",
                                    "++",      "--",    "threadIdx", "__shared__", "<<<", NULL};
  for (const struct macro *m = NULL; (m = macro_of(t, i, m));)
    for (int at = m->begin; at < m->end; at++)
      if (token_in(t, at, bad) || (t->all[at].kind == TOKEN_WORD && known_wait(t, at)))
        return true;
  return false;
}

static bool block_dependent(const struct tokens *t, int i, int depth) {
  static const char *const words[] = {"printf",
                                      "assert",
                                      "__assert_fail",
                                      "__trap",
                                      "__builtin_trap",
                                      "__brkpt",
                                      "volatile",
                                      "clock",
                                      "clock64",
                                      "cudasim_clock",
                                      "static",
                                      "__shared__",
                                      "__cudasim_shared__",
                                      "thread_local",
                                      NULL};
  if (token_in(t, i, words) || token_begins(t, i, "__threadfence"))
    return true;
  for (const struct macro *m = NULL; depth < DEEPEST && (m = macro_of(t, i, m));)
    for (int at = m->begin; at < m->end; at++)
      if (t->all[at].kind == TOKEN_WORD && (token_is(t, at, "threadIdx") || token_is(t, at, "blockIdx") ||
                                            token_is(t, at, "blockDim") || block_dependent(t, at, depth + 1)))
        return true;
  return depth == DEEPEST;
}

bool known_block_dependent(const struct tokens *t, int i) {
  return block_dependent(t, i, 0);
}

static bool macro_names(const struct tokens *t, int i, int name, int depth) {
  for (const struct macro *m = NULL; depth < DEEPEST && (m = macro_of(t, i, m));)
    for (int at = m->begin; at < m->end; at++)
      if (t->all[at].kind == TOKEN_WORD && (token_same(t, at, name) || macro_names(t, at, name, depth + 1)))
        return true;
  return false;
}

bool known_macro_names(const struct tokens *t, int i, int name) {
  return macro_names(t, i, name, 0);
}

static bool constant(const struct tokens *t, int i, long *value, int depth);

static bool constant_range(const struct tokens *t, int begin, int end, long *value, int depth) {
  static const char *const signs[] = {"+", "-", "*", "/", "%", "(", ")",  "<<", ">",  "<",  "==", "!=",
                                      "&", "|", "^", "~", "?", ":", "&&", "||", "<=", ">=", "!",  NULL};
  *value = -1;
  while (end - begin > 2 && token_is(t, begin, "(") && t->all[begin].match == end - 1)
    begin++, end--;
  for (int i = begin; i < end; i++) {
    long one = -1;
    const struct token *token = &t->all[i];
    if (token->kind == TOKEN_WORD ? !known_type(t, i) && !token_is(t, i, "sizeof") && !constant(t, i, &one, depth + 1)
                                  : token->kind == TOKEN_SIGN && !token_in(t, i, signs))
      return false;
    if (token->kind == TOKEN_DIRECTIVE)
      return false;
    if (end - begin == 1)
      *value = token->kind == TOKEN_NUMBER ? strtol(token->p, NULL, 0) : one;
  }
  return end > begin;
}

static bool is_enumerator(const struct tokens *t, int i) {
  const int brace = t->all[i].within;
  if (brace < 0 || !token_is(t, brace, "{") || t->all[brace].depth != 0)
    return false;
  int at = brace - 1;
  while (at >= 0 && brace - at < 6 && !token_is(t, at, ";") && !token_is(t, at, "}") && !token_is(t, at, "enum"))
    at--;
  const int before = token_before(t, i);
  return at >= 0 && token_is(t, at, "enum") && (before == brace || token_is(t, before, ","));
}

// A number of the whole text that its declaration says to be constant. threadIdx, a constexpr object, is none.
static bool is_constant_variable(const struct tokens *t, int i) {
  if (t->all[i].depth != 0 || t->all[i].within >= 0 ||
      (!token_is(t, token_next(t, i), "=") && !token_is(t, token_next(t, i), "{")))
    return false;
  bool is_constant = false;
  for (int at = token_before(t, i); at >= 0; at = token_before(t, at)) {
    if (token_is(t, at, ";") || token_is(t, at, "}") || token_is(t, at, "{"))
      break;
    const bool says_so = token_is(t, at, "const") || token_is(t, at, "constexpr");
    if (!says_so && !known_type(t, at) && !token_is(t, at, "static") && !token_is(t, at, "inline"))
      return false;
    is_constant |= says_so;
  }
  return is_constant;
}

// The value's tokens of a name that begins at i: up to a comma or semicolon.
static int value_end(const struct tokens *t, int i) {
  while (i < t->count && !token_is(t, i, ",") && !token_is(t, i, ";") && !token_is(t, i, "}"))
    i = token_is(t, i, "(") && t->all[i].match > i ? t->all[i].match + 1 : i + 1;
  return i;
}

static bool constant(const struct tokens *t, int i, long *value, int depth) {
  static const char *const standard[] = {"true",    "false",   "nullptr",  "NULL",    "warpSize",
                                         "INT_MAX", "INT_MIN", "UINT_MAX", "FLT_MAX", "FLT_MIN",
                                         "DBL_MAX", "DBL_MIN", "INFINITY", "M_PI",    NULL};
  *value = -1;
  bool found = false;
  if (depth > DEEPEST)
    return false;
  for (const struct macro *m = NULL; (m = macro_of(t, i, m));) {
    if (m->takes_arguments || found || !constant_range(t, m->begin, m->end, value, depth))
      return false;
    found = true;
  }
  if (found)
    return true;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || !(is_enumerator(t, at) || is_constant_variable(t, at)))
      continue;
    const int next = token_next(t, at), begin = next + 1, end = value_end(t, begin);
    if (found) { // which of them is meant is for the compiler to say
      *value = -1;
      continue;
    }
    found = true;
    if (token_is(t, next, "="))
      constant_range(t, begin, end, value, depth);
  }
  return found || (token_in(t, i, standard) && !token_declared(t, i));
}

bool known_constant(const struct tokens *t, int i, long *value) {
  return constant(t, i, value, 0);
}
