// SPDX-License-Identifier: MIT
// Execution spaces. g++ compiles host and device code alike, so it accepts what nvcc refuses: a kernel that calls a host function or
// uses a host variable, a host function that calls a device function, a launch of what is no kernel. This check finds them in the
// source text. It resolves no overloads and no types: a name counts only if all functions of that name in the text, and in the files
// that it includes in quotes, are of one space. What it cannot tell, it accepts. Code within #if is not checked.
//
// The compiler reports what is found, after its own errors: as static_assert(0, "cudasim: ...") behind the end of the program, at
// the line and column of the source. core/tool/compile/diagnostics.c takes the words before the message away.
#include "sim/compile/execution_spaces.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void space_refuse(struct space_check *c, int token, const char *why, ...) {
  if (c->refused_count == (int)(sizeof c->refused / sizeof *c->refused))
    return;
  struct refused *r = &c->refused[c->refused_count++];
  va_list arguments;
  va_start(arguments, why);
  vsnprintf(r->why, sizeof r->why, why, arguments);
  va_end(arguments);
  r->token = token;
}

const char *space_name(const struct function *f) {
  return f->space & GLOBAL_SPACE ? "__global__" : f->space & DEVICE_SPACE ? "__device__" : "__host__";
}

// ---- the functions of the text -------------------------------------------------------------------------------------------

static bool is_macro(const struct tokens *t, int i) {
  for (int m = 0; m < t->macro_count; m++)
    if (token_same(t, t->macros[m].name, i))
      return true;
  return false;
}

// A word that may be a macro of a header that is not read: FORCE_INLINE.
static bool is_capital(const struct tokens *t, int i) {
  const struct token *word = &t->all[i];
  for (int k = 0; k < word->length; k++)
    if (islower((unsigned char)word->p[k]))
      return false;
  return word->length > 2;
}

static int specifiers_begin(const struct tokens *t, int name) {
  int i = name;
  while (i > 0 && t->all[i - 1].kind != TOKEN_DIRECTIVE && !token_is(t, i - 1, ";") && !token_is(t, i - 1, "{") &&
         !token_is(t, i - 1, "}") && !(token_is(t, i - 1, ":") && token_begins(t, i - 2, "p")))
    i--;
  return i;
}

static unsigned space_of(const struct tokens *t, int begin, int name) {
  unsigned space = 0;
  for (int i = begin; i < name; i++) {
    if (token_is(t, i, "template") && token_is(t, i + 1, "<"))
      i = token_past_angles(t, i + 1) - 1;
    if (t->all[i].kind != TOKEN_WORD)
      continue;
    space |= token_is(t, i, "__host__")     ? HOST_SPACE
             : token_is(t, i, "__device__") ? DEVICE_SPACE
             : token_is(t, i, "__global__") ? GLOBAL_SPACE
                                            : 0u;
    if (token_is(t, i, "constexpr") || token_is(t, i, "consteval") || token_is(t, i, "friend") || is_macro(t, i) ||
        is_capital(t, i))
      space |= UNKNOWN_SPACE;
  }
  return space ? space : HOST_SPACE;
}

static bool may_name_function(const struct tokens *t, int i) {
  static const char *const no_types[] = {"return", "new",    "else", "case",     "throw",    "delete", "goto",
                                         "public", "sizeof", "do",   "explicit", "typename", NULL};
  const int before = token_before(t, i);
  if (t->all[i].kind != TOKEN_WORD || known_keyword(t, i) || !token_is(t, token_next(t, i), "(") || before < 0)
    return false;
  if (t->all[before].kind == TOKEN_WORD)
    return !known_keyword(t, before) && !token_in(t, before, no_types);
  return token_is(t, before, "*") || token_is(t, before, "&") || token_is(t, before, ">") || token_is(t, before, "::");
}

