// A kernel's text with what has to be taken apart as statements of its own: calls of functions that have barriers or warp functions in
// them are replaced by those functions' bodies, and warp functions within expressions are moved before the statement:
//     x += __shfl_down_sync(0xffffffff, x, apart);
// becomes
//     { const int cudasim_a1 = static_cast<int>(apart); auto cudasim_r1 = cudasim_warp_shfl_down(x, cudasim_a1); x += cudasim_r1; }
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu2cpp_loops.h"

enum { MAX_ARGUMENTS = 16, MAX_DEPTH = 8, MAX_TOKENS = 20000 };

// A function whose text is being written: the kernel, or one that it calls.
struct scope {
  const struct kernel *k;
  int number;                         // of this copy of a function; 0: the kernel
  char *instead[MAX_VARIABLES];       // what is written for a parameter
  char *type_argument[MAX_ARGUMENTS]; // of its template
  int type_name[MAX_ARGUMENTS], type_count;
  const struct scope *outer;
};

struct flat {
  struct tokens *t;
  const struct text *in; // the kernel's
  struct spot spot;
  bool program;
  struct text *out;
  struct text shared; // shared arrays of functions, once for each function
  int numbers, depth;
  const char *why_not;
  int why_token;
};

static void refuse(struct flat *f, int token, const char *why) {
  if (f->why_not == NULL) {
    f->why_not = why;
    f->why_token = token < f->t->main_count ? token : 0;
  }
}

static char *copy_of(const char *p, size_t length) {
  char *copy = malloc(length + 1);
  if (copy == NULL)
    fail(input_name, "out of memory");
  memcpy(copy, p, length);
  copy[length] = '\0';
  return copy;
}

static void append_number(struct text *out, const char *format, int number) {
  char text[100];
  snprintf(text, sizeof text, format, number);
  append_string(out, text);
}

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

static const struct warp_function *warp_function(const struct tokens *t, int i) {
  for (size_t f = 0; f < sizeof warp_functions / sizeof *warp_functions; f++)
    if (token_is(t, i, warp_functions[f].name))
      return &warp_functions[f];
  return NULL;
}

// The bracket of a call whose name is at i, or -1.
static int call_bracket(const struct tokens *t, int i) {
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
  struct call_facts facts;
  const int before = token_before(t, i);
  if (call_bracket(t, i) < 0 || kernel_variable(s->k, i) || token_is(t, before, ".") || token_is(t, before, "->") ||
      token_is(t, before, "::") || known_atomic(t, i) || known_wait(t, i))
    return false;
  return known_function(t, i) >= 0 && !known_clean_call(t, i, &facts);
}

static bool is_apart(const struct scope *s, int i) {
  return (warp_function(s->k->t, i) && call_bracket(s->k->t, i) >= 0) || is_waiting_call(s, i);
}

static bool has_calls(const struct scope *s, struct range e) {
  for (int i = e.begin; i < e.end; i++)
    if (s->k->t->all[i].kind == TOKEN_WORD && (is_apart(s, i) || token_is(s->k->t, i, "__syncwarp")))
      return true;
  return false;
}

// ---- expressions ---------------------------------------------------------------------------------------------------------

static void write_call(struct flat *f, const struct scope *s, int name, struct text *expression);

// A name as it is called here.
static void write_word(const struct scope *s, int i, struct text *out) {
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
    append_number(out, "_s%d", s->k->body.begin);
    append_number(out, "_%x", (int)mixed);
  } else if (v && s->number > 0) {
    append_number(out, "_c%d", s->number);
  }
}

static bool is_address(const char *text) { // of a variable: "&x"
  return text && *text == '&' && is_word(text[1]);
}

