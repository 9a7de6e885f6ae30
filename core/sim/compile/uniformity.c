// SPDX-License-Identifier: MIT
// Uniformity analysis (Karrenberg and Hack, "Whole-Function Vectorization", CGO 2011; "Improving Performance of OpenCL on CPUs", CC
// 2012): which variables and conditions have the same value in all threads. The analysis is optimistic: every variable is uniform at
// first, and those that contradict this become private until nothing changes. Of the others, a value that is cheap to compute is
// rematerialized in each region; the rest are kept in context arrays, with one element for each thread.
#include <stdlib.h>
#include <string.h>

#include "sim/compile/kernel.h"

static bool refuse_at(struct kernel *k, int token, enum refusal why) {
  if (k->why_not == NOT_REFUSED)
    k->why_token = token;
  return kernel_refuse(k, why);
}

static bool empty(struct range r) {
  return r.begin >= r.end;
}

static bool modified_within(const struct kernel *k, const struct variable *v, struct range where) {
  for (int i = where.begin; i < where.end; i++)
    if (k->modified[i - k->body.begin] && kernel_variable(k, i) == v)
      return true;
  return false;
}

// ---- expressions ---------------------------------------------------------------------------------------------------------

static bool is_place(const struct tokens *t, int i) {
  static const char *const words[] = {"blockIdx", "blockDim", "gridDim", NULL};
  return token_in(t, i, words);
}

static bool is_cast(const struct tokens *t, int i) {
  static const char *const words[] = {"static_cast", "reinterpret_cast", "const", "sizeof", "true",
                                      "false",       "nullptr",          NULL};
  return known_type(t, i) || token_in(t, i, words);
}

// What it gives is the same for all lanes of a warp.
static bool is_vote(const struct tokens *t, int call) {
  static const char *const votes[] = {"cudasim_warp_ballot", "cudasim_warp_any", "cudasim_warp_all",
                                      "cudasim_warp_active", NULL};
  return token_in(t, call, votes);
}

// A word in an expression that has no effect.
static bool pure_word(const struct kernel *k, int i, bool thread) {
  const struct tokens *t = k->t;
  const struct variable *v = kernel_variable(k, i);
  const int before = token_before(t, i), next = token_next(t, i);
  long value;
  if (token_is(t, before, "."))
    return !token_is(t, next, "(");
  if (token_is(t, before, "::") || token_is(t, next, "::") || token_is(t, before, "->"))
    return false;
  if (v)
    return (v->shared && v->array) || v->class == V_UNIFORM || (thread && v->class == V_REMATERIALIZED) ||
           (k->votes_count && v->class == V_RESULT && is_vote(t, v->in->call));
  if (token_is(t, next, "("))
    return is_cast(t, i) || (known_math(t, i) && !known_bad_macro(t, i));
  if (token_is(t, i, "threadIdx"))
    return thread;
  return is_place(t, i) || is_cast(t, i) || kernel_template_parameter(k, i) || known_constant(t, i, &value);
}

// `&a[` at i, the address of an element: past it, at what is in the bracket, or i.
static int past_address(const struct kernel *k, int i) {
  const struct tokens *t = k->t;
  const int name = token_next(t, i), open = token_next(t, name);
  const struct variable *v = kernel_variable(k, name);
  const bool whole = token_is(t, open, "[") && t->all[open].match > open && !token_is(t, t->all[open].match + 1, ".") &&
                     !token_is(t, t->all[open].match + 1, "[") &&
                     !token_is(t, t->all[open].match + 1,
                               "-"
                               ">");
  return whole && v && ((v->shared && v->array) || (v->class == V_UNIFORM && (v->pointer || v->parameter))) ? open : i;
}

