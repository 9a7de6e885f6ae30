// SPDX-License-Identifier: MIT
// cu2cpp --step TABLE: a call before each statement of each kernel and device function of the file (cudasim_step.h), so that
// `./ferry step` can record what the statement does. No line moves. The table says what the numbers in the calls mean:
//
//   F number line end kernel name parameters     a function whose statements are recorded
//   R line name reason                           one that is not: it runs as a single step
//   S id function kind line end column length loops names
//   V id names                                   the variables that a call before a closing brace sees
//
// with tabs between the columns, and commas within `parameters`, `loops` and `names`. Numbers are in the order of the source, a
// loop's step after its body's: of two lanes, the one with the smaller number is behind.
#include "sim/compile/step_hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compile/kernel.h"

struct insertion {
  size_t at;
  int number; // of two at one place, the first comes first
  char *text; // owned
};

// A function's statements while hooks are written.
struct stepper {
  const struct text *in;
  struct tokens *t;
  struct kernel *k;
  int function, next_id;
  struct insertion *insertions;
  int insertion_count, insertion_room;
  struct text table;
  bool refused; // the function has something that is not supported
};

// The loops around a statement, innermost first.
struct loops {
  int condition; // the statement's number
  const struct loops *outer;
};

// ---- places in the text --------------------------------------------------------------------------------------------------

static void insert(struct stepper *s, size_t at, const char *text) {
  if (s->insertion_count == s->insertion_room) {
    s->insertion_room = 2 * s->insertion_room + 64;
    s->insertions = realloc(s->insertions, (size_t)s->insertion_room * sizeof *s->insertions);
  }
  char *copy = strdup(text);
  if (s->insertions == NULL || copy == NULL)
    fail(input_name, "out of memory");
  s->insertions[s->insertion_count] = (struct insertion){at, s->insertion_count, copy};
  s->insertion_count++;
}

static int in_order(const void *a, const void *b) {
  const struct insertion *x = a, *y = b;
  return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->number - y->number;
}

static size_t begin_of(const struct stepper *s, int token) {
  return (size_t)(s->t->all[token].p - s->in->bytes);
}

static size_t end_of(const struct stepper *s, int token) {
  return begin_of(s, token) + (size_t)s->t->all[token].length;
}

// Before the statement at this token, and before a #pragma that belongs to it: at the end of the line above.
static size_t place_before(const struct stepper *s, int token) {
  size_t at = begin_of(s, token);
  if (token == 0 || s->t->all[token - 1].kind != TOKEN_DIRECTIVE)
    return at;
  for (; token > 0 && s->t->all[token - 1].kind == TOKEN_DIRECTIVE; token--)
    at = begin_of(s, token - 1);
  while (at > 0 && s->in->bytes[at - 1] != '\n')
    at--;
  return at > 0 ? at - 1 : 0;
}

static int line_of(const struct stepper *s, size_t at) {
  int line = 1;
  for (const char *p = s->in->bytes; (p = memchr(p, '\n', at - (size_t)(p - s->in->bytes))); p++)
    line++;
  return line;
}

// ---- the table -------------------------------------------------------------------------------------------------------------

static void append_word(struct stepper *s, int token, const char *before) {
  append_string(&s->table, before);
  append(&s->table, s->t->all[token].p, (size_t)s->t->all[token].length);
}

static void append_number(struct text *text, const char *before, long number) {
  char digits[32];
  snprintf(digits, sizeof digits, "%ld", number);
  append_string(text, before);
  append_string(text, digits);
}

static void append_loops(struct stepper *s, const struct loops *loops, const char *after) {
  if (loops == NULL)
    return;
  append_loops(s, loops->outer, ",");
  append_number(&s->table, "", loops->condition);
  append_string(&s->table, after);
}

static bool is_hidden(const struct stepper *s, const struct variable *v, int at) {
  for (int i = 0; i < s->k->variable_count; i++) {
    const struct variable *other = &s->k->variables[i];
    if (other->name > v->name && other->name < at && at < other->scope_end && token_same(s->t, other->name, v->name))
      return true;
  }
  return false;
}

// Whether code at this token can name the variable, which is one of a thread's own.
static bool is_visible(const struct stepper *s, const struct variable *v, int at, bool at_end) {
  const bool declared =
      v->parameter ||
      (v->in && (v->in->at.end <= at || (v->name < at && v->init.end <= at && v->declarator.end <= at)));
  const bool of_loop = at_end && v->in && token_is(s->t, v->in->at.begin - 1, "(") && v->scope_end <= at + 1;
  return declared && !of_loop && at < v->scope_end && !v->shared && !v->fixed && !v->block_group &&
         !is_hidden(s, v, at);
}

