// SPDX-License-Identifier: MIT
// Work-item loops (PoCL: Jääskeläinen et al. 2015, see regions.c): the loop over a block's threads for one parallel region, with the
// variables that the region needs: declared in the loop, rematerialized, or taken from context arrays.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compile/workitem_loops.h"

enum { MAX_CONTEXT_BYTES = 640 }; // of one thread; a block's are on the stack, 1024 times as much

// ---- places in the source ------------------------------------------------------------------------------------------------

// Reads on up to `place`: which line of which file that is.
struct spot spot_of(const struct writer *w, size_t place) {
  const struct text *in = w->in;
  struct spot s = w->spot;
  for (size_t i = s.place; i < place; i++) {
    if (in->bytes[i] != '\n')
      continue;
    s.line++;
    s.begin = i + 1;
    size_t number;
    int past = 0;
    if (w->marked && in->bytes[i + 1] == '#' &&
        (sscanf(in->bytes + i + 1, "# %zu %n", &number, &past) == 1 ||
         sscanf(in->bytes + i + 1, "#line %zu %n", &number, &past) == 1) &&
        past > 0 && in->bytes[i + 1 + (size_t)past] == '"') {
      s.line = number - 1;
      s.file = i + 1 + (size_t)past;
      s.file_length = 2 + strcspn(in->bytes + s.file + 1, "\"");
    }
  }
  s.place = place;
  return s;
}

// Goes on, on a line of its own, as if the compiler were at `at`, up to its column.
void move_to(const struct writer *w, const char *at, bool column) {
  const struct spot s = spot_of(w, (size_t)(at - w->in->bytes));
  char start[64];
  snprintf(start, sizeof start, w->program ? "\n# %zu " : "\n#line %zu ", s.line);
  append_string(w->out, start);
  if (s.file_length)
    append(w->out, w->in->bytes + s.file, s.file_length);
  else
    append_quoted(w->out, input_name);
  append_string(w->out, "\n");
  for (size_t i = s.begin; i < s.place && column; i++)
    append_string(w->out, " ");
}

static const char *end_of(const struct tokens *t, int last) {
  return t->all[last].p + t->all[last].length;
}

void write_range(const struct writer *w, struct range r) {
  const struct tokens *t = w->k->t;
  if (r.begin < r.end)
    append(w->out, t->all[r.begin].p, (size_t)(end_of(t, r.end - 1) - t->all[r.begin].p));
  append_string(w->out, " ");
}

// A name, with what is put behind it.
void write_name(const struct writer *w, int token, const char *behind) {
  append(w->out, w->k->t->all[token].p, (size_t)w->k->t->all[token].length);
  append_string(w->out, behind);
}

// ---- variables -----------------------------------------------------------------------------------------------------------

static void write_type(const struct writer *w, const struct variable *v, bool constant) {
  const struct tokens *t = w->k->t;
  for (int i = v->specifiers.begin; i < v->specifiers.end; i++)
    if (constant || v->pointer || !token_is(t, i, "const"))
      write_range(w, (struct range){i, i + 1});
}

// "*name" without a const that would be the variable's own.
static void write_marks(const struct writer *w, const struct variable *v) {
  const struct tokens *t = w->k->t;
  for (int i = v->declarator.begin; i < v->name; i++)
    if (token_is(t, i, "*"))
      append_string(w->out, "*");
}

// The number at i, or that of the constant there; -1: it is something else.
static long number_at(const struct kernel *k, int i) {
  const struct token *number = &k->t->all[i];
  long value = -1;
  if (number->kind == TOKEN_NUMBER)
    return strtol(number->p, NULL, 0);
  if (number->kind == TOKEN_WORD && !kernel_variable(k, i) && !kernel_template_parameter(k, i) &&
      known_constant(k->t, i, &value))
    return value;
  return -1;
}

// A size in brackets at i, or -1.
static long size_at(const struct kernel *k, int i) {
  return token_is(k->t, i + 2, "]") ? number_at(k, i + 1) : -1;
}

