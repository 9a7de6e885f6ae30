// SPDX-License-Identifier: MIT
// The calls that inline.c must name or inline: warp functions, and functions that contain a barrier or a warp function.
#include <stdlib.h>
#include <string.h>

#include "sim/compile/inline.h"

// ---- functions that threads wait in --------------------------------------------------------------------------------------

struct warp_function {
  const char *name, *inside; // in the text, and in what is written
  int least, most;           // arguments behind the mask
  bool mask;
};

static const struct warp_function warp_functions[] = {
    {"__shfl_sync", "cudasim_warp_shfl", 2, 3, true},
    {"__shfl_up_sync", "cudasim_warp_shfl_up", 2, 3, true},
    {"__shfl_down_sync", "cudasim_warp_shfl_down", 2, 3, true},
    {"__shfl_xor_sync", "cudasim_warp_shfl_xor", 2, 3, true},
    {"__ballot_sync", "cudasim_warp_ballot", 1, 1, true},
    {"__any_sync", "cudasim_warp_any", 1, 1, true},
    {"__all_sync", "cudasim_warp_all", 1, 1, true},
    {"__activemask", "cudasim_warp_active", 0, 0, false},
    {"__syncthreads_count", "cudasim_vote_count", 1, 1, false},
    {"__syncthreads_and", "cudasim_vote_and", 1, 1, false},
    {"__syncthreads_or", "cudasim_vote_or", 1, 1, false},
};

static const struct warp_function *warp_function_of(const struct tokens *t, int i) {
  for (size_t f = 0; f < sizeof warp_functions / sizeof *warp_functions; f++)
    if (token_is(t, i, warp_functions[f].name) && !token_declared(t, i))
      return &warp_functions[f];
  return NULL;
}

// The bracket of a call whose name is at i, or -1.
int inline_bracket(const struct tokens *t, int i) {
  int next = token_next(t, i);
  if (t->all[i].kind != TOKEN_WORD || known_keyword(t, i))
    return -1;
  if (token_is(t, next, "<"))
    next = token_past_angles(t, next);
  return token_is(t, next, "(") && t->all[next].match > next ? next : -1;
}

// A call of a function of the text that waits, and that can only be split when its body stands here.
static bool is_waiting_call(const struct scope *s, int i) {
  const struct tokens *t = s->k->t;
  struct call_effects effects;
  const int before = token_before(t, i);
  if (inline_bracket(t, i) < 0 || kernel_variable(s->k, i) || token_is(t, before, ".") || token_is(t, before, "->") ||
      token_is(t, before, "::") || known_atomic(t, i) || known_wait(t, i))
    return false;
  return known_function(t, i) >= 0 && !effects_of_call(t, i, &effects);
}

bool inline_needs_name(const struct scope *s, int i) {
  return (warp_function_of(s->k->t, i) && inline_bracket(s->k->t, i) >= 0) || is_waiting_call(s, i);
}

bool inline_has_calls(const struct scope *s, struct range e) {
  for (int i = e.begin; i < e.end; i++)
    if (s->k->t->all[i].kind == TOKEN_WORD && (inline_needs_name(s, i) || token_is(s->k->t, i, "__syncwarp")))
      return true;
  return false;
}

// ---- calls ---------------------------------------------------------------------------------------------------------------

int inline_arguments(const struct tokens *t, int open, struct range *arguments) {
  const int close = t->all[open].match;
  int count = 0;
  for (int begin = open + 1; begin < close && count < MAX_ARGUMENTS;) {
    const int end = token_argument_end(t, begin, close);
    arguments[count++] = (struct range){begin, end};
    begin = end + 1;
  }
  return count;
}