static void note_function(struct space_check *c, int name, int body, bool conditional) {
  const struct tokens *t = c->t;
  const int begin = specifiers_begin(t, name);
  if ((c->count & (c->count - 1)) == 0) {
    c->functions = realloc(c->functions, ((size_t)c->count * 2 + 1) * sizeof *c->functions);
    if (c->functions == NULL)
      fail(input_name, "out of memory");
  }
  struct function f = {.begin = begin, .name = name, .open = token_next(t, name), .body = body, .end = -1};
  f.end = body >= 0 ? t->all[body].match : -1;
  f.space = space_of(t, begin, name);
  f.conditional = conditional;
  for (int i = begin; i < f.end && f.end < t->main_count; i++)
    f.conditional |= t->all[i].kind == TOKEN_DIRECTIVE && memmem(t->all[i].p, (size_t)t->all[i].length, "if", 2);
  c->functions[c->count++] = f;
}

static int change_of_condition(const struct token *directive) {
  const char *word = skip_spaces(directive->p + 1);
  return strncmp(word, "if", 2) == 0 ? 1 : strncmp(word, "endif", 5) == 0 ? -1 : 0;
}

static void find_functions(struct space_check *c) {
  const struct tokens *t = c->t;
  int conditions = 0, body_end = -1;
  for (int i = 0; i < t->text_count; i++) {
    if (t->all[i].kind == TOKEN_DIRECTIVE)
      conditions += change_of_condition(&t->all[i]);
    if (i >= t->main_count)
      conditions = 0;
    if (!may_name_function(t, i))
      continue;
    const int body = known_body(t, i), open = token_next(t, i);
    if (body >= 0) {
      note_function(c, i, body, conditions > 0);
      body_end = t->all[body].match > body_end ? t->all[body].match : body_end;
    } else if (i > body_end && t->all[open].match > open) {
      int after = token_next(t, t->all[open].match);
      while (token_is(t, after, "const") || token_is(t, after, "noexcept"))
        after = token_next(t, after);
      if (token_is(t, after, ";"))
        note_function(c, i, -1, conditions > 0);
    }
  }
}

unsigned space_of_name(const struct space_check *c, int i) {
  static const char *const types[] = {"struct", "class", "union", "enum", "typename", "using", "namespace", NULL};
  const struct tokens *t = c->t;
  unsigned space = 0;
  for (int k = 0; k < c->count; k++)
    if (token_same(t, c->functions[k].name, i))
      space |= c->functions[k].space == (HOST_SPACE | DEVICE_SPACE) ? UNKNOWN_SPACE : c->functions[k].space;
  if (space == 0 || is_macro(t, i))
    return 0;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same)
    if (token_same(t, at, i) && (at >= t->text_count || (at > 0 && token_in(t, at - 1, types))))
      return 0;
  return space;
}

// ---- names within a function -----------------------------------------------------------------------------------------------

// Whether the word at j is declared there: what stands between the begin of the statement, or of the parameters, and the word is a type.
static bool declared_at(const struct function *f, const struct tokens *t, int j) {
  static const char *const in_types[] = {"*", "&", "::", "<", ">", ",", NULL};
  int i = j - 1, words = 0;
  if (token_is(t, i, "::") || token_is(t, i, ".") || token_is(t, i, "->"))
    return false;
  for (; i > f->open && !token_is(t, i, ";") && !token_is(t, i, "{") && !token_is(t, i, "}"); i--) {
    if (token_is(t, i, "[")) // captures, names of a structured binding
      return true;
    if (token_is(t, i, "(")) {
      const int before = token_before(t, i);
      if (!token_is(t, before, "for") && !token_is(t, before, "]") && !token_is(t, before, "catch"))
        return false;
      break;
    }
    if (token_is(t, i, "=") && token_is(t, j - 1, ",")) { // int a = 1, b = 2;
      int first = i;
      while (first > f->body && !token_is(t, first - 1, ";") && !token_is(t, first - 1, "{") &&
             !token_is(t, first - 1, "}") && !token_is(t, first - 1, "("))
        first--;
      return known_type(t, first) || token_is(t, first, "auto") || token_is(t, first, "const");
    }
    if (t->all[i].kind == TOKEN_WORD && !known_keyword(t, i) && !token_is(t, i, "return"))
      words++;
    else if (t->all[i].kind != TOKEN_NUMBER && !token_in(t, i, in_types))
      return i < f->body && words > 0; // of a parameter, whatever its default
  }
  return words > 0;
}