// Adds the visible variables to the call as arguments, and to the table by name.
static void append_variables(struct stepper *s, struct text *call, int at, bool at_end) {
  const char *comma = "";
  for (int i = 0; i < s->k->variable_count; i++) {
    const struct variable *v = &s->k->variables[i];
    if (!is_visible(s, v, at, at_end))
      continue;
    append_string(call, ", ");
    append(call, s->t->all[v->name].p, (size_t)s->t->all[v->name].length);
    append_word(s, v->name, comma);
    comma = ",";
  }
}

// ---- hooks -------------------------------------------------------------------------------------------------------------------

// A call for the statement of this kind whose text is from `first` to `last`, and its row of the table. Returns its number.
static int hook(struct stepper *s, size_t place, const char *kind, int first, int last, const struct loops *loops,
                const char *before, const char *after) {
  struct text call = {0};
  const size_t begin = begin_of(s, first), end = end_of(s, last);
  size_t column = 0;
  while (column < begin && s->in->bytes[begin - column - 1] != '\n')
    column++;
  const int id = s->next_id++;
  append_number(&s->table, "S\t", id);
  append_number(&s->table, "\t", s->function);
  append_string(&s->table, "\t");
  append_string(&s->table, kind);
  append_number(&s->table, "\t", line_of(s, begin));
  append_number(&s->table, "\t", line_of(s, end - 1));
  append_number(&s->table, "\t", (long)column);
  append_number(&s->table, "\t", (long)(end - begin));
  append_string(&s->table, "\t");
  append_loops(s, loops, "");
  append_string(&s->table, "\t");
  append_string(&call, before);
  append_number(&call, "::cudasim_step::at(", id);
  append_variables(s, &call, first, false);
  append_string(&s->table, "\n");
  append_string(&call, ")");
  append_string(&call, after);
  insert(s, place, call.bytes);
  free(call.bytes);
  return id;
}

// Before the brace that ends a block: what its last statement did to the variables that end there, too.
static void hook_end(struct stepper *s, const struct statement *last, int brace) {
  struct text call = {0};
  while (last && last->next)
    last = last->next;
  if (last == NULL || last->kind == S_RETURN || last->kind == S_BREAK || last->kind == S_CONTINUE)
    return;
  const int id = s->next_id++;
  append_number(&s->table, "V\t", id);
  append_string(&s->table, "\t");
  append_number(&call, "::cudasim_step::seen(", id);
  append_variables(s, &call, brace - 1, true);
  append_string(&s->table, "\n");
  append_string(&call, "); ");
  insert(s, begin_of(s, brace), call.bytes);
  free(call.bytes);
}

// A call with the array's name and the expression: `before`, the name, `after`.
static void hook_array(struct stepper *s, size_t place, const char *function, int name, const char *before,
                       const char *after) {
  const struct token *word = &s->t->all[name];
  struct text call = {0};
  append_string(&call, " ::cudasim_step::");
  append_string(&call, function);
  append_string(&call, "(\"");
  append(&call, word->p, (size_t)word->length);
  append_string(&call, "\", ");
  append_string(&call, before);
  append(&call, word->p, (size_t)word->length);
  append_string(&call, after);
  append_string(&call, ");");
  insert(s, place, call.bytes);
  free(call.bytes);
}

static void hook_shared(struct stepper *s, const struct statement *declaration) {
  for (int i = 0; i < s->k->variable_count; i++) {
    const struct variable *v = &s->k->variables[i];
    bool dynamic = false;
    if (v->in != declaration || !v->shared)
      continue;
    for (int at = declaration->at.begin; at < v->name; at++)
      dynamic |= token_is(s->t, at, "extern");
    hook_array(s, end_of(s, declaration->at.end - 1), dynamic ? "dynamic" : "shared", v->name, "",
               dynamic ? "[0]" : "");
  }
}

static void hook_list(struct stepper *s, const struct statement *first, const struct loops *loops);

// What an if or a loop does. Without braces it gets some.
static void hook_body(struct stepper *s, const struct statement *body, const struct loops *loops) {
  if (body == NULL)
    return;
  if (body->kind == S_BLOCK) {
    hook_list(s, body->child, loops);
    hook_end(s, body->child, body->at.end - 1);
    return;
  }
  struct statement alone = *body;
  alone.next = NULL;
  insert(s, place_before(s, body->at.begin), " { ");
  hook_list(s, &alone, loops);
  insert(s, end_of(s, body->at.end - 1), " }");
}

static int past_labels(const struct tokens *t, int i) {
  for (;;)
    if (token_is(t, i, "case")) {
      while (!token_is(t, i, ":"))
        i++;
      i = token_next(t, i);
    } else if (token_is(t, i, "default")) {
      i = token_next(t, token_next(t, i));
    } else {
      return i;
    }
}