// The bytes of a variable, at most; 0: that cannot be instrumented, or they are too many.
static int bytes_of(const struct kernel *k, const struct variable *v) {
  static const char *const small[] = {"float", "int", "unsigned", "bool", "char", "short", "uint32_t", "int32_t", NULL};
  const int last = v->specifiers.end - 1;
  long bytes = v->pointer ? 8 : token_in(k->t, last, small) && !token_is(k->t, last - 1, "long") ? 4 : 32;
  for (int i = v->name + 1; i < v->declarator.end; i++) {
    const long size = token_is(k->t, i, "[") ? size_at(k, i) : 1;
    if (size <= 0 || size > MAX_CONTEXT_BYTES || bytes * size > MAX_CONTEXT_BYTES)
      return 0;
    bytes *= size;
  }
  return (int)bytes;
}

// A type of which there can be an array.
static bool can_have_context(const struct kernel *k, const struct variable *v) {
  const struct tokens *t = k->t;
  bool aligned = true, any = false; // an array's elements are aligned as it is where they are as large
  for (int i = v->specifiers.begin; i < v->specifiers.end; i++) {
    if (token_is(t, i, "auto") && !v->pointer)
      return false;
    any |= token_is(t, i, "__align__") || token_is(t, i, "alignas") || token_is(t, i, "__attribute__");
    aligned &= !token_is(t, i, "alignas") && !token_is(t, i, "__attribute__") &&
               (!token_is(t, i, "__align__") || (token_is(t, i + 2, "16") && v->array && bytes_of(k, v) % 16 == 0));
  }
  return (!any || aligned) && kernel_plain_type(k, v);
}

void declare_context_array(struct writer *w, struct variable *v) {
  const int bytes = bytes_of(w->k, v);
  w->context_bytes += v->class == V_CONTEXT ? bytes : 0;
  if (v->reference || bytes == 0 || w->context_bytes > MAX_CONTEXT_BYTES || !can_have_context(w->k, v)) {
    w->failed = REFUSED_VARIABLE_CONTEXT;
    return;
  }
  write_type(w, v, v->pointer);
  write_marks(w, v);
  write_name(w, v->name, v->class == V_CONTEXT ? "_cudasim[::cudasim::MOST_THREADS]" : "_cudasim[::cudasim::WARP]");
  write_range(w, (struct range){v->name + 1, v->declarator.end});
  char limit[64];
  snprintf(limit, sizeof limit, "_cudasim[0]) <= %d, \"\"); ", bytes); // a template's type may be anything
  append_string(w->out, "; static_assert(sizeof(");
  write_name(w, v->name, limit);
}

static void refer_to(const struct writer *w, const struct variable *v) {
  append_string(w->out, "auto &");
  write_name(w, v->name, " = ");
  write_name(w, v->name, v->class == V_CONTEXT ? "_cudasim[cudasim_t]; " : "_cudasim[cudasim_l]; ");
}

// In its own declaration's place.
static void begin_context(const struct writer *w, const struct variable *v) {
  refer_to(w, v);
  if (v->init_kind == 0)
    return;
  if (v->array) {
    append_string(w->out, "{ ");
    write_type(w, v, false);
    write_marks(w, v);
    write_name(w, v->name, "_first");
    write_range(w, (struct range){v->name + 1, v->declarator.end});
    append_string(w->out, v->init_kind == '=' ? "= " : "");
    write_range(w, v->init);
    append_string(w->out, "; __builtin_memcpy(&");
    write_name(w, v->name, ", &");
    write_name(w, v->name, "_first, sizeof ");
    write_name(w, v->name, "); } ");
    return;
  }
  write_name(w, v->name, " = ");
  write_range(w, v->init);
  append_string(w->out, "; ");
}

void declare_plainly(const struct writer *w, const struct variable *v) {
  write_range(w, v->specifiers);
  write_range(w, v->declarator);
  if (v->init_kind) {
    append_string(w->out, v->init_kind == '=' ? "= " : "");
    write_range(w, v->init);
  }
  append_string(w->out, "; ");
}

