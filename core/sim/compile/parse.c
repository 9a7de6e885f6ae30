// SPDX-License-Identifier: MIT
// Recursive-descent parser: a kernel's tokens as a tree of statements with their variables. It has no types; what it cannot parse, it
// refuses (refusals.h).
#include <stdlib.h>
#include <string.h>

#include "sim/compile/kernel.h"

bool kernel_refuse(struct kernel *k, enum refusal why) {
  if (k->why_not == NOT_REFUSED)
    k->why_not = why;
  return false;
}

static struct statement *make(enum statement_kind kind, int begin, int end) {
  struct statement *s = calloc(1, sizeof *s);
  if (s == NULL)
    fail(input_name, "out of memory");
  s->kind = kind;
  s->at = (struct range){begin, end};
  return s;
}

static void free_statements(struct statement *s) {
  while (s) {
    struct statement *next = s->next;
    free_statements(s->init);
    free_statements(s->child);
    free_statements(s->other);
    free(s);
    s = next;
  }
}

void kernel_free(struct kernel *k) {
  free_statements(k->top);
  free(k->variable_of);
  free(k->modified);
}

// i itself where it is no directive; one that is a condition is in the way.
static int skip_directives(struct kernel *k, int i) {
  const struct tokens *t = k->t;
  while (i < k->body.end && t->all[i].kind == TOKEN_DIRECTIVE) {
    const char *p = t->all[i].p + 1;
    p += strspn(p, " \t");
    if (strncmp(p, "pragma", 6) != 0 && strncmp(p, "line", 4) != 0 && (*p < '0' || *p > '9'))
      kernel_refuse(k, REFUSED_DIRECTIVE);
    i++;
  }
  return i;
}

// Past the semicolon that ends the statement at i.
static int simple_end(const struct kernel *k, int i) {
  const struct tokens *t = k->t;
  while (i < k->body.end && !token_is(t, i, ";"))
    i = t->all[i].match > i ? t->all[i].match + 1 : i + 1;
  return i < k->body.end ? i + 1 : k->body.end;
}

// ---- declarations --------------------------------------------------------------------------------------------------------

static bool is_shared_word(const struct tokens *t, int i) {
  return token_is(t, i, "__shared__") || token_is(t, i, "__cudasim_shared__");
}

// Past the specifiers and the type that a declaration begins with; i itself where none does.
static int past_type(const struct kernel *k, int i, struct variable *v) {
  static const char *const words[] = {"const",  "volatile",     "register", "typename",
                                      "struct", "__restrict__", "inline",   NULL};
  const struct tokens *t = k->t;
  const int begin = i;
  bool typed = false, certain = false;
  for (;; i = token_next(t, i)) {
    if (token_is(t, i, "alignas") || token_is(t, i, "__align__") || token_is(t, i, "__attribute__")) {
      i = token_next(t, i);
      if (t->all[i].match < i)
        return begin;
      i = t->all[i].match;
    } else if (is_shared_word(t, i) || token_is(t, i, "extern")) {
      v->shared = certain = true;
    } else if (token_is(t, i, "static") || token_is(t, i, "constexpr")) {
      v->fixed = certain = true;
      v->constant |= token_is(t, i, "constexpr");
    } else if (token_in(t, i, words)) {
      v->constant |= token_is(t, i, "const");
      certain = true;
    } else if (known_type(t, i) || token_is(t, i, "auto")) {
      if (typed && !certain)
        return begin;
      typed = certain = true;
    } else if (!typed && t->all[i].kind == TOKEN_WORD && !known_keyword(t, i)) {
      typed = true;
      for (;;) { // a::b<c>::d
        int next = token_next(t, i);
        const int past = token_is(t, next, "<") ? token_past_angles(t, next) : next;
        if (past != next) {
          i = past - 1;
          next = token_next(t, i);
        }
        if (!token_is(t, next, "::") || t->all[token_next(t, next)].kind != TOKEN_WORD)
          break;
        i = token_next(t, next);
      }
    } else {
      break;
    }
  }
  if (!typed)
    return begin;
  if (certain)
    return i;
  int at = i; // `a * b;` declares b
  while (token_is(t, at, "*") || token_is(t, at, "&"))
    at = token_next(t, at);
  static const char *const follow[] = {"=", ";", ",", "[", "(", "{", NULL};
  return t->all[at].kind == TOKEN_WORD && !known_keyword(t, at) && token_in(t, token_next(t, at), follow) ? i : begin;
}

