// SPDX-License-Identifier: MIT
// Index-set splitting (Griebl, Feautrier and Lengauer, "Index Set Splitting", IJPP 28, 2000): the loop over a row's threads is
// restricted to the threads for which the conditions at the start of a region hold.
//
// `if (c > 0 && c < n - 1 && r > 0) out[r * n + c] = ...`: where a region begins with conditions that depend only on the thread's
// index, they are evaluated first. The rest is a loop without a condition over the threads that satisfy them: only then does g++ see
// that r * n + c does not overflow, and vectorizes the loop.
#include <stddef.h>

#include "sim/compile/workitem_loops.h"

// ---- an index whose conditions hold for threads side by side -------------------------------------------------------------

// Where `sign` stands in the expression outside of brackets; its end where it does not.
static int find_sign(const struct tokens *t, struct range e, const char *const *signs) {
  for (int i = e.begin; i < e.end; i++) {
    if (i > e.begin && t->all[i].kind == TOKEN_SIGN && token_in(t, i, signs))
      return i;
    if (t->all[i].match > i)
      i = t->all[i].match;
  }
  return e.end;
}

static bool is_member(const struct tokens *t, struct range e, const char *object) { // object.x
  return e.end - e.begin == 3 && token_is(t, e.begin, object) && token_is(t, e.begin + 2, "x");
}

static bool is_thread_x(const struct tokens *t, struct range e) {
  e = token_within_brackets(t, e);
  return is_member(t, (struct range){e.begin + token_is(t, e.begin, "+"), e.end}, "threadIdx");
}

static bool same_tokens(const struct tokens *t, struct range a, struct range b) {
  for (int i = 0; i < a.end - a.begin; i++)
    if (b.end - b.begin != a.end - a.begin || !token_same(t, a.begin + i, b.begin + i))
      return false;
  return b.end - b.begin == a.end - a.begin;
}

bool kernel_is_origin(const struct kernel *k, struct range e) {
  static const char *const times[] = {"*", NULL};
  const struct tokens *t = k->t;
  e = token_within_brackets(t, e);
  const int sign = find_sign(t, e, times);
  struct range block = token_within_brackets(t, (struct range){e.begin, sign}),
               width = token_within_brackets(t, (struct range){sign + 1, e.end});
  if (sign >= e.end)
    return false;
  if (!is_member(t, block, "blockIdx")) {
    const struct range other = block;
    block = width;
    width = other;
  }
  const struct range own = token_within_brackets(t, kernel_origin(k));
  return is_member(t, block, "blockIdx") &&
         (own.begin < own.end ? same_tokens(t, width, own) : is_member(t, width, "blockDim"));
}

// The thread's place in its row of the block, or of the grid: from one thread to the next it grows by one, and it never overflows.
static bool is_place_in_row(const struct kernel *k, struct range e) {
  static const char *const plus[] = {"+", NULL};
  const struct tokens *t = k->t;
  e = token_within_brackets(t, e);
  if (is_thread_x(t, e))
    return true;
  const int sign = find_sign(t, e, plus);
  const struct range left = {e.begin, sign}, right = {sign + 1, e.end};
  return sign < e.end &&
         ((is_thread_x(t, left) && kernel_is_origin(k, right)) || (kernel_is_origin(k, left) && is_thread_x(t, right)));
}

static bool is_row_index(const struct kernel *k, struct range e) {
  static const char *const wide[] = {"int",      "unsigned", "long",    "size_t",   "auto",
                                     "uint32_t", "int32_t",  "int64_t", "uint64_t", NULL};
  const struct tokens *t = k->t;
  e = token_within_brackets(t, e);
  if (is_place_in_row(k, e))
    return true;
  const struct variable *v = e.end - e.begin == 1 ? kernel_variable(k, e.begin) : NULL;
  if (v == NULL || v->class != V_REMATERIALIZED || v->pointer || !is_place_in_row(k, v->init))
    return false;
  for (int i = v->specifiers.begin; i < v->specifiers.end; i++)
    if (!token_in(t, i, wide) && !token_is(t, i, "const"))
      return false;
  return true;
}

// The same for all threads of a row.
static bool is_same_in_row(const struct kernel *k, struct range e) {
  const struct tokens *t = k->t;
  for (int i = e.begin; i < e.end; i++) {
    const struct variable *v = kernel_variable(k, i);
    if (token_is(t, i, "threadIdx") && !token_is(t, i + 2, "y") && !token_is(t, i + 2, "z"))
      return false;
    if (v && v->class != V_UNIFORM && (v->class != V_REMATERIALIZED || !is_same_in_row(k, v->init)))
      return false;
  }
  return true;
}