static void hook_condition(struct stepper *s, struct range condition, const char *kind, const struct loops *loops) {
  hook(s, begin_of(s, condition.begin), kind, condition.begin, condition.end - 1, loops, "(", ", (");
  insert(s, end_of(s, condition.end - 1), "))");
}

static void hook_loop(struct stepper *s, const struct statement *loop, int first, const struct loops *outer) {
  const struct tokens *t = s->t;
  const struct loops inner = {s->next_id, outer};
  const bool empty = loop->condition.begin >= loop->condition.end;
  if (loop->kind == S_DO) {
    insert(s, end_of(s, first), " {");
    hook(s, end_of(s, first), "again", first, first, &inner, " ", ";");
    hook_body(s, loop->child, &inner);
    insert(s, end_of(s, loop->child->at.end - 1), " }");
    hook_condition(s, loop->condition, "condition", &inner);
    return;
  }
  if (!empty && (known_type(t, loop->condition.begin) || token_is(t, loop->condition.begin, "auto")))
    s->refused = true; // while (int x = f())
  else if (empty)
    hook(s, end_of(s, loop->init->at.end - 1), "condition", first, first, &inner, " (", ", true)");
  else
    hook_condition(s, loop->condition, "condition", &inner);
  hook_body(s, loop->child, &inner);
  if (loop->step.begin < loop->step.end)
    hook(s, begin_of(s, loop->step.begin), "step", loop->step.begin, loop->step.end - 1, &inner, "", ", ");
}

static const char *kind_of(const struct statement *s) {
  static const char *const names[] = {[S_IF] = "if",
                                      [S_FOR] = "for",
                                      [S_WHILE] = "enter",
                                      [S_DO] = "enter",
                                      [S_SWITCH] = "switch",
                                      [S_BARRIER] = "barrier",
                                      [S_RETURN] = "return",
                                      [S_BREAK] = "break",
                                      [S_DECLARATION] = "declaration",
                                      [S_CONTINUE] = "continue"};
  return s->kind < sizeof names / sizeof names[0] && names[s->kind] ? names[s->kind] : "expression";
}

static void hook_statement(struct stepper *s, const struct statement *statement, const struct loops *loops) {
  const int first = past_labels(s->t, statement->at.begin);
  int last = statement->at.end - 1; // of a compound statement, the end of its head
  if (statement->kind == S_IF || statement->kind == S_SWITCH || statement->kind == S_WHILE)
    last = statement->condition.end;
  else if (statement->kind == S_FOR)
    last = statement->init->at.end - 1;
  else if (statement->kind == S_DO)
    last = first;
  hook(s, place_before(s, first), kind_of(statement), first, last > first ? last : first, loops, "", "; ");
  if (statement->kind == S_IF || statement->kind == S_SWITCH) {
    hook_body(s, statement->child, loops);
    hook_body(s, statement->other, loops);
  } else if (statement->kind == S_FOR || statement->kind == S_WHILE || statement->kind == S_DO) {
    hook_loop(s, statement, first, loops);
  }
}

static void hook_list(struct stepper *s, const struct statement *first, const struct loops *loops) {
  for (const struct statement *one = first; one; one = one->next)
    if (one->kind == S_BLOCK) {
      hook_list(s, one->child, loops);
      hook_end(s, one->child, one->at.end - 1);
    } else if (one->kind == S_HOISTED) {
      hook_shared(s, one);
    } else if (one->kind != S_EMPTY) {
      hook_statement(s, one, loops);
    }
}

// ---- functions -----------------------------------------------------------------------------------------------------------------

// The name, parameters and body of the function whose __global__ or __device__ is at i; false: it is no definition, a lambda, or
// constexpr.
static bool find_function(const struct tokens *t, int i, struct kernel *f) {
  static const char *const stops[] = {";", "{", "}", "=", "__global__", "constexpr", NULL};
  int at = function_parameters(t, i, stops);
  *f = (struct kernel){.t = t, .names_only = true};
  if (at < 0)
    return false;
  f->name = token_before(t, at);
  if (t->all[at].match < at || t->all[f->name].kind != TOKEN_WORD)
    return false;
  f->parameters = (struct range){at + 1, t->all[at].match};
  int brace = token_next(t, t->all[at].match);
  while (token_is(t, brace, "const") || token_is(t, brace, "noexcept") || token_is(t, brace, "override"))
    brace = token_next(t, brace);
  if (!token_is(t, brace, "{") || t->all[brace].match < brace)
    return false;
  f->body = (struct range){brace + 1, t->all[brace].match};
  for (at = token_before(t, i); at >= 0 && !token_is(t, at, ";") && !token_is(t, at, "}") && !token_is(t, at, "{");
       at = token_before(t, at)) {
    if (token_is(t, at, "constexpr") || token_is(t, at, "]"))
      return false;
    if (token_is(t, at, "template"))
      f->template_parameters = (struct range){at + 1, i};
  }
  return true;
}