bool kernel_pure(const struct kernel *k, struct range where, bool thread) {
  static const char *const signs[] = {"+",  "-",  "/", "%", "(", ")", "<<", "<", ">", "<=", ">=", "==", "!=",
                                      "&&", "||", "^", "|", "~", "!", "?",  ":", ".", ",",  "]",  NULL};
  const struct tokens *t = k->t;
  for (int i = where.begin; i < where.end; i++) {
    const enum token_kind kind = t->all[i].kind;
    if (kind == TOKEN_DIRECTIVE || kind == TOKEN_LITERAL)
      return false;
    if (kind == TOKEN_WORD && !pure_word(k, i, thread))
      return false;
    if (kind != TOKEN_SIGN || token_in(t, i, signs))
      continue;
    const int next = token_next(t, i);
    const bool in_cast = token_is(t, next, ")") || token_is(t, next, ">") || token_is(t, next, "*");
    if (token_is(t, i, "*") && (!kernel_unary(t, i) || in_cast))
      continue;
    if (token_is(t, i, "&") && i > where.begin && !kernel_unary(t, i))
      continue;
    const int past = token_is(t, i, "&") ? past_address(k, i) : i;
    if (past == i)
      return false;
    i = past;
  }
  return true;
}

// ---- statements that all threads do alike --------------------------------------------------------------------------------

// The variable that an expression assigns to, once and at its left end, or ++ or --: with the new value in *value. NULL: it is
// something else.
static struct variable *assigned(const struct kernel *k, struct range e, struct range *value) {
  const struct tokens *t = k->t;
  int name = e.begin;
  *value = (struct range){e.end, e.end};
  if (token_is(t, name, "++") || token_is(t, name, "--"))
    return name + 2 == e.end ? kernel_variable(k, name + 1) : NULL;
  const int sign = token_next(t, name);
  if (t->all[name].kind != TOKEN_WORD || sign >= e.end || !token_is_assignment(t, sign))
    return NULL;
  if (!token_is(t, sign, "++") && !token_is(t, sign, "--"))
    *value = (struct range){sign + 1, e.end};
  return sign + 1 == e.end || !empty(*value) ? kernel_variable(k, name) : NULL;
}

static bool can_be_uniform(const struct variable *v, int since) {
  return v && v->class == V_UNIFORM && (v->at_level || v->parameter) && v->name >= since;
}

// Each part of `i += 2, j--` assigns to a variable that is the same for all, and is declared at `since` or behind.
static bool uniform_assignments(const struct kernel *k, struct range e, int since) {
  const struct tokens *t = k->t;
  for (int begin = e.begin; begin < e.end;) {
    int end = begin;
    while (end < e.end && !token_is(t, end, ","))
      end = t->all[end].match > end ? t->all[end].match + 1 : end + 1;
    struct range value;
    if (!can_be_uniform(assigned(k, (struct range){begin, end}, &value), since) || !kernel_pure(k, value, false))
      return false;
    begin = end + 1;
  }
  return true;
}

static struct range without_semicolon(struct range at) {
  return (struct range){at.begin, at.end - 1};
}

// How many tokens in a range change something.
static int changes(const struct kernel *k, struct range where, const struct variable *v) {
  int count = 0;
  for (int i = where.begin; i < where.end; i++)
    count += k->modified[i - k->body.begin] && kernel_variable(k, i) == v;
  return count;
}

bool kernel_modifies(const struct kernel *k, const struct variable *v) {
  return v->addressed || changes(k, k->body, v) > 0;
}

// Walks what all threads of a warp come to together.
struct walk {
  struct kernel *k;
  const struct variable *counted; // whose changes by uniform statements are counted
  int count;
  int since; // here only some warps come to, so that nothing declared before is the same for all once it is changed
};

static void walk_list(struct walk *w, struct statement *s, bool tail);

static void walk_step(struct walk *w, struct range e) {
  if (!empty(e) && uniform_assignments(w->k, e, w->since))
    w->count += changes(w->k, e, w->counted);
}

static void walk_structural(struct walk *w, struct statement *s, bool tail) {
  if (s->kind == S_BLOCK) {
    walk_list(w, s->child, tail);
    return;
  }
  const int since = w->since;
  if (s->kind == S_FOR && s->init->kind == S_EXPRESSION)
    walk_step(w, without_semicolon(s->init->at));
  if (s->kind == S_FOR)
    walk_step(w, s->step);
  if (!kernel_pure(w->k, s->condition, false))
    w->since = s->at.begin;
  walk_list(w, s->child, tail && s->kind == S_IF);
  walk_list(w, s->other, tail && s->kind == S_IF);
  w->since = since;
}