// Each part of `a < x && x < b` holds up to some thread of the row, or from one on. Of a condition to go away, a || b, each part's
// opposite does.
static bool is_interval(const struct kernel *k, struct range e, bool leaves) {
  static const char *const joins[][2] = {{"&&", NULL}, {"||", NULL}};
  static const char *const comparisons[] = {"<", "<=", ">", ">=", NULL};
  static const char *const weaker[] = {"&&", "||", "?", "==", "!=", "&", "|", "^", ",", NULL};
  const struct tokens *t = k->t;
  e = token_within_brackets(t, e);
  if (is_same_in_row(k, e))
    return true;
  const int join = find_sign(t, e, joins[leaves]);
  if (join < e.end)
    return is_interval(k, (struct range){e.begin, join}, leaves) &&
           is_interval(k, (struct range){join + 1, e.end}, leaves);
  const int sign = find_sign(t, e, comparisons);
  if (sign == e.end || find_sign(t, e, weaker) < e.end ||
      find_sign(t, (struct range){sign, e.end}, comparisons) < e.end)
    return false;
  const struct range left = {e.begin, sign}, right = {sign + 1, e.end};
  return (is_row_index(k, left) && is_same_in_row(k, right)) || (is_same_in_row(k, left) && is_row_index(k, right));
}

// ---- a region's first conditions -----------------------------------------------------------------------------------------

static bool is_guard(const struct statement *s) { // if (...) return;
  const struct statement *child = s->kind == S_IF && s->other == NULL ? s->child : NULL;
  while (child && child->kind == S_BLOCK && child->child && child->child->next == NULL)
    child = child->child;
  return child && child->kind == S_RETURN;
}

static bool declares_rematerialized(const struct kernel *k, const struct statement *s) {
  for (int i = 0; i < k->variable_count; i++)
    if (k->variables[i].in == s && k->variables[i].class != V_REMATERIALIZED && k->variables[i].class != V_UNIFORM)
      return false;
  return s->kind == S_DECLARATION;
}

bool find_range_split(const struct kernel *k, const struct statement *first, const struct statement *end,
                      struct range_split *g) {
  const struct tokens *t = k->t;
  int conditions = 0;
  *g = (struct range_split){.before = first->at.begin, .interval = true};
  for (const struct statement *s = first; s != end; s = s->next) {
    const bool guard = is_guard(s), last = s->kind == S_IF && s->other == NULL && s->next == end;
    if (s->kind == S_HOISTED || s->kind == S_EMPTY || s->uniform || declares_rematerialized(k, s))
      continue;
    if (!(guard || last) || !kernel_pure(k, s->condition, true))
      break;
    conditions++;
    for (int i = s->condition.begin; i < s->condition.end; i++)
      conditions += token_is(t, i, "&&") || token_is(t, i, "||");
    g->before = s->at.end;
    g->last = guard ? NULL : s;
    g->interval &= is_interval(k, s->condition, guard);
  }
  g->single = conditions == 1;
  return conditions > 1 || (g->single && g->interval);
}

void open_range_split(const struct writer *w, const struct statement *first, const struct range_split *g) {
  append_string(w->out,
                "{ const auto cudasim_on = [&](const int cudasim_x) __attribute__((always_inline)) { " WRITE_PLACE);
  write_needed_by_conditions(w, first, g->before);
  for (const struct statement *s = first; s && s->at.begin < g->before; s = s->next) {
    if (s->kind == S_DECLARATION) {
      write_declaration(w, s);
    } else if (s->kind == S_IF) {
      move_to(w, w->k->t->all[s->at.begin].p, false);
      append_string(w->out, s == g->last ? "if (!(" : "if (");
      write_range(w, s->condition);
      append_string(w->out, s == g->last ? ")) return false; " : ") return false; ");
    }
  }
  append_string(w->out, "return true; }; ");
  if (g->interval)
    append_string(w->out, "int cudasim_from, cudasim_to; ::cudasim::find_run(cudasim_on, cudasim_first, cudasim_end, "
                          "cudasim_from, cudasim_to); { ");
  else
    append_string(
        w->out,
        "int cudasim_count = 0; "
        "for (int cudasim_x = cudasim_first; cudasim_x < cudasim_end; cudasim_x++) "
        "cudasim_count += cudasim_on(cudasim_x) ? 1 : 0; "
        "if (cudasim_count == 0) continue; "
        "for (int cudasim_from = cudasim_first, cudasim_to = cudasim_end;; cudasim_from = cudasim_to) { "
        "if (cudasim_count < cudasim_width) { "
        "while (cudasim_from < cudasim_end && !cudasim_on(cudasim_from)) cudasim_from++; "
        "if (cudasim_from == cudasim_end) break; "
        "for (cudasim_to = cudasim_from + 1; cudasim_to < cudasim_end && cudasim_on(cudasim_to);) cudasim_to++; } ");
}

// An if whose condition has been looked at.
void write_split_if(const struct writer *w, const struct statement *s, const struct range_split *g) {
  if (s != g->last)
    return;
  append_string(w->out, "{ ");
  write_statement(w, s->child);
  append_string(w->out, " }");
}