// One declarator from i up to its comma or semicolon.
static int declarator(struct kernel *k, int i, struct variable *v) {
  const struct tokens *t = k->t;
  static const char *const marks[] = {"*", "&", "const", "__restrict__", "__restrict", "volatile", NULL};
  v->declarator.begin = i;
  for (; token_in(t, i, marks); i = token_next(t, i)) {
    v->pointer |= token_is(t, i, "*");
    v->reference |= token_is(t, i, "&");
  }
  v->name = i;
  if (t->all[i].kind != TOKEN_WORD) {
    kernel_refuse(k, REFUSED_DECLARATION);
    return simple_end(k, i);
  }
  for (i = token_next(t, i); token_is(t, i, "["); i = token_next(t, t->all[i].match))
    v->array = true;
  v->declarator.end = i;
  v->init = (struct range){i, i};
  if (token_is(t, i, "=") || token_is(t, i, "(") || token_is(t, i, "{")) {
    v->init_kind = *t->all[i].p;
    v->init.begin = token_is(t, i, "=") ? token_next(t, i) : i;
    while (i < k->body.end && !token_is(t, i, ",") && !token_is(t, i, ";")) {
      const int angles = token_is(t, i, "<") ? token_past_angles(t, i) : i;
      i = angles != i ? angles : t->all[i].match > i ? t->all[i].match + 1 : i + 1;
    }
    v->init.end = i;
  }
  return i;
}

void kernel_add_variable(struct kernel *k, const struct variable *v) {
  if (k->variable_count == MAX_VARIABLES)
    kernel_refuse(k, REFUSED_TOO_MANY_VARIABLES);
  else
    k->variables[k->variable_count++] = *v;
}

// The declaration at i, or NULL where it is none.
static struct statement *declaration(struct kernel *k, int i, int scope_end) {
  const struct tokens *t = k->t;
  struct variable common = {.scope_end = scope_end};
  const int type_end = past_type(k, i, &common);
  if (type_end == i)
    return NULL;
  struct statement *s = make(S_DECLARATION, i, simple_end(k, i));
  int at = type_end;
  do {
    struct variable v = common;
    v.specifiers = (struct range){i, type_end};
    v.in = s;
    at = declarator(k, at, &v);
    v.block_group = v.init.end - v.init.begin >= 3 && token_is(t, v.init.end - 3, "this_thread_block") &&
                    (token_is(t, i, "auto") || token_is(t, type_end - 1, "thread_block"));
    kernel_add_variable(k, &v);
    if (v.shared || v.fixed || v.block_group)
      s->kind = S_HOISTED;
    at = token_is(t, at, ",") ? token_next(t, at) : s->at.end;
  } while (at < s->at.end);
  return s;
}

// ---- statements ----------------------------------------------------------------------------------------------------------

static struct statement *statement(struct kernel *k, int i, int scope_end);

static struct statement *block(struct kernel *k, int begin, int end) {
  struct statement *s = make(S_BLOCK, begin, end), **link = &s->child;
  for (int i = skip_directives(k, begin); i < end && k->why_not == NOT_REFUSED;
       i = skip_directives(k, (*link)->at.end), link = &(*link)->next)
    *link = statement(k, i, end);
  return s;
}

// The statement that an if or a loop does.
static struct statement *done_by(struct kernel *k, int i, int scope_end, int *end) {
  i = skip_directives(k, i);
  if (i >= k->body.end) {
    kernel_refuse(k, REFUSED_NO_STATEMENT);
    *end = k->body.end;
    return NULL;
  }
  struct statement *s = statement(k, i, scope_end);
  *end = s->at.end;
  return s;
}

static void parse_for(struct kernel *k, struct statement *s, int open, int close) {
  const struct tokens *t = k->t;
  int first = simple_end(k, open + 1), second;
  const int end_of_loop = s->at.end; // for now: of the scope around it
  if (first > close) {
    kernel_refuse(k, REFUSED_FOR_HEAD);
    return;
  }
  second = simple_end(k, first);
  if (second > close) {
    kernel_refuse(k, REFUSED_FOR_HEAD);
    return;
  }
  const int known = k->variable_count;
  s->init = declaration(k, open + 1, end_of_loop);
  if (s->init == NULL)
    s->init = make(token_is(t, open + 1, ";") ? S_EMPTY : S_EXPRESSION, open + 1, first);
  s->condition = (struct range){first, second - 1};
  s->step = (struct range){second, close};
  s->child = done_by(k, close + 1, end_of_loop, &s->at.end);
  for (int v = known; v < k->variable_count; v++)
    if (k->variables[v].in == s->init)
      k->variables[v].scope_end = s->at.end;
}