static void walk_list(struct walk *w, struct statement *s, bool tail) {
  for (; s; s = s->next) {
    const bool tail_here = list_tail(s, tail, LEVEL_WARP);
    s->uniform = s->kind == S_EXPRESSION && uniform_assignments(w->k, without_semicolon(s->at), w->since);
    if (s->uniform)
      w->count += changes(w->k, s->at, w->counted);
    else if (statement_structural(s, tail_here, LEVEL_WARP))
      walk_structural(w, s, tail_here);
  }
}

static void set_levels(struct kernel *k, const struct statement *s, bool tail) {
  for (; s; s = s->next) {
    const bool tail_here = list_tail(s, tail, LEVEL_WARP);
    for (int v = 0; v < k->variable_count; v++)
      if (k->variables[v].in == s ||
          (s->kind == S_FOR && k->variables[v].in == s->init && statement_structural(s, tail_here, LEVEL_WARP)))
        k->variables[v].at_level = true;
    if (statement_structural(s, tail_here, LEVEL_WARP)) {
      set_levels(k, s->child, tail_here && (s->kind == S_IF || s->kind == S_BLOCK));
      set_levels(k, s->other, tail_here && s->kind == S_IF);
    }
  }
}

static bool stays_uniform(struct kernel *k, const struct variable *v) {
  if (v->addressed || (!v->parameter && (!kernel_pure(k, v->init, false) || v->init_kind == '{')))
    return false;
  struct walk w = {k, v, 0, 0};
  walk_list(&w, k->top->child, true);
  return w.count == changes(k, k->body, v);
}

static void find_uniform(struct kernel *k) {
  for (int i = 0; i < k->variable_count; i++) {
    struct variable *v = &k->variables[i];
    const bool possible = v->parameter || (v->at_level && !v->array && !v->reference && !v->shared && !v->fixed &&
                                           kernel_plain_type(k, v));
    const bool vote = v->result && v->in->kind == S_BLOCK_COLLECTIVE;
    const bool given = !v->shared && v->at_level && ((v->fixed && v->constant) || v->block_group || vote);
    v->class = v->result && !vote ? V_RESULT : (possible && !v->result) || given ? V_UNIFORM : V_LOCAL;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < k->variable_count; i++) {
      struct variable *v = &k->variables[i];
      if (v->class == V_UNIFORM && !v->shared && !v->fixed && !v->block_group && !v->result && !stays_uniform(k, v)) {
        v->class = V_LOCAL;
        changed = true;
      }
    }
  }
  struct walk w = {k, NULL, 0, 0};
  walk_list(&w, k->top->child, true);
}

// ---- the other variables -------------------------------------------------------------------------------------------------

// A value that is quickly computed again, and is the same whenever that is done while the variable lives.
static bool can_be_rematerialized(const struct kernel *k, const struct variable *v) {
  const struct range life = {v->name, v->scope_end};
  if (!v->at_level || v->parameter || v->array || v->reference || v->shared || v->fixed || v->addressed ||
      empty(v->init) || v->init_kind == '{' || !kernel_plain_type(k, v) || !kernel_pure(k, v->init, true) ||
      modified_within(k, v, life))
    return false;
  for (int i = v->init.begin; i < v->init.end; i++) {
    const struct variable *part = kernel_variable(k, i);
    if (part && modified_within(k, part, life))
      return false;
  }
  return true;
}

// A value that every thread could compute before the kernel begins, and that does not change: made of its place, of parameters and
// constants. Divisors are constants, since nobody knows yet whether the kernel comes to the division.
static bool known_at_entry(const struct kernel *k, struct range e) {
  const struct tokens *t = k->t;
  long value;
  for (int i = e.begin; i < e.end; i++) {
    const struct variable *v = kernel_variable(k, i);
    const bool divides = token_is(t, i, "/") || token_is(t, i, "%");
    if (divides && t->all[i + 1].kind != TOKEN_NUMBER &&
        !(known_constant(t, i + 1, &value) && !kernel_variable(k, i + 1)))
      return false;
    if (divides && strtol(t->all[i + 1].p, NULL, 0) == 0 && t->all[i + 1].kind == TOKEN_NUMBER)
      return false;
    if (v && (v->shared || v->array || v->block_group || v->result || changes(k, k->body, v) > 0 ||
              (!v->parameter && !known_at_entry(k, v->init))))
      return false;
  }
  return true;
}

