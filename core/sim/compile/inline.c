// SPDX-License-Identifier: MIT
// Inlining and A-normal form (Flanagan, Sabry, Duba and Felleisen, "The Essence of Compiling with Continuations", PLDI 1993): a call
// that contains a barrier or a warp function is replaced by the function's body, and the value of each warp function gets a name of
// its own before the statement that uses it. After that, every barrier and warp function is a statement by itself:
//     x += __shfl_down_sync(0xffffffff, x, delta);
// becomes
//     { const int cudasim_a1 = static_cast<int>(delta); auto cudasim_r1 = cudasim_warp_shfl_down(x, cudasim_a1); x += cudasim_r1; }
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compile/inline.h"

void inline_refuse(struct inliner *f, int token, enum refusal why) {
  if (f->why_not == NOT_REFUSED) {
    f->why_not = why;
    f->why_token = token < f->t->main_count ? token : 0;
  }
}

char *inline_copy(const char *p, size_t length) {
  char *copy = malloc(length + 1);
  if (copy == NULL)
    fail(input_name, "out of memory");
  memcpy(copy, p, length);
  copy[length] = '\0';
  return copy;
}

void inline_number(struct text *out, const char *format, int number) {
  char text[100];
  snprintf(text, sizeof text, format, number);
  append_string(out, text);
}

// ---- expressions ---------------------------------------------------------------------------------------------------------

// A name as it is called here.
void inline_word(const struct scope *s, int i, struct text *out) {
  const struct tokens *t = s->k->t;
  const struct variable *v = kernel_variable(s->k, i);
  for (int p = 0; p < s->type_count && v == NULL; p++)
    if (token_same(t, i, s->type_name[p]) && !token_is(t, token_before(t, i), ".") &&
        !token_is(t, token_before(t, i), "->")) {
      append_string(out, s->type_argument[p]);
      return;
    }
  append(out, t->all[i].p, (size_t)t->all[i].length);
  if (v && v->shared && s->number > 0) { // one for all calls of the function
    unsigned int mixed = (unsigned int)s->k->body.begin;
    for (int p = 0; p < s->type_count; p++)
      for (const char *c = s->type_argument[p]; *c; c++)
        mixed = mixed * 31u + (unsigned char)*c;
    inline_number(out, "_s%d", s->k->body.begin);
    inline_number(out, "_%x", (int)mixed);
  } else if (v && s->number > 0) {
    inline_number(out, "_c%d", s->number);
  }
}

bool inline_is_address(const char *text) { // of a variable: "&x"
  return text && *text == '&' && is_word(text[1]);
}

// Tokens as they are called in this scope, apart from calls that have to be statements of their own: those are written before.
void inline_expression(struct inliner *f, const struct scope *s, struct range e, struct text *out) {
  const struct tokens *t = s->k->t;
  for (int i = e.begin; i < e.end && f->why_not == NOT_REFUSED; i++) {
    const struct variable *v = kernel_variable(s->k, i), *next = i + 1 < e.end ? kernel_variable(s->k, i + 1) : NULL;
    const char *instead = v ? s->instead[v - s->k->variables] : NULL;
    const char *pointed = next ? s->instead[next - s->k->variables] : NULL;
    const bool shift =
        i > e.begin && token_is(t, i, ">") && token_is(t, i - 1, ">") && t->all[i].p == t->all[i - 1].p + 1;
    append_string(out, shift ? "" : " ");
    if (t->all[i].kind == TOKEN_DIRECTIVE)
      continue;
    if (token_is(t, i, "*") && inline_is_address(pointed) && kernel_unary(t, i)) { // *p where p is &x
      append_string(out, pointed + 1);
      i++;
    } else if (instead) {
      append_string(out, inline_is_address(instead) ? "(" : "");
      append_string(out, instead);
      append_string(out, inline_is_address(instead) ? ")" : "");
    } else if (t->all[i].kind == TOKEN_WORD && inline_needs_name(s, i)) {
      inline_call(f, s, i, out);
      i = t->all[inline_bracket(t, i)].match;
    } else if (t->all[i].kind == TOKEN_WORD) {
      inline_word(s, i, out);
    } else {
      append(out, t->all[i].p, (size_t)t->all[i].length);
    }
  }
}

char *inline_text(struct inliner *f, const struct scope *s, struct range e) {
  struct text text = {0};
  append(&text, "", 0);
  inline_expression(f, s, e, &text);
  char *p = text.bytes; // without what surrounds it
  size_t length = text.length;
  while (length > 0 && is_space(p[length - 1]))
    length--;
  while (length > 0 && is_space(*p))
    p++, length--;
  char *copy = inline_copy(p, length);
  free(text.bytes);
  return copy;
}