void write_declaration(const struct writer *w, const struct statement *s) {
  for (int i = 0; i < w->k->variable_count; i++) {
    const struct variable *v = &w->k->variables[i];
    if (v->in != s || v->class == V_UNIFORM)
      continue;
    move_to(w, w->k->t->all[v->declarator.begin].p, false);
    if (v->class == V_CONTEXT || v->class == V_LANE_CONTEXT)
      begin_context(w, v);
    else
      declare_plainly(w, v);
  }
}

// ---- loops over the threads ----------------------------------------------------------------------------------------------

// Of loops that tell of each thread, in either order. Elsewhere the counters are the threads' places, of which the compiler knows more.
static void open_told_rows(const struct writer *w) {
  append_string(w->out, "\n{ for (int cudasim_turn = 0, cudasim_rows = (int)(cudasim_height * cudasim_depth); "
                        "cudasim_turn < cudasim_rows; cudasim_turn++) { "
                        "const int cudasim_place = cudasim_backwards ? cudasim_rows - 1 - cudasim_turn : cudasim_turn; "
                        "[[maybe_unused]] const unsigned int cudasim_y = (unsigned int)cudasim_place % cudasim_height, "
                        "cudasim_z = (unsigned int)cudasim_place / cudasim_height; "
                        "[[maybe_unused]] const int cudasim_row = cudasim_place * cudasim_width - cudasim_first; ");
}

static void open_rows(const struct writer *w) {
  if (w->level == LEVEL_WARP)
    append_string(w->out, "\n{ ");
  else if (w->instrumented)
    open_told_rows(w);
  else
    append_string(w->out, "\n{ int cudasim_row = -cudasim_first; for (unsigned int cudasim_z = 0; cudasim_z < "
                          "cudasim_depth; cudasim_z++) for (unsigned int cudasim_y = 0; cudasim_y < cudasim_height; "
                          "cudasim_y++, cudasim_row += cudasim_width) ");
}

static void close_rows(const struct writer *w) {
  append_string(w->out, w->instrumented && w->level == LEVEL_BLOCK ? " } }" : " }");
}

// A class may have operators that read memory.
static bool is_known(const struct kernel *k, const struct variable *v) {
  for (int i = v->specifiers.begin; i < v->specifiers.end; i++)
    if (!token_is(k->t, i, "const") && !token_is(k->t, i, "unsigned") && !known_type(k->t, i))
      return v->result;
  return true;
}

static bool is_quiet_word(const struct kernel *k, int i) {
  static const char *const words[] = {"threadIdx", "blockIdx", "blockDim",    "gridDim", "unsigned",
                                      "const",     "auto",     "static_cast", NULL};
  const struct tokens *t = k->t;
  const struct variable *v = kernel_variable(k, i);
  if (v)
    return is_known(k, v) && !v->shared && !v->reference && !v->fixed && !v->addressed &&
           !(token_is(t, i + 1, "[") && (v->pointer || !v->array));
  if (token_is(t, i - 1, ".")) // a member, which may be a function
    return !token_is(t, i + 1, "(") && !token_is(t, i + 1, "<");
  return token_in(t, i, words) || known_type(t, i) || known_math(t, i);
}

bool is_quiet(const struct kernel *k, struct range where) {
  const struct tokens *t = k->t;
  for (int i = where.begin; i < where.end; i++) {
    const enum token_kind kind = t->all[i].kind;
    if (kind == TOKEN_DIRECTIVE || kind == TOKEN_LITERAL || (kind == TOKEN_WORD && !is_quiet_word(k, i)) ||
        (kind == TOKEN_SIGN &&
         ((token_is(t, i, "*") && kernel_unary(t, i)) || token_is(t, i, "&") || token_is(t, i, "->"))))
      return false;
  }
  return true;
}