struct tails {
  bool block, warp;
};

static bool check_control(struct kernel *k, struct statement *s, struct tails tail);

// A condition that may differ from warp to warp: the warp has voted, or whether its lanes agree is looked at before the block begins.
static bool check_warps(struct kernel *k, struct statement *s, struct tails tail) {
  k->votes_count = true;
  const bool voted = kernel_pure(k, s->condition, false);
  k->votes_count = false;
  s->at_entry = !voted;
  s->by_warp = s->kind == S_IF && !s->breaks && !s->continues && !statement_structural(s, tail.block, LEVEL_BLOCK) &&
               (voted || (kernel_pure(k, s->condition, true) && known_at_entry(k, s->condition)));
  return s->by_warp || refuse_at(k, s->condition.begin,
                                 statement_structural(s, tail.block, LEVEL_BLOCK) ? REFUSED_DIVERGENT_BARRIER
                                                                                  : REFUSED_DIVERGENT_WARP);
}

static bool check_structural(struct kernel *k, struct statement *s, struct tails tail) {
  if (s->kind == S_BARRIER || s->kind == S_BLOCK_COLLECTIVE || s->kind == S_WARP_COLLECTIVE || s->kind == S_BREAK ||
      s->kind == S_CONTINUE || s->kind == S_RETURN)
    return true;
  if (s->kind == S_BLOCK)
    return check_control(k, s->child, tail);
  if (s->kind != S_IF && s->kind != S_FOR && s->kind != S_WHILE && s->kind != S_DO)
    return kernel_refuse(k, REFUSED_BARRIER_IN_STATEMENT);
  if (!kernel_pure(k, s->condition, false) && !check_warps(k, s, tail))
    return false;
  if (s->kind == S_FOR) {
    if (s->init->kind == S_EXPRESSION && !uniform_assignments(k, without_semicolon(s->init->at), 0))
      return kernel_refuse(k, REFUSED_LOOP_START);
    if (!uniform_assignments(k, s->step, 0))
      return kernel_refuse(k, REFUSED_LOOP_STEP);
    for (int v = 0; v < k->variable_count; v++)
      if (k->variables[v].in == s->init && k->variables[v].class != V_UNIFORM)
        return kernel_refuse(k, REFUSED_LOOP_VARIABLE);
  }
  const struct tails inner = {tail.block && s->kind == S_IF, tail.warp && s->kind == S_IF};
  return check_control(k, s->child, inner) && check_control(k, s->other, inner);
}

static bool check_control(struct kernel *k, struct statement *s, struct tails tail) {
  for (; s; s = s->next) {
    const struct tails here = {list_tail(s, tail.block, LEVEL_BLOCK), list_tail(s, tail.warp, LEVEL_WARP)};
    if (statement_structural(s, here.warp, LEVEL_WARP) && !check_structural(k, s, here))
      return false;
  }
  return true;
}

// Where the loop ends that begins at i; the end of the block around it where that is not plain to see.
static int loop_end(const struct tokens *t, int i) {
  int at = token_next(t, i);
  if (token_is(t, at, "(") && t->all[at].match > at)
    at = token_next(t, t->all[at].match);
  const int block = token_is(t, at, "{") ? at : t->all[i].within;
  return block >= 0 && t->all[block].match > i ? t->all[block].match : t->count;
}