static struct statement *parse_if(struct kernel *k, int i, int scope_end) {
  const struct tokens *t = k->t;
  int open = token_next(t, i);
  if (token_is(t, open, "constexpr"))
    open = token_next(t, open);
  struct statement *s = make(S_IF, i, scope_end);
  const int close = t->all[open].match;
  s->condition = (struct range){open + 1, close};
  s->child = done_by(k, close + 1, scope_end, &s->at.end);
  const int after = skip_directives(k, s->at.end);
  if (after < k->body.end && token_is(t, after, "else"))
    s->other = done_by(k, after + 1, scope_end, &s->at.end);
  return s;
}

static struct statement *loop(struct kernel *k, int i, int scope_end) {
  const struct tokens *t = k->t;
  if (token_is(t, i, "do")) {
    struct statement *s = make(S_DO, i, scope_end);
    s->child = done_by(k, i + 1, scope_end, &s->at.end);
    const int open = token_next(t, skip_directives(k, s->at.end));
    if (!token_is(t, open, "(") || t->all[open].match < open) {
      kernel_refuse(k, REFUSED_DO_WITHOUT_WHILE);
      return s;
    }
    s->condition = (struct range){open + 1, t->all[open].match};
    s->at.end = simple_end(k, open);
    return s;
  }
  const int open = token_next(t, i), close = t->all[open].match;
  const bool is_switch = token_is(t, i, "switch");
  struct statement *s = make(is_switch ? S_SWITCH : token_is(t, i, "for") ? S_FOR : S_WHILE, i, scope_end);
  if (!token_is(t, open, "(") || close < open) {
    kernel_refuse(k, REFUSED_LOOP_HEAD);
    s->at.end = k->body.end;
    return s;
  }
  if (s->kind == S_FOR) {
    parse_for(k, s, open, close);
    return s;
  }
  s->condition = (struct range){open + 1, close};
  s->child = done_by(k, close + 1, scope_end, &s->at.end);
  return s;
}

// `case x:` and `default:` are skipped, other labels are in the way.
static int past_labels(struct kernel *k, int i) {
  const struct tokens *t = k->t;
  for (;;) {
    if (token_is(t, i, "case")) {
      while (i < k->body.end && !token_is(t, i, ":"))
        i++;
      i = skip_directives(k, i + 1);
    } else if (t->all[i].kind == TOKEN_WORD && token_is(t, token_next(t, i), ":")) {
      if (!token_is(t, i, "default"))
        kernel_refuse(k, REFUSED_LABEL);
      i = skip_directives(k, token_next(t, i) + 1);
    } else {
      return i;
    }
  }
}

// A name of the cooperative group that is the whole block.
static bool is_block_group(const struct kernel *k, int i) {
  for (int v = k->variable_count - 1; v >= 0; v--)
    if (token_same(k->t, k->variables[v].name, i))
      return k->variables[v].block_group;
  return false;
}

bool kernel_barrier(const struct kernel *k, int i) {
  static const char *const call[] = {"(", ")", ";"};
  static const char *const whole[] = {"this_thread_block", "(", ")", "."};
  const struct tokens *t = k->t;
  const bool group = token_is(t, i + 1, "::") && (token_is(t, i, "cg") || token_is(t, i, "cooperative_groups"));
  const int name = group ? i + 2 : i;
  if (token_is(t, i + 1, ".") && token_is(t, i + 2, "sync") && is_block_group(k, i)) { // block.sync();
    i += 2;
  } else if (token_is(t, name, "sync") && (group || !(token_is(t, i - 1, "::") || token_is(t, i - 1, ".")))) {
    return token_is(t, name + 1, "(") && is_block_group(k, name + 2) && token_is(t, name + 3, ")") &&
           token_is(t, name + 4, ";");
  } else if (group && token_is(t, name + 4, "sync")) { // cg::this_thread_block().sync();
    for (int part = 0; part < 4; part++)
      if (!token_is(t, name + part, whole[part]))
        return false;
    i = name + 4;
  } else if (!token_is(t, i, "__syncthreads")) {
    return false;
  }
  for (int part = 0; part < 3; part++)
    if (!token_is(t, i + 1 + part, call[part]))
      return false;
  return true;
}

int kernel_collective(const struct kernel *k, int i) {
  const struct tokens *t = k->t;
  const bool result = token_is(t, i, "auto") && token_begins(t, i + 1, "cudasim_r") && token_is(t, i + 2, "=");
  const int call = result ? i + 3 : i;
  return t->all[call].kind == TOKEN_WORD &&
                 (token_begins(t, call, "cudasim_warp_") || token_begins(t, call, "cudasim_vote_"))
             ? call
             : -1;
}