// All lanes, as a number, a constant, or a variable that is set to it once.
bool inline_every_lane(const struct scope *s, struct range e) {
  const struct tokens *t = s->k->t;
  static const char *const every[] = {"0xffffffff",  "0xffffffffu",  "0xffffffffU",   "0xFFFFFFFF",  "0xFFFFFFFFu",
                                      "0xFFFFFFFFU", "0xffffffffUL", "0xffffffffull", "4294967295u", "UINT_MAX",
                                      NULL};
  long value;
  e = token_within_brackets(t, e);
  if (e.end - e.begin == 2)
    return (token_is(t, e.begin, "~") &&
            (token_is(t, e.begin + 1, "0") || token_is(t, e.begin + 1, "0u") || token_is(t, e.begin + 1, "0U"))) ||
           (token_is(t, e.begin, "-") && token_is(t, e.begin + 1, "1"));
  if (e.end - e.begin != 1)
    return false;
  const struct variable *v = kernel_variable(s->k, e.begin);
  if (v == NULL)
    return token_in(t, e.begin, every) ||
           (t->all[e.begin].kind == TOKEN_WORD && known_constant(t, e.begin, &value) && value == 0xffffffffl);
  if (s->instead[v - s->k->variables]) {
    const char *instead = s->instead[v - s->k->variables];
    const struct token one = {.kind = TOKEN_NUMBER, .p = instead, .length = (int)strlen(instead)};
    const struct tokens alone = {.all = (struct token *)&one, .count = 1};
    return token_in(&alone, 0, every) || strcmp(instead, "~ 0u") == 0;
  }
  return !v->parameter && v->init_kind == '=' && !kernel_modifies(s->k, v) && v->init.end - v->init.begin == 1 &&
         inline_every_lane(s, v->init);
}

// The calls before a warp function's value are its other arguments: numbers.
static void write_warp_call(struct inliner *f, const struct scope *s, int name, struct text *expression) {
  const struct tokens *t = s->k->t;
  const struct warp_function *w = warp_function_of(t, name);
  struct range arguments[MAX_ARGUMENTS];
  const int count = inline_arguments(t, inline_bracket(t, name), arguments), first = w->mask ? 1 : 0;
  if (count < first + w->least || count > first + w->most) {
    inline_refuse(f, name, REFUSED_WARP_ARGUMENTS);
    return;
  }
  if (w->mask && !inline_every_lane(s, arguments[0])) {
    inline_refuse(f, name, REFUSED_PARTIAL_MASK);
    return;
  }
  char *value = count > first ? inline_text(f, s, arguments[first]) : inline_copy("", 0);
  const int number = ++f->numbers;
  struct text others = {0};
  append(&others, "", 0);
  for (int i = first + 1; i < count; i++) {
    char *other = inline_text(f, s, arguments[i]);
    const int own = ++f->numbers;
    inline_number(f->out, "const int cudasim_a%d = static_cast<int>(", own);
    append_string(f->out, other);
    append_string(f->out, "); ");
    inline_number(&others, ", cudasim_a%d", own);
    free(other);
  }
  inline_number(f->out, "auto cudasim_r%d = ", number);
  append_string(f->out, w->inside);
  append_string(f->out, "(");
  append_string(f->out, value);
  append_string(f->out, others.bytes);
  append_string(f->out, "); ");
  inline_number(expression, "cudasim_r%d", number);
  free(value);
  free(others.bytes);
}

// The words of a function's result before its name.
static struct range result_type(const struct tokens *t, int name) {
  static const char *const ends[] = {";", "}", "{", ">", ")", ":", "\"C\"", NULL};
  int begin = name;
  while (token_before(t, begin) >= 0 && !token_in(t, token_before(t, begin), ends) &&
         t->all[token_before(t, begin)].kind != TOKEN_LITERAL && begin - 1 == token_before(t, begin))
    begin--;
  return (struct range){begin, name};
}

static bool is_specifier(const struct tokens *t, int i) {
  return token_is(t, i, "static") || token_is(t, i, "inline") || token_is(t, i, "constexpr") ||
         token_is(t, i, "const") || token_is(t, i, "extern") ||
         (token_begins(t, i, "__") && t->all[i].kind == TOKEN_WORD);
}