// Every call is one that cannot wait, and no macro does what the text does not show.
static bool check_words(struct kernel *k) {
  const struct tokens *t = k->t;
  int loops_end = 0;
  for (int i = k->body.begin; i < k->body.end; i++) {
    const int before = token_before(t, i), next = token_next(t, i);
    if (token_is(t, i, "<<<") || token_is(t, i, "...") ||
        (token_is(t, i, "[") && t->all[before].kind == TOKEN_SIGN && !token_is(t, before, "]") &&
         !token_is(t, before, ")")))
      return kernel_refuse(k, REFUSED_LAUNCH_OR_LAMBDA);
    if (t->all[i].kind != TOKEN_WORD)
      continue;
    if (kernel_barrier(k, i)) { // the tree has it
      while (!token_is(t, i, ";"))
        i++;
      continue;
    }
    if (token_begins(t, i, "cudasim_warp_") || token_begins(t, i, "cudasim_vote_"))
      continue; // the tree has it
    if (known_wait(t, i) || known_bad_macro(t, i) || token_is(t, i, "this"))
      return refuse_at(k, i, REFUSED_WAIT_OR_MACRO);
    if (token_is(t, i, "for") || token_is(t, i, "while") || token_is(t, i, "do"))
      loops_end = loop_end(t, i) > loops_end ? loop_end(t, i) : loops_end;
    const int open = token_is(t, next, "<") ? token_past_angles(t, next) : next;
    if (!token_is(t, open, "("))
      continue;
    if (known_atomic(t, i)) { // whose result is used in a loop: it may wait for another thread
      if (i < loops_end && !token_is(t, before, ";") && !token_is(t, before, "{") && !token_is(t, before, "}") &&
          !token_is(t, before, ")"))
        return refuse_at(k, i, REFUSED_ATOMIC_RESULT);
      continue;
    }
    const struct variable *v = kernel_variable(k, i);
    if (v && v->name == i)
      continue; // float x(3);
    struct call_effects effects;
    if (v || !effects_of_call(t, i, &effects) || (effects.atomic && i < loops_end))
      return refuse_at(k, i, REFUSED_WAITING_CALL);
    k->reads_thread_index |= effects.reads_thread_index;
  }
  return true;
}

static int count_statements(const struct statement *s) {
  int count = 0;
  for (; s; s = s->next)
    count += count_statements(s->child) + count_statements(s->other) + (s->kind == S_BARRIER || s->kind == S_RETURN) +
             (s->kind == S_BREAK || s->kind == S_CONTINUE);
  return count;
}

// Each barrier and each jump is a statement of the tree: a macro without a semicolon, for one, would hide what comes after it.
static bool check_jumps(struct kernel *k) {
  static const char *const jumps[] = {"return", "break", "continue", NULL};
  int count = 0;
  for (int i = k->body.begin; i < k->body.end; i++)
    count += (k->t->all[i].kind == TOKEN_WORD && token_in(k->t, i, jumps)) || kernel_barrier(k, i);
  return count == count_statements(k->top) || kernel_refuse(k, REFUSED_HIDDEN_JUMP);
}

// A macro that names a variable of the kernel's may do anything to it.
bool kernel_macros_are_clear(struct kernel *k) {
  for (int i = k->body.begin; i < k->body.end; i++)
    for (int v = 0; v < k->variable_count && k->t->all[i].kind == TOKEN_WORD; v++)
      if (known_macro_names(k->t, i, k->variables[v].name))
        return refuse_at(k, i, REFUSED_MACRO_VARIABLE);
  return true;
}

// What is moved to another place must not find another variable there by the same name.
static bool check_names(struct kernel *k) {
  for (int i = 0; i < k->variable_count; i++)
    for (int j = 0; j < k->variable_count; j++) {
      const struct variable *inner = &k->variables[i], *outer = &k->variables[j];
      if (inner->at_level && outer->name < inner->name && inner->name < outer->scope_end &&
          token_same(k->t, inner->name, outer->name))
        return refuse_at(k, inner->name, REFUSED_HIDDEN_NAME);
    }
  return true;
}

// What has no name to be found by.
static bool check_unnamed_calls(struct kernel *k) {
  struct call_effects effects;
  if (!effects_of_unnamed_calls(k->t, &effects))
    return kernel_refuse(k, REFUSED_WAITING_OPERATOR);
  k->reads_thread_index |= effects.reads_thread_index;
  k->reads_place |= effects.reads_place;
  return true;
}

bool kernel_classify(struct kernel *k) {
  if (k->t->unknown)
    return kernel_refuse(k, REFUSED_MISSING_INCLUDE);
  kernel_find_modifications(k);
  if (!check_words(k) || !check_jumps(k) || !kernel_macros_are_clear(k) || !check_unnamed_calls(k))
    return false;
  set_levels(k, k->top->child, true);
  if (!check_names(k))
    return false;
  find_uniform(k);
  for (int i = 0; i < k->variable_count; i++)
    if (k->variables[i].class == V_LOCAL && can_be_rematerialized(k, &k->variables[i]))
      k->variables[i].class = V_REMATERIALIZED;
  return check_control(k, k->top->child, (struct tails){true, true});
}