static void append_refusal(struct stepper *s, const char *why) {
  append_number(&s->table, "R\t", line_of(s, begin_of(s, s->k->name)));
  append_word(s, s->k->name, "\t");
  append_string(&s->table, "\t");
  append_string(&s->table, why);
  append_string(&s->table, "\n");
}

static void undo(struct stepper *s, const struct stepper *to) {
  while (s->insertion_count > to->insertion_count)
    free(s->insertions[--s->insertion_count].text);
  s->next_id = to->next_id;
  s->table.length = to->table.length;
  s->table.bytes[s->table.length] = '\0';
}

// A shared array declared outside of functions, `extern __shared__ int name[];`, in each function whose body names it.
static void hook_file_arrays(struct stepper *s) {
  const struct tokens *t = s->t;
  for (int i = 0; i < t->main_count; i++) {
    if (!token_is(t, i, "__shared__") || t->all[i].within >= 0 || !token_is(t, token_before(t, i), "extern"))
      continue;
    int name = i;
    while (!token_is(t, token_next(t, name), "[") && !token_is(t, name, ";"))
      name = token_next(t, name);
    bool used = false;
    for (int at = s->k->body.begin; at < s->k->body.end && !used; at++)
      used = token_same(t, at, name);
    if (used) // by its address: the simulator's pointer of that name is not read
      hook_array(s, end_of(s, s->k->body.begin - 1), "dynamic", name, "*(decltype(&", "[0]))cudasim_dynamic_shared()");
  }
}

static void hook_function(struct stepper *s, int qualifier) {
  const struct stepper before = *s;
  struct text frame = {0};
  s->refused = false;
  if (!kernel_parse(s->k)) {
    append_refusal(s, refusal_text(s->k->why_not));
    return;
  }
  append_number(&s->table, "F\t", s->function);
  append_number(&s->table, "\t", line_of(s, begin_of(s, qualifier)));
  append_number(&s->table, "\t", line_of(s, begin_of(s, s->k->body.end)));
  append_string(&s->table, token_is(s->t, qualifier, "__global__") ? "\t1" : "\t0");
  append_word(s, s->k->name, "\t");
  append_string(&s->table, "\t");
  append_number(&frame, " ::cudasim_step::frame cudasim_step_frame(", s->function);
  append_variables(s, &frame, s->k->body.begin, false);
  append_string(&s->table, "\n");
  append_string(&frame, ");");
  insert(s, end_of(s, s->k->body.begin - 1), frame.bytes);
  free(frame.bytes);
  hook_file_arrays(s);
  hook_list(s, s->k->top->child, NULL);
  hook_end(s, s->k->top->child, s->k->body.end);
  if (s->refused) {
    undo(s, &before);
    append_refusal(s, "a loop whose condition declares a variable");
  } else {
    s->function++;
  }
}

static void list_members(struct stepper *s, int i) {
  struct text list = {0};
  const size_t at = step_struct_members(s->t, i, &list);
  if (at > 0)
    insert(s, begin_of(s, 0) + at, list.bytes);
  free(list.bytes);
}

static void write_table(const struct stepper *s, const char *path) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(s->table.bytes, 1, s->table.length, file) != s->table.length || fclose(file) != 0)
    fail(path, "cannot be written");
}

void write_step_hooks(const struct text *in, struct text *out, const char *table) {
  struct tokens t = {0};
  struct kernel k;
  struct stepper s = {.in = in, .t = &t, .k = &k, .next_id = 1};
  int body_end = 0;
  append_string(&s.table, "");
  tokens_read(&t, in, true);
  for (int i = 0; i < t.main_count; i++) {
    if (t.all[i].kind == TOKEN_WORD && i >= body_end)
      list_members(&s, i);
    if (t.all[i].kind != TOKEN_WORD || i < body_end ||
        !(token_is(&t, i, "__global__") || token_is(&t, i, "__device__")) || !find_function(&t, i, &k))
      continue;
    body_end = k.body.end;
    hook_function(&s, i);
    kernel_free(&k);
  }
  write_table(&s, table);
  qsort(s.insertions, (size_t)s.insertion_count, sizeof *s.insertions, in_order);
  size_t at = 0;
  for (int i = 0; i < s.insertion_count; i++) {
    append(out, in->bytes + at, s.insertions[i].at - at);
    append_string(out, s.insertions[i].text);
    at = s.insertions[i].at;
    free(s.insertions[i].text);
  }
  append(out, in->bytes + at, in->length - at);
  free(s.insertions);
  free(s.table.bytes);
  tokens_free(&t);
}