// `auto cudasim_r1 = cudasim_warp_ballot(x);`, which compile/inline.c writes.
static struct statement *collective(struct kernel *k, int i, int call, int scope_end) {
  struct statement *s =
      make(token_begins(k->t, call, "cudasim_vote_") ? S_BLOCK_COLLECTIVE : S_WARP_COLLECTIVE, i, simple_end(k, i));
  s->call = call;
  if (call != i) {
    struct variable v = {.name = i + 1, .scope_end = scope_end, .in = s, .result = true};
    v.specifiers = (struct range){i, i + 1};
    v.declarator = (struct range){i + 1, i + 2};
    v.init = (struct range){call, s->at.end - 1};
    v.init_kind = '=';
    kernel_add_variable(k, &v);
  }
  return s;
}

static struct statement *statement(struct kernel *k, int begin, int scope_end) {
  static const char *const hoisted[] = {"typedef", "using", "static_assert", NULL};
  static const char *const refused[] = {"goto", "try", "class", "union", "enum", "template", "asm", "__asm__", NULL};
  const struct tokens *t = k->t;
  const int i = past_labels(k, begin);
  if (i >= k->body.end || token_is(t, i, "}"))
    return make(S_EMPTY, begin, i > begin ? i : begin + 1);
  if (token_is(t, i, "{")) {
    struct statement *s = block(k, i + 1, t->all[i].match);
    s->at = (struct range){begin, t->all[i].match + 1};
    return s;
  }
  struct statement *s;
  if (token_is(t, i, "if"))
    s = parse_if(k, i, scope_end);
  else if (token_is(t, i, "for") || token_is(t, i, "while") || token_is(t, i, "do") || token_is(t, i, "switch"))
    s = loop(k, i, scope_end);
  else if (kernel_collective(k, i) >= 0)
    s = collective(k, i, kernel_collective(k, i), scope_end);
  else if (kernel_barrier(k, i))
    s = make(S_BARRIER, i, simple_end(k, i));
  else if (token_is(t, i, "return"))
    s = make(S_RETURN, i, simple_end(k, i));
  else if (token_is(t, i, "break") || token_is(t, i, "continue"))
    s = make(token_is(t, i, "break") ? S_BREAK : S_CONTINUE, i, simple_end(k, i));
  else if (token_in(t, i, hoisted))
    s = make(S_HOISTED, i, simple_end(k, i));
  else if (token_in(t, i, refused))
    kernel_refuse(k, REFUSED_STATEMENT), s = make(S_EMPTY, i, k->body.end);
  else if (token_is(t, i, ";"))
    s = make(S_EMPTY, i, i + 1);
  else if ((s = declaration(k, i, scope_end)) == NULL)
    s = make(S_EXPRESSION, i, simple_end(k, i));
  if (i != begin)
    s->at.begin = begin;
  return s;
}

static void mark(struct statement *s);

static void mark_with(struct statement *s, struct statement *parts) {
  mark(parts);
  for (const struct statement *part = parts; part; part = part->next) {
    s->barrier |= part->barrier;
    s->warp |= part->warp;
    s->returns |= part->returns;
    s->breaks |= part->breaks;
    s->continues |= part->continues;
  }
}

static void mark(struct statement *s) {
  for (; s; s = s->next) {
    s->barrier = s->kind == S_BARRIER || s->kind == S_BLOCK_COLLECTIVE;
    s->warp = s->kind == S_WARP_COLLECTIVE;
    s->returns = s->kind == S_RETURN;
    s->breaks = s->kind == S_BREAK;
    s->continues = s->kind == S_CONTINUE;
    mark_with(s, s->child);
    mark_with(s, s->other);
    const bool loops = s->kind == S_FOR || s->kind == S_WHILE || s->kind == S_DO;
    s->breaks &= !loops && s->kind != S_SWITCH;
    s->continues &= !loops;
  }
}

static bool synchronizes(const struct statement *s, enum level level) {
  return s->barrier || (s->warp && level == LEVEL_WARP);
}

bool statement_structural(const struct statement *s, bool tail, enum level level) {
  return synchronizes(s, level) || s->breaks || s->continues || (s->returns && !tail);
}

bool list_tail(const struct statement *s, bool tail, enum level level) {
  for (const struct statement *after = s->next; after && tail; after = after->next)
    tail = !synchronizes(after, level) && (!synchronizes(s, level) || after->kind == S_EMPTY);
  return tail;
}

bool kernel_parse(struct kernel *k) {
  kernel_add_parameters(k);
  k->top = block(k, k->body.begin, k->body.end);
  if (k->why_not)
    return false;
  mark(k->top);
  kernel_resolve(k);
  return k->why_not == NOT_REFUSED;
}