// Tokens as they are called in this scope, apart from calls that have to be statements of their own: those are written before.
static void write_expression(struct flat *f, const struct scope *s, struct range e, struct text *out) {
  const struct tokens *t = s->k->t;
  for (int i = e.begin; i < e.end && f->why_not == NULL; i++) {
    const struct variable *v = kernel_variable(s->k, i), *next = i + 1 < e.end ? kernel_variable(s->k, i + 1) : NULL;
    const char *instead = v ? s->instead[v - s->k->variables] : NULL;
    const char *pointed = next ? s->instead[next - s->k->variables] : NULL;
    append_string(out, " ");
    if (t->all[i].kind == TOKEN_DIRECTIVE)
      continue;
    if (token_is(t, i, "*") && is_address(pointed) && kernel_unary(t, i)) { // *p where p is &x
      append_string(out, pointed + 1);
      i++;
    } else if (instead) {
      append_string(out, is_address(instead) ? "(" : "");
      append_string(out, instead);
      append_string(out, is_address(instead) ? ")" : "");
    } else if (t->all[i].kind == TOKEN_WORD && is_apart(s, i)) {
      write_call(f, s, i, out);
      i = t->all[call_bracket(t, i)].match;
    } else if (t->all[i].kind == TOKEN_WORD) {
      write_word(s, i, out);
    } else {
      append(out, t->all[i].p, (size_t)t->all[i].length);
    }
  }
}