bool space_is_local(const struct space_check *c, const struct function *f, int i) {
  for (int j = f->begin; j < f->end; j++)
    if (token_same(c->t, j, i) && (j < f->open || declared_at(f, c->t, j)))
      return true;
  return false;
}

// ---- calls -----------------------------------------------------------------------------------------------------------------

#define NAME(t, i) (t)->all[i].length, (t)->all[i].p

static void check_call(struct space_check *c, const struct function *f, int i, bool relaxed) {
  const struct tokens *t = c->t;
  const int before = token_before(t, i), next = token_next(t, i);
  const bool device = f->space != HOST_SPACE, behind_std = token_is(t, before, "::") && token_is(t, before - 1, "std");
  const bool called = token_is(t, next, "(");
  if (token_is(t, before, ".") || token_is(t, before, "->") || (token_is(t, before, "::") && !behind_std))
    return;
  if (device && (behind_std ? host_standard_name(t, i, relaxed) || (called && host_library_function(t, i))
                            : host_library_function(t, i) && (called || token_begins(t, i, "std") ||
                                                              token_begins(t, i, "c") || token_is(t, i, "vector")))) {
    if (!token_declared(t, i) && space_of_name(c, i) == 0 && !space_is_local(c, f, i))
      space_refuse(c, i, "%s%.*s exists only on the host: the %s function %.*s cannot use it",
                   behind_std ? "std::" : "", NAME(t, i), space_name(f), NAME(t, f->name));
    return;
  }
  if (behind_std || !called)
    return;
  if (!device && device_library_function(t, i) && !token_declared(t, i) && space_of_name(c, i) == 0)
    space_refuse(c, i, "calling a __device__ function (%.*s) from a __host__ function (%.*s) is not allowed",
                 NAME(t, i), NAME(t, f->name));
  const unsigned space = space_of_name(c, i), refused = device ? HOST_SPACE : DEVICE_SPACE;
  if (space != refused || known_library(t, i) || token_begins(t, i, "cudasim_") || space_is_local(c, f, i))
    return;
  space_refuse(
      c, i,
      "calling a %s function (%.*s) from a %s function (%.*s) is not allowed. If both sides need it, declare it "
      "__host__ __device__",
      device ? "__host__" : "__device__", NAME(t, i), space_name(f), NAME(t, f->name));
}

static void check_word(struct space_check *c, const struct function *f, int i, bool relaxed) {
  const struct tokens *t = c->t;
  if (f->space != HOST_SPACE && (token_is(t, i, "throw") || token_is(t, i, "try")))
    space_refuse(c, i, "device code does not support exceptions (try, catch, throw)");
  else
    check_call(c, f, i, relaxed);
}

// sizeof(x) and decltype(x) do not evaluate x.
static int past_unevaluated(const struct tokens *t, int i) {
  const int open = token_next(t, i);
  if ((token_is(t, i, "sizeof") || token_is(t, i, "decltype") || token_is(t, i, "alignof")) && token_is(t, open, "(") &&
      t->all[open].match > open)
    return t->all[open].match;
  return i;
}

static void check_function(struct space_check *c, const struct function *f, bool relaxed) {
  const struct tokens *t = c->t;
  const bool host = f->space == HOST_SPACE;
  if (f->body < 0 || f->end >= t->main_count || f->conditional || (f->space & UNKNOWN_SPACE) ||
      (!host && (f->space & HOST_SPACE)))
    return;
  for (int i = f->begin; i < f->end && host; i++)
    if (token_is(t, i, "__device__") || token_is(t, i, "template")) // a lambda of the device
      return;
  for (int i = f->body + 1; i < f->end; i++) {
    i = past_unevaluated(t, i);
    if (t->all[i].kind == TOKEN_WORD)
      check_word(c, f, i, relaxed);
  }
}

// ---- kernels ---------------------------------------------------------------------------------------------------------------