// Whether a call is made at all depends on what stands before it within the bracket `open`: in `a && f()` and `a ? f() : b`.
static bool is_conditional(const struct tokens *t, int open, int begin, int call) {
  static const char *const conditions[] = {"&&", "||", "?", NULL};
  bool conditional = false;
  for (int i = begin; i < call; i++) {
    if (t->all[i].within != open)
      continue;
    conditional |= token_in(t, i, conditions);
    if (token_is(t, i, ",") || token_is(t, i, ";"))
      conditional = false;
  }
  return conditional;
}

static bool calls_are_certain(struct inliner *f, const struct scope *s, struct range e) {
  const struct tokens *t = s->k->t;
  for (int i = e.begin; i < e.end; i++) {
    if (t->all[i].kind != TOKEN_WORD || !inline_needs_name(s, i))
      continue;
    int open = t->all[i].within;
    for (; open >= e.begin; open = t->all[open].within)
      if (is_conditional(t, open, open + 1, i))
        inline_refuse(f, i, REFUSED_CONDITIONAL_CALL);
    if (is_conditional(t, open, e.begin, i))
      inline_refuse(f, i, REFUSED_CONDITIONAL_CALL);
  }
  return f->why_not == NOT_REFUSED;
}

// ---- statements ----------------------------------------------------------------------------------------------------------

void inline_line(struct inliner *f, int token) {
  const char *p = f->t->all[token].p;
  append_string(f->out, "\n");
  if (p < f->in->bytes || p >= f->in->bytes + f->in->length)
    return; // an included file's
  const size_t place = (size_t)(p - f->in->bytes);
  struct writer w = {.in = f->in, .marked = f->program, .spot = f->spot};
  if (place < f->spot.place)
    w.spot = (struct spot){.line = 1};
  f->spot = spot_of(&w, place);
  inline_number(f->out, f->program ? "# %d " : "#line %d ", (int)f->spot.line);
  if (f->spot.file_length)
    append(f->out, f->in->bytes + f->spot.file, f->spot.file_length);
  else
    append_quoted(f->out, input_name);
  append_string(f->out, "\n");
}

static void write_child(struct inliner *f, const struct scope *s, const struct statement *child) {
  append_string(f->out, "{ ");
  inline_list(f, s, child->kind == S_BLOCK ? child->child : child, 0);
  append_string(f->out, "} ");
}

static void write_declared(struct inliner *f, const struct scope *s, const struct statement *d) {
  const struct kernel *k = s->k;
  for (int i = 0; i < k->variable_count; i++) {
    const struct variable *v = &k->variables[i];
    if (v->in != d)
      continue;
    char *init = v->init_kind ? inline_text(f, s, v->init) : inline_copy("", 0);
    if (inline_has_calls(s, d->at))
      inline_line(f, v->name);
    inline_expression(f, s, v->specifiers, f->out);
    inline_expression(f, s, v->declarator, f->out);
    append_string(f->out, v->init_kind == '=' ? " = " : "");
    append_string(f->out, init);
    append_string(f->out, "; ");
    free(init);
  }
}

// Shared arrays of a function exist once, however often it is called.
static void write_hoisted(struct inliner *f, const struct scope *s, const struct statement *h) {
  struct text own = {0};
  bool shared = false, alone = true;
  for (int i = 0; i < s->k->variable_count && s->number > 0; i++)
    shared |= s->k->variables[i].in == h && s->k->variables[i].shared;
  if (!shared) {
    inline_expression(f, s, h->at, f->out);
    return;
  }
  for (int i = h->at.begin; i < h->at.end; i++)
    alone &= kernel_variable(s->k, i) == NULL || kernel_variable(s->k, i)->shared;
  for (int i = s->k->body.begin; i < s->k->body.end; i++)
    alone &= !token_is(s->k->t, i, "typedef") && !token_is(s->k->t, i, "using");
  if (!alone)
    inline_refuse(f, h->at.begin, REFUSED_SHARED_ARRAY);
  append(&own, "", 0);
  inline_expression(f, s, h->at, &own);
  if (f->shared.bytes == NULL || strstr(f->shared.bytes, own.bytes) == NULL) {
    append_string(&f->shared, own.bytes);
    append_string(&f->shared, " ");
  }
  free(own.bytes);
}

// __syncwarp();
static void write_syncwarp(struct inliner *f, const struct scope *s, const struct statement *one) {
  const struct tokens *t = s->k->t;
  struct range arguments[MAX_ARGUMENTS];
  const int open = inline_bracket(t, one->at.begin), count = open < 0 ? -1 : inline_arguments(t, open, arguments);
  if (count < 0 || count > 1 || !token_is(t, t->all[open].match + 1, ";") ||
      (count == 1 && !inline_every_lane(s, arguments[0])))
    inline_refuse(f, one->at.begin, REFUSED_PARTIAL_MASK);
  append_string(f->out, "cudasim_warp_sync();");
}