static char *expression_of(struct flat *f, const struct scope *s, struct range e) {
  struct text text = {0};
  append(&text, "", 0);
  write_expression(f, s, e, &text);
  char *p = text.bytes; // without what surrounds it
  size_t length = text.length;
  while (length > 0 && is_space(p[length - 1]))
    length--;
  while (length > 0 && is_space(*p))
    p++, length--;
  char *copy = copy_of(p, length);
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

static bool calls_are_certain(struct flat *f, const struct scope *s, struct range e) {
  const struct tokens *t = s->k->t;
  for (int i = e.begin; i < e.end; i++) {
    if (t->all[i].kind != TOKEN_WORD || !is_apart(s, i))
      continue;
    int open = t->all[i].within;
    for (; open >= e.begin; open = t->all[open].within)
      if (is_conditional(t, open, open + 1, i))
        refuse(f, i, "a call that is made under a condition, of what may wait");
    if (is_conditional(t, open, e.begin, i))
      refuse(f, i, "a call that is made under a condition, of what may wait");
  }
  return f->why_not == NULL;
}

// ---- calls ---------------------------------------------------------------------------------------------------------------

static int split_arguments(const struct tokens *t, int open, struct range *arguments) {
  const int close = t->all[open].match;
  int count = 0;
  for (int begin = open + 1; begin < close && count < MAX_ARGUMENTS;) {
    int end = begin;
    while (end < close && !token_is(t, end, ",")) {
      const int angles = token_is(t, end, "<") ? token_past_angles(t, end) : end;
      end = angles != end ? angles : t->all[end].match > end ? t->all[end].match + 1 : end + 1;
    }
    arguments[count++] = (struct range){begin, end};
    begin = end + 1;
  }
  return count;
}

// All lanes, as a number, a constant, or a variable that is set to it once.
static bool is_every_lane(const struct scope *s, struct range e) {
  const struct tokens *t = s->k->t;
  static const char *const every[] = {"0xffffffff",  "0xffffffffu",  "0xffffffffU",   "0xFFFFFFFF",  "0xFFFFFFFFu",
                                      "0xFFFFFFFFU", "0xffffffffUL", "0xffffffffull", "4294967295u", "UINT_MAX",
                                      NULL};
  long value;
  while (e.end - e.begin > 2 && token_is(t, e.begin, "(") && t->all[e.begin].match == e.end - 1)
    e = (struct range){e.begin + 1, e.end - 1};
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
         is_every_lane(s, v->init);
}

// The calls before a warp function's value are its other arguments: numbers.
static void write_warp_call(struct flat *f, const struct scope *s, int name, struct text *expression) {
  const struct tokens *t = s->k->t;
  const struct warp_function *w = warp_function(t, name);
  struct range arguments[MAX_ARGUMENTS];
  const int count = split_arguments(t, call_bracket(t, name), arguments), first = w->mask ? 1 : 0;
  if (count < first + w->least || count > first + w->most) {
    refuse(f, name, "a warp function with other arguments");
    return;
  }
  if (w->mask && !is_every_lane(s, arguments[0])) {
    refuse(f, name, "a warp function whose mask may not be all lanes");
    return;
  }
  char *value = count > first ? expression_of(f, s, arguments[first]) : copy_of("", 0);
  const int number = ++f->numbers;
  struct text others = {0};
  append(&others, "", 0);
  for (int i = first + 1; i < count; i++) {
    char *other = expression_of(f, s, arguments[i]);
    const int own = ++f->numbers;
    append_number(f->out, "const int cudasim_a%d = static_cast<int>(", own);
    append_string(f->out, other);
    append_string(f->out, "); ");
    append_number(&others, ", cudasim_a%d", own);
    free(other);
  }
  append_number(f->out, "auto cudasim_r%d = ", number);
  append_string(f->out, w->inside);
  append_string(f->out, "(");
  append_string(f->out, value);
  append_string(f->out, others.bytes);
  append_string(f->out, "); ");
  append_number(expression, "cudasim_r%d", number);
  free(value);
  free(others.bytes);
}

static void write_list_of(struct flat *f, const struct scope *s, const struct statement *list, int result);

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
static bool bind_template(struct flat *f, const struct scope *caller, struct scope *s, int name,
                          const struct range *arguments) {
  const struct tokens *t = s->k->t;
  const struct range p = s->k->template_parameters;
  struct range given[MAX_ARGUMENTS];
  int given_count = 0;
  const int angle = token_next(t, name);
  if (token_is(t, angle, "<")) {
    const int past = token_past_angles(t, angle);
    for (int begin = angle + 1, end = begin; end < past && given_count < MAX_ARGUMENTS; end++)
      if (token_is(t, end, ",") || end == past - 1) {
        given[given_count++] = (struct range){begin, end};
        begin = end + 1;
      }
  }
  for (int i = p.begin; i < p.end && s->type_count < MAX_ARGUMENTS; i++) {
    if (!token_is(t, i + 1, ",") && !token_is(t, i + 1, ">"))
      continue;
    if (t->all[i].kind != TOKEN_WORD || token_is(t, i - 1, "=") || token_is(t, i - 1, "..."))
      return false;
    const int at = s->type_count;
    s->type_name[at] = i;
    if (at < given_count) {
      s->type_argument[at] = expression_of(f, caller, given[at]);
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
          s->type_argument[at] = expression_of(
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
static void bind_parameter(struct flat *f, const struct scope *caller, struct scope *s, int v, struct range argument) {
  const struct tokens *t = s->k->t;
  const struct variable *own = &s->k->variables[v];
  char *value = expression_of(f, caller, argument);
  const bool one = argument.end - argument.begin == 1, changes = kernel_modifies(s->k, own);
  const struct variable *theirs = one ? kernel_variable(caller->k, argument.begin) : NULL;
  bool constant = false, reference = false, restricted = false;
  for (int i = own->init.begin; i < own->name; i++) {
    constant |= token_is(t, i, "const");
    reference |= token_is(t, i, "&");
    restricted |= token_is(t, i, "volatile");
  }
  const bool number = one && (t->all[argument.begin].kind == TOKEN_NUMBER ||
                              (theirs && caller->instead[theirs - caller->k->variables] &&
                               !is_address(caller->instead[theirs - caller->k->variables])));
  if (reference && !constant && !(theirs && !theirs->array && is_word(*value))) {
    refuse(f, argument.begin, "a reference to more than a variable");
  } else if ((reference && !constant) || (!changes && (number || (own->pointer && !restricted && is_address(value) &&
                                                                  strpbrk(value, " .[(") == NULL)))) {
    s->instead[v] = value;
    return;
  } else {
    for (int i = own->init.begin; i < own->name; i++)
      if (!token_is(t, i, "&") && !token_begins(t, i, "__restrict") && !(token_is(t, i, "const") && !own->pointer)) {
        write_word(s, i, f->out);
        append_string(f->out, " ");
      }
    append(f->out, t->all[own->name].p, (size_t)t->all[own->name].length);
    append_number(f->out, "_c%d = ", s->number);
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

// The body of a function in place of its call.
static void write_inlined(struct flat *f, const struct scope *caller, int name, struct text *expression) {
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
      refuse(f, name, "a function that calls itself, or very many");
      return;
    }
  if (token_is(t, token_before(t, type.begin), ">"))
    for (int i = type.begin; i >= 0 && !token_is(t, i, ";") && !token_is(t, i, "}"); i--)
      if (token_is(t, i, "template"))
        k.template_parameters = (struct range){i + 2, token_before(t, type.begin)};
  const int count = split_arguments(t, call_bracket(t, name), arguments);
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
         ends_with_return(k.top->child, value, count_returns(t, k.body)) && kernel_macros_are_clear(&k);
  s.number = ++f->numbers;
  f->depth++;
  if (!good || !bind_template(f, caller, &s, name, arguments)) {
    refuse(f, name, "a call of a function that waits, and that is not taken apart");
  } else {
    if (value) {
      write_expression(f, &s, type, f->out);
      append_number(f->out, " cudasim_v%d; ", s.number);
      append_number(expression, "cudasim_v%d", s.number);
    } else {
      append_string(expression, "(void)0");
    }
    append_string(f->out, "{ ");
    for (int v = 0, argument = 0; v < k.variable_count && f->why_not == NULL; v++)
      if (k.variables[v].parameter)
        bind_parameter(f, caller, &s, v, arguments[argument++]);
    write_list_of(f, &s, k.top->child, s.number);
    append_string(f->out, "} ");
  }
  f->depth--;
  for (int v = 0; v < MAX_VARIABLES; v++)
    free(s.instead[v]);
  for (int p = 0; p < s.type_count; p++)
    free(s.type_argument[p]);
  kernel_free(&k);
}

static void write_call(struct flat *f, const struct scope *s, int name, struct text *expression) {
  if (warp_function(s->k->t, name))
    write_warp_call(f, s, name, expression);
  else
    write_inlined(f, s, name, expression);
}

// ---- statements ----------------------------------------------------------------------------------------------------------

// As the compiler is to call the place.
static void write_line(struct flat *f, int token) {
  const char *p = f->t->all[token].p;
  append_string(f->out, "\n");
  if (p < f->in->bytes || p >= f->in->bytes + f->in->length)
    return; // an included file's
  const size_t place = (size_t)(p - f->in->bytes);
  struct writer w = {.in = f->in, .marked = f->program, .spot = f->spot};
  if (place < f->spot.place)
    w.spot = (struct spot){.line = 1};
  f->spot = spot_of(&w, place);
  append_number(f->out, f->program ? "# %d " : "#line %d ", (int)f->spot.line);
  if (f->spot.file_length)
    append(f->out, f->in->bytes + f->spot.file, f->spot.file_length);
  else
    append_quoted(f->out, input_name);
  append_string(f->out, "\n");
}

static void write_child(struct flat *f, const struct scope *s, const struct statement *child) {
  append_string(f->out, "{ ");
  write_list_of(f, s, child->kind == S_BLOCK ? child->child : child, 0);
  append_string(f->out, "} ");
}

static void write_declared(struct flat *f, const struct scope *s, const struct statement *d) {
  const struct kernel *k = s->k;
  for (int i = 0; i < k->variable_count; i++) {
    const struct variable *v = &k->variables[i];
    if (v->in != d)
      continue;
    char *init = v->init_kind ? expression_of(f, s, v->init) : copy_of("", 0);
    write_expression(f, s, v->specifiers, f->out);
    write_expression(f, s, v->declarator, f->out);
    append_string(f->out, v->init_kind == '=' ? " = " : "");
    append_string(f->out, init);
    append_string(f->out, "; ");
    free(init);
  }
}

// Shared arrays of a function exist once, however often it is called.
static void write_hoisted(struct flat *f, const struct scope *s, const struct statement *h) {
  struct text own = {0};
  bool shared = false, alone = true;
  for (int i = 0; i < s->k->variable_count && s->number > 0; i++)
    shared |= s->k->variables[i].in == h && s->k->variables[i].shared;
  if (!shared) {
    write_expression(f, s, h->at, f->out);
    return;
  }
  for (int i = h->at.begin; i < h->at.end; i++)
    alone &= kernel_variable(s->k, i) == NULL || kernel_variable(s->k, i)->shared;
  for (int i = s->k->body.begin; i < s->k->body.end; i++)
    alone &= !token_is(s->k->t, i, "typedef") && !token_is(s->k->t, i, "using");
  if (!alone)
    refuse(f, h->at.begin, "a shared array of a function that depends on other things of its");
  append(&own, "", 0);
  write_expression(f, s, h->at, &own);
  if (f->shared.bytes == NULL || strstr(f->shared.bytes, own.bytes) == NULL) {
    append_string(&f->shared, own.bytes);
    append_string(&f->shared, " ");
  }
  free(own.bytes);
}

// __syncwarp();
static void write_syncwarp(struct flat *f, const struct scope *s, const struct statement *one) {
  const struct tokens *t = s->k->t;
  struct range arguments[MAX_ARGUMENTS];
  const int open = call_bracket(t, one->at.begin), count = open < 0 ? -1 : split_arguments(t, open, arguments);
  if (count < 0 || count > 1 || !token_is(t, t->all[open].match + 1, ";") ||
      (count == 1 && !is_every_lane(s, arguments[0])))
    refuse(f, one->at.begin, "a warp function whose mask may not be all lanes");
  append_string(f->out, "cudasim_warp_sync();");
}

static void write_computed(struct flat *f, const struct scope *s, const struct statement *one, int result) {
  const bool value = one->kind == S_RETURN && s->number > 0, apart = has_calls(s, one->at);
  struct text expression = {0};
  append(&expression, "", 0);
  append_string(f->out, apart ? "{ " : "");
  write_expression(f, s, value ? (struct range){one->at.begin + 1, one->at.end} : one->at, &expression);
  if (value)
    append_number(f->out, "cudasim_v%d =", result);
  append_string(f->out, expression.bytes);
  append_string(f->out, apart ? " }" : "");
  free(expression.bytes);
}

static void write_one(struct flat *f, const struct scope *s, const struct statement *one, int result) {
  const struct tokens *t = s->k->t;
  struct text expression = {0};
  write_line(f, one->at.begin);
  append(&expression, "", 0);
  switch (one->kind) {
  case S_BLOCK:
    write_child(f, s, one);
    break;
  case S_IF:
    if (!calls_are_certain(f, s, one->condition))
      break;
    write_expression(f, s, one->condition, &expression);
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
    if (has_calls(s, one->condition) || has_calls(s, one->step) || (one->init && has_calls(s, one->init->at)))
      refuse(f, one->at.begin, "a loop that begins or ends with a call of what may wait");
    append_string(f->out, one->kind == S_FOR ? "for (" : one->kind == S_WHILE ? "while (" : "do ");
    if (one->kind == S_FOR)
      write_expression(f, s, one->init->at, f->out);
    if (one->kind != S_DO)
      write_expression(f, s, one->condition, f->out);
    if (one->kind == S_FOR) {
      append_string(f->out, "; ");
      write_expression(f, s, one->step, f->out);
    }
    append_string(f->out, one->kind == S_DO ? "" : ") ");
    write_child(f, s, one->child);
    if (one->kind == S_DO) {
      append_string(f->out, "while (");
      write_expression(f, s, one->condition, f->out);
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
    if (has_calls(s, one->at))
      refuse(f, one->at.begin, "a call of what may wait in a statement that is not taken apart");
    write_expression(f, s, one->at, f->out);
  }
  append_string(f->out, " ");
  free(expression.bytes);
}

static void write_list_of(struct flat *f, const struct scope *s, const struct statement *list, int result) {
  for (; list && f->why_not == NULL; list = list->next)
    if (list->kind != S_EMPTY)
      write_one(f, s, list, result);
}

bool kernel_is_flat(const struct kernel *k) {
  const struct scope s = {.k = k};
  return !has_calls(&s, k->body);
}

bool kernel_flatten(struct tokens *t, struct kernel *k, const struct text *in, bool program, struct text *out) {
  struct text body = {0};
  const struct scope s = {.k = k};
  struct flat f = {.t = t, .in = in, .program = program, .out = &body, .spot = {.line = 1}};
  kernel_find_modifications(k);
  if (!kernel_macros_are_clear(k))
    return false;
  append(&body, "", 0);
  append(&f.shared, "", 0);
  append(out, "", 0);
  write_list_of(&f, &s, k->top->child, 0);
  append_string(out, "void flat(");
  write_expression(&f, &s, k->parameters, out);
  append_string(out, ") {\n");
  append_string(out, f.shared.bytes);
  append_string(out, body.bytes);
  append_string(out, "\n}\n");
  free(body.bytes);
  free(f.shared.bytes);
  k->why_not = f.why_not;
  k->why_token = f.why_token;
  return f.why_not == NULL;
}