static void check_kernel(struct space_check *c, const struct function *f) {
  const struct tokens *t = c->t;
  bool known = false, words = false;
  if (f->name >= t->main_count || f->conditional || (f->space & (UNKNOWN_SPACE | GLOBAL_SPACE)) != GLOBAL_SPACE)
    return;
  for (int i = f->begin; i < f->name; i++) {
    known |= token_is(t, i, "void") || token_is(t, i, "auto");
    words |= known_type(t, i);
  }
  if (t->all[f->name].depth > 0 && f->body >= 0)
    space_refuse(c, f->name, "a __global__ function cannot be a member of a class: %.*s", NAME(t, f->name));
  if (!known && words)
    space_refuse(c, f->name, "a __global__ function must have a void return type. %.*s has another one",
                 NAME(t, f->name));
}

static void check_launch(struct space_check *c, int i) {
  const struct tokens *t = c->t;
  int name = token_before(t, i);
  if (token_is(t, name, ">"))
    while (name > 0 && !token_is(t, name, "<") && !token_is(t, name, ";"))
      name--;
  name = token_is(t, name, "<") ? token_before(t, name) : name;
  if (name < 0 || t->all[name].kind != TOKEN_WORD)
    return;
  const unsigned space = space_of_name(c, name);
  if (space == HOST_SPACE || space == DEVICE_SPACE)
    for (int k = 0; k < c->count; k++)
      if (c->functions[k].body >= 0 && c->functions[k].body < i && i < c->functions[k].end &&
          !c->functions[k].conditional && !space_is_local(c, &c->functions[k], name)) {
        space_refuse(c, name, "%.*s is launched, but it is a %s function. Mark it __global__", NAME(t, name),
                     space == HOST_SPACE ? "host" : "__device__");
        return;
      }
}

// ---- the compiler's errors -------------------------------------------------------------------------------------------------

static int by_token(const void *a, const void *b) {
  const struct refused *x = a, *y = b;
  return x->token - y->token;
}

static void append_error(const struct text *source, const char *name, bool program, const struct tokens *t,
                         const struct refused *r, struct text *out) {
  const char *at = t->all[r->token].p, *begin = at;
  int line = 1;
  char marker[64];
  for (const char *p = source->bytes; p < at; p++)
    line += *p == '\n';
  while (begin > source->bytes && begin[-1] != '\n')
    begin--;
  snprintf(marker, sizeof marker, program ? "\n# %d " : "\n#line %d ", line);
  static const char *const parts[] = {"static_assert(", "0", ", "};
  for (int k = 0; k < 3; k++) { // each on a line of its own, so that the error has the word's column
    append_string(out, marker);
    append_quoted(out, name);
    append_string(out, "\n");
    for (const char *p = begin; p < at && k == 1; p++)
      append(out, *p == '\t' ? "\t" : " ", 1);
    append_string(out, parts[k]);
  }
  char why[sizeof r->why + 16];
  snprintf(why, sizeof why, "cudasim: %s", r->why);
  append_quoted(out, why);
  append_string(out, ");");
}

static bool is_balanced(const struct tokens *t) {
  for (int i = 0; i < t->main_count; i++)
    if (t->all[i].kind == TOKEN_SIGN && t->all[i].length == 1 && strchr("()[]{}", *t->all[i].p) && t->all[i].match < 0)
      return false;
  return true;
}

void append_space_errors(const struct text *source, const char *name, bool program, bool relaxed, struct text *out) {
  struct tokens t = {0};
  static struct space_check c; // large
  const char *converted = input_name;
  input_name = name;
  tokens_read(&t, source, true);
  c = (struct space_check){.t = &t};
  if (is_balanced(&t)) {
    find_functions(&c);
    for (int k = 0; k < c.count; k++) {
      check_kernel(&c, &c.functions[k]);
      check_function(&c, &c.functions[k], relaxed);
    }
    for (int i = 0; i < t.main_count; i++)
      if (token_is(&t, i, "<") && token_is(&t, i + 1, "<") && token_is(&t, i + 2, "<"))
        check_launch(&c, i);
      else if (token_is(&t, i, "<<<"))
        check_launch(&c, i);
    space_check_variables(&c);
  }
  qsort(c.refused, (size_t)c.refused_count, sizeof *c.refused, by_token);
  for (int k = 0; k < c.refused_count; k++)
    append_error(source, name, program, &t, &c.refused[k], out);
  if (c.refused_count > 0)
    append_string(out, "\n");
  input_name = converted;
  free(c.functions);
  tokens_free(&t);
}