// What the template's parameters are in a call: as it says, or the declared type of the variable given for a `T x`.
static bool bind_template(struct inliner *f, const struct scope *caller, struct scope *s, int name,
                          const struct range *arguments) {
  const struct tokens *t = s->k->t;
  const struct range p = s->k->template_parameters;
  struct range given[MAX_ARGUMENTS];
  int given_count = 0;
  const int angle = token_next(t, name);
  if (token_is(t, angle, "<")) {
    const int close = token_past_angles(t, angle) - 1;
    for (int begin = angle + 1; begin < close && given_count < MAX_ARGUMENTS; begin = given[given_count++].end + 1)
      given[given_count] = (struct range){begin, token_argument_end(t, begin, close)};
  }
  for (int i = p.begin; i < p.end && s->type_count < MAX_ARGUMENTS; i++) {
    if (!token_is(t, i + 1, ",") && !token_is(t, i + 1, ">"))
      continue;
    if (t->all[i].kind != TOKEN_WORD || token_is(t, i - 1, "=") || token_is(t, i - 1, "..."))
      return false;
    const int at = s->type_count;
    s->type_name[at] = i;
    if (at < given_count) {
      s->type_argument[at] = inline_text(f, caller, given[at]);
    } else {
      int argument = 0;
      for (int v = 0; v < s->k->variable_count && s->type_argument[at] == NULL; v++) {
        const struct variable *own = &s->k->variables[v];
        if (!own->parameter)
          break;
        const struct range type = {own->init.begin, own->name}, given_for = arguments[argument++];
        const struct variable *theirs =
            given_for.end - given_for.begin == 1 ? kernel_variable(caller->k, given_for.begin) : NULL;
        if (type.end - type.begin == 1 && token_same(t, type.begin, i) && theirs && !theirs->pointer &&
            !theirs->array && kernel_plain_type(caller->k, theirs))
          s->type_argument[at] = inline_text(
              f, caller, theirs->parameter ? (struct range){theirs->init.begin, theirs->name} : theirs->specifiers);
      }
      if (s->type_argument[at] == NULL || strstr(s->type_argument[at], "auto"))
        return false;
      if (strncmp(s->type_argument[at], "const ", 6) == 0)
        memmove(s->type_argument[at], s->type_argument[at] + 6, strlen(s->type_argument[at] + 5));
    }
    s->type_count++;
  }
  return true;
}

// A parameter: something to write in its place, or a variable.
static void bind_parameter(struct inliner *f, const struct scope *caller, struct scope *s, int v,
                           struct range argument) {
  const struct tokens *t = s->k->t;
  const struct variable *own = &s->k->variables[v];
  char *value = inline_text(f, caller, argument);
  const bool one = argument.end - argument.begin == 1, changes = kernel_modifies(s->k, own);
  const struct variable *theirs = one ? kernel_variable(caller->k, argument.begin) : NULL;
  bool constant = false, reference = false, restricted = false;
  for (int i = own->init.begin; i < own->name; i++) {
    constant |= token_is(t, i, "const");
    reference |= token_is(t, i, "&");
    restricted |= token_is(t, i, "volatile");
  }
  if (own->block_group || token_is(t, own->name + 1, "[")) { // the caller's own, by its name
    if (theirs && (own->block_group ? theirs->block_group : theirs->shared && !changes)) {
      s->instead[v] = value;
      return;
    }
    inline_refuse(f, argument.begin, REFUSED_FOREIGN_ARGUMENT);
    free(value);
    return;
  }
  const bool number = one && (t->all[argument.begin].kind == TOKEN_NUMBER ||
                              (theirs && caller->instead[theirs - caller->k->variables] &&
                               !inline_is_address(caller->instead[theirs - caller->k->variables])));
  if (reference && !constant && !(theirs && !theirs->array && is_word(*value))) {
    inline_refuse(f, argument.begin, REFUSED_REFERENCE_ARGUMENT);
  } else if ((reference && !constant) ||
             (!changes && (number || (own->pointer && !restricted && inline_is_address(value) &&
                                      strpbrk(value, " .[(") == NULL)))) {
    s->instead[v] = value;
    return;
  } else {
    for (int i = own->init.begin; i < own->name; i++)
      if (!token_is(t, i, "&") && !token_begins(t, i, "__restrict") && !(token_is(t, i, "const") && !own->pointer)) {
        inline_word(s, i, f->out);
        append_string(f->out, " ");
      }
    append(f->out, t->all[own->name].p, (size_t)t->all[own->name].length);
    inline_number(f->out, "_c%d = ", s->number);
    append_string(f->out, value);
    append_string(f->out, "; ");
  }
  free(value);
}

static bool ends_with_return(const struct statement *list, bool value, int returns) {
  const struct statement *last = list;
  while (last && last->next)
    last = last->next;
  return value ? last && last->kind == S_RETURN && returns == 1 : returns == 0;
}

static int count_returns(const struct tokens *t, struct range body) {
  int count = 0;
  for (int i = body.begin; i < body.end; i++)
    count += token_is(t, i, "return");
  return count;
}