static void open_row(const struct writer *w, const char *from, const char *to, bool quiet) {
  char begin[600];
  const char *lane = w->level == LEVEL_WARP ? "[[maybe_unused]] const int cudasim_l = cudasim_x - cudasim_from; " : "";
  if (w->instrumented)
    snprintf(begin, sizeof begin,
             "for (int cudasim_step = %s; cudasim_step < %s; cudasim_step++) { "
             "const int cudasim_x = cudasim_backwards ? %s + %s - 1 - cudasim_step : cudasim_step; "
             "[[maybe_unused]] const int cudasim_t = cudasim_row + cudasim_x; %s" WRITE_PLACE "%s{ ",
             from, to, from, to, lane, quiet ? "" : "const ::cudasim::running cudasim_running(cudasim_t, threadIdx); ");
  else
    snprintf(begin, sizeof begin,
             "for (int cudasim_x = %s; cudasim_x < %s; cudasim_x++) { "
             "[[maybe_unused]] const int cudasim_t = cudasim_row + cudasim_x; %s" WRITE_PLACE "%s{ ",
             from, to, lane,
             w->k->reads_thread_index ? "new (cudasim_room) cudasim_index(threadIdx.x, threadIdx.y, threadIdx.z); "
                                      : "");
  append_string(w->out, begin);
}

void open_loop(struct writer *w, bool quiet) {
  const bool warp = w->level == LEVEL_WARP;
  open_rows(w);
  open_row(w, warp ? "cudasim_from" : "cudasim_first", warp ? "cudasim_to" : "cudasim_end", quiet);
}

static void close_row(struct writer *w, bool returns) {
  char end[64];
  snprintf(end, sizeof end, returns ? " } cudasim_next_%d: __attribute__((unused)); }" : " } }", w->regions);
  append_string(w->out, end);
  w->regions++;
}

void close_loop(struct writer *w) {
  close_row(w, false);
  close_rows(w);
}

enum { MOST_UNROLLED = 8, LONGEST_UNROLLED = 100 }; // steps, tokens

// How often `for (int k = 0; k < 32; k += 8)` goes round, where that is a small number and its statement is short; or 0.
static int small_count(const struct kernel *k, const struct statement *s) {
  static const char *const loops[] = {"for", "while", "do", NULL};
  const struct tokens *t = k->t;
  const struct variable *v = s->kind == S_FOR ? kernel_variable(k, s->condition.begin) : NULL;
  if (v == NULL || v->in != s->init || v->init.end - v->init.begin != 1 || s->at.end - s->at.begin > LONGEST_UNROLLED ||
      s->condition.end - s->condition.begin != 3 || !token_is(t, s->condition.begin + 1, "<"))
    return 0;
  for (int i = s->at.begin + 1; i < s->at.end; i++)
    if (token_in(t, i, loops))
      return 0;
  const int step_tokens = s->step.end - s->step.begin;
  const bool one = step_tokens == 2 && (token_is(t, s->step.begin, "++") || token_is(t, s->step.begin + 1, "++"));
  const bool more = step_tokens == 3 && token_is(t, s->step.begin + 1, "+=");
  const long from = number_at(k, v->init.begin), to = number_at(k, s->condition.end - 1);
  const long by = one ? 1 : more ? number_at(k, s->step.end - 1) : 0;
  if (from < 0 || by < 1 || to <= from || to - from > by * MOST_UNROLLED)
    return 0;
  return (int)((to - from + by - 1) / by);
}

// The words of a statement; a return goes on with the next thread. The few steps of a loop of each thread are written out by the
// compiler, so that the loop over the threads is the inner one: neighbors read neighbors.
void write_statement(const struct writer *w, const struct statement *s) {
  const struct tokens *t = w->k->t;
  const int steps = small_count(w->k, s);
  char unroll[64];
  snprintf(unroll, sizeof unroll, "\n#pragma GCC unroll %d", steps);
  append_string(w->out, steps > 0 ? unroll : "");
  move_to(w, t->all[s->at.begin].p, false);
  int from = s->at.begin;
  for (int i = s->at.begin; i < s->at.end; i++) {
    if (!token_is(t, i, "return"))
      continue;
    char jump[64];
    append(w->out, t->all[from].p, (size_t)(t->all[i].p - t->all[from].p));
    snprintf(jump, sizeof jump, "goto cudasim_next_%d", w->regions);
    append_string(w->out, jump);
    from = i + 1;
    if (!token_is(t, from, ";"))
      return;
  }
  write_range(w, (struct range){from, s->at.end});
}

static bool is_kept(const struct variable *v) {
  return v->class == V_REMATERIALIZED || v->class == V_CONTEXT || v->class == V_LANE_CONTEXT || v->class == V_RESULT;
}