static void write_computed(struct inliner *f, const struct scope *s, const struct statement *one, int result) {
  const bool value = one->kind == S_RETURN && s->number > 0, apart = inline_has_calls(s, one->at);
  struct text expression = {0};
  append(&expression, "", 0);
  append_string(f->out, apart ? "{ " : "");
  inline_expression(f, s, value ? (struct range){one->at.begin + 1, one->at.end} : one->at, &expression);
  if (apart)
    inline_line(f, one->at.begin);
  if (value)
    inline_number(f->out, "cudasim_v%d =", result);
  append_string(f->out, expression.bytes);
  append_string(f->out, apart ? " }" : "");
  free(expression.bytes);
}

static void write_one(struct inliner *f, const struct scope *s, const struct statement *one, int result) {
  const struct tokens *t = s->k->t;
  struct text expression = {0};
  inline_line(f, one->at.begin);
  append(&expression, "", 0);
  switch (one->kind) {
  case S_BLOCK:
    write_child(f, s, one);
    break;
  case S_IF:
    if (!calls_are_certain(f, s, one->condition))
      break;
    inline_expression(f, s, one->condition, &expression);
    if (inline_has_calls(s, one->condition))
      inline_line(f, one->at.begin);
    append_string(f->out, token_is(t, token_next(t, one->at.begin), "constexpr") ? "if constexpr (" : "if (");
    append_string(f->out, expression.bytes);
    append_string(f->out, ") ");
    write_child(f, s, one->child);
    if (one->other) {
      append_string(f->out, "else ");
      write_child(f, s, one->other);
    }
    break;
  case S_FOR:
  case S_WHILE:
  case S_DO:
    if (inline_has_calls(s, one->condition) || inline_has_calls(s, one->step) ||
        (one->init && inline_has_calls(s, one->init->at)))
      inline_refuse(f, one->at.begin, REFUSED_CALL_IN_LOOP_HEAD);
    append_string(f->out, one->kind == S_FOR ? "for (" : one->kind == S_WHILE ? "while (" : "do ");
    if (one->kind == S_FOR)
      inline_expression(f, s, one->init->at, f->out);
    if (one->kind != S_DO)
      inline_expression(f, s, one->condition, f->out);
    if (one->kind == S_FOR) {
      append_string(f->out, "; ");
      inline_expression(f, s, one->step, f->out);
    }
    append_string(f->out, one->kind == S_DO ? "" : ") ");
    write_child(f, s, one->child);
    if (one->kind == S_DO) {
      append_string(f->out, "while (");
      inline_expression(f, s, one->condition, f->out);
      append_string(f->out, "); ");
    }
    break;
  case S_HOISTED:
    write_hoisted(f, s, one);
    break;
  case S_DECLARATION:
    if (calls_are_certain(f, s, one->at))
      write_declared(f, s, one);
    break;
  case S_RETURN:
  case S_EXPRESSION:
    if (token_is(t, one->at.begin, "__syncwarp"))
      write_syncwarp(f, s, one);
    else if (calls_are_certain(f, s, one->at))
      write_computed(f, s, one, result);
    break;
  default:
    if (inline_has_calls(s, one->at))
      inline_refuse(f, one->at.begin, REFUSED_CALL_IN_STATEMENT);
    inline_expression(f, s, one->at, f->out);
  }
  append_string(f->out, " ");
  free(expression.bytes);
}

void inline_list(struct inliner *f, const struct scope *s, const struct statement *list, int result) {
  for (; list && f->why_not == NOT_REFUSED; list = list->next)
    if (list->kind != S_EMPTY)
      write_one(f, s, list, result);
}

bool kernel_is_normal(const struct kernel *k) {
  const struct scope s = {.k = k};
  return !inline_has_calls(&s, k->body);
}

bool kernel_normalize(struct tokens *t, struct kernel *k, const struct text *in, bool program, struct text *out) {
  struct text body = {0};
  const struct scope s = {.k = k};
  struct inliner f = {.t = t, .in = in, .program = program, .out = &body, .spot = {.line = 1}};
  kernel_find_modifications(k);
  if (!kernel_macros_are_clear(k))
    return false;
  append(&body, "", 0);
  append(&f.shared, "", 0);
  append(out, "", 0);
  inline_list(&f, &s, k->top->child, 0);
  append_string(out, "void flat(");
  inline_expression(&f, &s, k->parameters, out);
  append_string(out, ") {\n");
  append_string(out, f.shared.bytes);
  append_string(out, body.bytes);
  append_string(out, "\n}\n");
  free(body.bytes);
  free(f.shared.bytes);
  k->why_not = f.why_not;
  k->why_token = f.why_token;
  return f.why_not == NOT_REFUSED;
}