// No name of the function's that means something of the whole text would mean the kernel's own where the body is to stand.
static bool captures_nothing(const struct scope *s) {
  const struct tokens *t = s->k->t;
  const struct kernel *root = s->k;
  for (const struct scope *outer = s->outer; outer; outer = outer->outer)
    root = outer->k;
  for (int i = s->k->parameters.begin; i < s->k->body.end; i++) {
    const int before = token_before(t, i);
    bool own = t->all[i].kind != TOKEN_WORD || kernel_variable(s->k, i) || token_is(t, before, ".") ||
               token_is(t, before, "->") || kernel_template_parameter(s->k, i);
    for (int v = 0; v < s->k->variable_count; v++)
      own |= s->k->variables[v].name == i;
    for (int v = 0; v < root->variable_count && !own; v++)
      if (token_same(t, root->variables[v].name, i))
        return false;
    if (!own && kernel_template_parameter(root, i) && !known_type(t, i) && !token_is(t, i, "typename") &&
        !token_is(t, i, "class") && !token_is(t, i, "const"))
      return false;
  }
  return true;
}

// The body of a function in place of its call.
static void write_inlined(struct inliner *f, const struct scope *caller, int name, struct text *expression) {
  struct tokens *t = f->t;
  const int definition = known_function(t, name), open = token_next(t, definition);
  const int brace = known_body(t, definition);
  struct kernel k = {.t = t,
                     .name = definition,
                     .parameters = {open + 1, t->all[open].match},
                     .body = {brace + 1, t->all[brace].match}};
  struct range type = result_type(t, definition), arguments[MAX_ARGUMENTS];
  struct scope s = {.k = &k, .outer = caller};
  for (const struct scope *outer = caller; outer; outer = outer->outer)
    if (outer->k->body.begin == k.body.begin || f->depth > MAX_DEPTH || f->out->length > 1000000) {
      inline_refuse(f, name, REFUSED_RECURSION);
      return;
    }
  if (token_is(t, token_before(t, type.begin), ">"))
    for (int i = type.begin; i >= 0 && !token_is(t, i, ";") && !token_is(t, i, "}"); i--)
      if (token_is(t, i, "template"))
        k.template_parameters = (struct range){i + 2, token_before(t, type.begin)};
  const int count = inline_arguments(t, inline_bracket(t, name), arguments);
  int parameters = 0;
  bool good = kernel_parse(&k);
  for (int v = 0; v < k.variable_count; v++)
    parameters += k.variables[v].parameter;
  while (type.begin < type.end && is_specifier(t, type.begin))
    type.begin += token_is(t, type.begin, "__attribute__") ? t->all[type.begin + 1].match - type.begin + 1 : 1;
  const bool value = !(type.end - type.begin == 1 && token_is(t, type.begin, "void"));
  if (good)
    kernel_find_modifications(&k);
  good = good && parameters == count && !token_is(t, type.begin, "auto") && type.begin < type.end &&
         ends_with_return(k.top->child, value, count_returns(t, k.body)) && kernel_macros_are_clear(&k) &&
         captures_nothing(&s);
  s.number = ++f->numbers;
  f->depth++;
  if (!good || !bind_template(f, caller, &s, name, arguments)) {
    inline_refuse(f, name, REFUSED_INLINE);
  } else {
    inline_line(f, name);
    if (value) {
      inline_expression(f, &s, type, f->out);
      inline_number(f->out, " cudasim_v%d; ", s.number);
      inline_number(expression, "cudasim_v%d", s.number);
    } else {
      append_string(expression, "(void)0");
    }
    append_string(f->out, "{ ");
    for (int v = 0, argument = 0; v < k.variable_count && f->why_not == NOT_REFUSED; v++)
      if (k.variables[v].parameter)
        bind_parameter(f, caller, &s, v, arguments[argument++]);
    inline_list(f, &s, k.top->child, s.number);
    append_string(f->out, "} ");
  }
  f->depth--;
  for (int v = 0; v < MAX_VARIABLES; v++)
    free(s.instead[v]);
  for (int p = 0; p < s.type_count; p++)
    free(s.type_argument[p]);
  kernel_free(&k);
}

void inline_call(struct inliner *f, const struct scope *s, int name, struct text *expression) {
  if (warp_function_of(s->k->t, name))
    write_warp_call(f, s, name, expression);
  else
    write_inlined(f, s, name, expression);
}