// Which variables from before token `from` something needs that mentions those marked already. What computes them again is of that
// token's line: to who looks at lines, it is done there.
static void declare_needed(const struct writer *w, bool *needed, int from) {
  const struct kernel *k = w->k;
  for (int i = k->variable_count - 1; i >= 0; i--) {
    const struct variable *v = &k->variables[i];
    const bool before = is_kept(v) && (v->name < from || v->parameter);
    for (int j = i + 1; j < k->variable_count && before; j++)
      needed[i] |= needed[j] && (k->variables[j].class == V_REMATERIALIZED || k->variables[j].class == V_RESULT) &&
                   kernel_mentions(k, k->variables[j].init, v);
    needed[i] &= before;
  }
  for (int i = 0; i < k->variable_count; i++) {
    const struct variable *v = &k->variables[i];
    if (!needed[i])
      continue;
    append_string(w->out, "\n");
    if (v->class == V_CONTEXT || v->class == V_LANE_CONTEXT) {
      refer_to(w, v);
    } else if (v->class == V_RESULT) {
      write_result(w, v);
    } else {
      move_to(w, k->t->all[from].p, false);
      declare_plainly(w, v);
    }
  }
}

// Of statements from `first` to before `end`: which variables of before they need, each declared after those it is made of.
void write_needed(const struct writer *w, const struct statement *first, const struct statement *end) {
  bool needed[MAX_VARIABLES] = {false};
  for (int i = 0; i < w->k->variable_count; i++)
    for (const struct statement *s = first; s != end; s = s->next)
      needed[i] |= kernel_mentions(w->k, s->at, &w->k->variables[i]);
  declare_needed(w, needed, first->at.begin);
}

void write_needed_by_conditions(const struct writer *w, const struct statement *first, int before) {
  bool needed[MAX_VARIABLES] = {false};
  for (int i = 0; i < w->k->variable_count; i++)
    for (const struct statement *s = first; s && s->at.begin < before; s = s->next)
      needed[i] |= kernel_mentions(w->k, s->kind == S_IF ? s->condition : s->at, &w->k->variables[i]);
  declare_needed(w, needed, first->at.begin);
}

// Something that each thread has for itself.
static bool declares(const struct kernel *k, const struct statement *s) {
  for (int i = 0; i < k->variable_count; i++)
    if (k->variables[i].in == s && k->variables[i].class != V_UNIFORM)
      return true;
  return false;
}

void write_region_loop(struct writer *w, const struct statement *first, const struct statement *end, bool last) {
  bool returns = false, any = false;
  struct range_split g;
  const bool range_split = w->level == LEVEL_BLOCK && find_range_split(w->k, first, end, &g);
  bool quiet = true;
  for (const struct statement *s = first; s != end; s = s->next) {
    returns |= s->returns && !s->uniform && s->kind != S_HOISTED;
    if (s->kind == S_HOISTED || s->kind == S_EMPTY || s->uniform || (s->kind == S_DECLARATION && !declares(w->k, s)))
      continue;
    any = true;
    quiet &= is_quiet(w->k, s->at);
  }
  if (!any)
    return;
  if (returns && !last)
    w->failed = REFUSED_EARLY_RETURN;
  open_rows(w);
  if (range_split)
    open_range_split(w, first, &g);
  const bool part = range_split || w->level == LEVEL_WARP;
  open_row(w, part ? "cudasim_from" : "cudasim_first", part ? "cudasim_to" : "cudasim_end", quiet);
  write_needed(w, first, end);
  for (const struct statement *s = first; s != end; s = s->next) {
    if (s->kind == S_DECLARATION)
      write_declaration(w, s);
    else if (range_split && s->kind == S_IF && s->at.begin < g.before)
      write_split_if(w, s, &g);
    else if (s->kind != S_HOISTED && s->kind != S_EMPTY)
      write_statement(w, s);
  }
  close_row(w, returns);
  if (range_split)
    append_string(w->out, g.interval ? " } }" : " if (cudasim_to == cudasim_end) break; } }");
  close_rows(w);
  w->range_split |= range_split && !g.single;
}
