// SPDX-License-Identifier: MIT
// Arrays of a thread's own that its registers cannot be: those with an index that the compiler does not know. Read from the source's
// words, and told only on evidence: what comes from a kernel's parameters, from the place of a thread or from memory is not known, nor
// is a loop's variable whose first, last or next value does. Everything else (macros, templates' parameters, what a helper is given)
// counts as known.
#include "case.h"
#include "sim/compile/c_tokens.h"
#include "forbidden.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Token {
  const char *at;
  int length, line;
} Token;

typedef struct Name {
  Token token;
  int depth;
  int until; // the token where its loop or function ends; 0: where its braces do
  bool unknown, array;
  Token from; // what makes it unknown
} Name;

enum { MOST_NAMES = 1024 };

typedef struct CodeReader {
  Token *tokens; // ends with three of length 0
  int count, depth, names;
  Name name[MOST_NAMES];
} CodeReader;

static bool is(const Token *t, const char *text) {
  return (int)strlen(text) == t->length && memcmp(t->at, text, (size_t)t->length) == 0;
}

static bool same(const Token *a, const Token *b) {
  return a->length == b->length && memcmp(a->at, b->at, (size_t)a->length) == 0;
}

static bool is_name(const Token *t) {
  return t->length > 0 && is_word(*t->at) && !isdigit((unsigned char)*t->at);
}

static bool is_any(const Token *t, const char *const *words) {
  for (; *words; words++)
    if (is(t, *words))
      return true;
  return false;
}

// Words and signs, without comments, literals and directives.
static void read_tokens(CodeReader *r, const char *text) {
  struct c_lexer lexer = c_lexer_of(text, strlen(text));
  struct c_token t;
  int room = 0;
  for (bool more = true; more;) {
    if (r->count + 4 > room) {
      room = room ? 2 * room : 1024;
      r->tokens = realloc(r->tokens, (size_t)room * sizeof *r->tokens);
      if (!r->tokens)
        fatal_error("no memory for an answer");
    }
    more = c_next(&lexer, &t);
    if (more && t.first && *t.at == '#')
      c_skip_directive(&lexer);
    else if (more && t.kind != C_COMMENT && t.kind != C_LITERAL)
      r->tokens[r->count++] = (Token){t.at, (int)t.length, t.line};
  }
  for (int i = 0; i < 3; i++)
    r->tokens[r->count + i] = (Token){"", 0, lexer.line};
}

// The token behind the bracket that closes the one at `open`.
static int past_group(const CodeReader *r, int open) {
  static const char *const opens[] = {"(", "[", "{", NULL}, *const closes[] = {")", "]", "}", NULL};
  int depth = 0, i = open;
  for (; i < r->count; i++) {
    depth += is_any(&r->tokens[i], opens) - is_any(&r->tokens[i], closes);
    if (depth == 0)
      return i + 1;
  }
  return i;
}

// Behind the statement that begins at i.
static int past_statement(const CodeReader *r, int i) {
  static const char *const with_head[] = {"for", "while", "if", "switch", NULL};
  while (i < r->count && is_any(&r->tokens[i], with_head))
    i = past_group(r, i + 1);
  if (is(&r->tokens[i], "{"))
    return past_group(r, i);
  while (i < r->count && !is(&r->tokens[i], ";"))
    i = is(&r->tokens[i], "(") || is(&r->tokens[i], "[") || is(&r->tokens[i], "{") ? past_group(r, i) : i + 1;
  return i + 1;
}

// ---- what is known ----------------------------------------------------------------------------------------------------------

static Name *find(CodeReader *r, const Token *t) {
  for (int i = r->names - 1; i >= 0; i--)
    if (same(&r->name[i].token, t))
      return &r->name[i];
  return NULL;
}

// Of a member, as of blockDim.x, the object before it counts.
static bool is_member(const CodeReader *r, int i) {
  return i > 0 && (is(&r->tokens[i - 1], ".") || is(&r->tokens[i - 1], "->"));
}

// The first token from begin to before end that the compiler does not know, which is not `but`; NULL: there is none.
static const Token *unknown_in(CodeReader *r, int begin, int end, const Token *but) {
  static const char *const places[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", NULL};
  for (int i = begin; i < end; i++) {
    const Token *t = &r->tokens[i];
    if (!is_name(t) || is_member(r, i) || (but && same(t, but)))
      continue;
    if (is_any(t, places))
      return t;
    if (is(t, "sizeof")) {
      i = is(&r->tokens[i + 1], "(") ? past_group(r, i + 1) - 1 : i;
      continue;
    }
    const Name *name = find(r, t);
    if (name && name->unknown)
      return t;
  }
  return NULL;
}

static void set_unknown(Name *name, const Token *from) {
  if (!from || name->unknown)
    return;
  name->unknown = true;
  name->from = *from;
}

static Name *declare(CodeReader *r, const Token *t, int until) {
  if (r->names == MOST_NAMES)
    r->names--; // an answer of so many names at once: the last ones are not told apart
  r->name[r->names] = (Name){.token = *t, .depth = r->depth, .until = until};
  return &r->name[r->names++];
}

static void leave_scopes(CodeReader *r, int i) {
  while (r->names > 0 &&
         (r->name[r->names - 1].until ? r->name[r->names - 1].until <= i : r->name[r->names - 1].depth > r->depth))
    r->names--;
}

// The end of an expression: a comma or semicolon outside of all brackets, or the bracket that closes what it stands in.
static int expression_end(const CodeReader *r, int i, int end) {
  static const char *const ends[] = {",", ";", ")", "]", "}", NULL}, *const opens[] = {"(", "[", "{", NULL};
  while (i < end && !is_any(&r->tokens[i], ends))
    i = is_any(&r->tokens[i], opens) ? past_group(r, i) : i + 1;
  return i;
}

// Whether a declaration begins at i: at least two names in a row, of which the first is no statement's. Then `first` is the first
// name declared.
static bool declaration(const CodeReader *r, int i, int *first, bool *shared) {
  static const char *const others[] = {"return",  "else",     "case",   "goto",  "delete", "new",     "using",
                                       "typedef", "template", "struct", "class", "enum",   "default", NULL};
  static const char *const behind[] = {"=", "[", ";", ",", "(", "{", ":", NULL};
  int words = 0;
  *shared = false;
  if (is_any(&r->tokens[i], others))
    return false;
  for (; i < r->count; i++) {
    const Token *t = &r->tokens[i];
    if (is(t, "::") || (words && (is(t, "*") || is(t, "&"))))
      continue;
    if (!is_name(t))
      return false;
    if (is(&r->tokens[i + 1], "(") && (is(t, "__align__") || is(t, "alignas"))) {
      i = past_group(r, i + 1) - 1;
      continue;
    }
    *shared = *shared || is(t, "__shared__") || is(t, "__constant__") || is(t, "__device__");
    words++;
    if (words > 1 && is_any(&r->tokens[i + 1], behind)) {
      *first = i;
      return true;
    }
  }
  return false;
}

// `name [2][4] = expression, name...;` from `first`. Returns the token that ends it.
static int declare_all(CodeReader *r, int first, int end, int until, bool shared) {
  int i = first;
  while (i < end && is_name(&r->tokens[i])) {
    Name *name = declare(r, &r->tokens[i], until);
    name->array = !shared && is(&r->tokens[i + 1], "[");
    int last = expression_end(r, i + 1, end);
    if (!name->array && !shared)
      set_unknown(name, unknown_in(r, i + 1, last, NULL));
    i = last;
    while (i < end && (is(&r->tokens[i], ",") || is(&r->tokens[i], "*") || is(&r->tokens[i], "&")))
      i++;
  }
  return i;
}

// Whether the loop over `name` has an end that the compiler knows: one of the conditions that are to hold together compares the name
// with what is known.
static bool end_is_known(CodeReader *r, int begin, int end, const Token *name) {
  for (int i = begin; i < end;) {
    int part = i;
    bool names_it = false, either = false;
    for (; part < end && !is(&r->tokens[part], "&&") && !is(&r->tokens[part], ";"); part++) {
      names_it = names_it || same(&r->tokens[part], name);
      either = either || is(&r->tokens[part], "||");
    }
    if (names_it && !either && !unknown_in(r, i, part, name))
      return true;
    i = part + 1;
  }
  return false;
}

// `name = ...` at i, or `name += ...`.
static void read_assignment(CodeReader *r, int i) {
  static const char *const assigns[] = {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", NULL};
  Name *name = is_member(r, i) ? NULL : find(r, &r->tokens[i]);
  const bool anew = is(&r->tokens[i + 1], "=");
  if (!name || name->array || !(anew || is_any(&r->tokens[i + 1], assigns)))
    return;
  const Token *from = unknown_in(r, i + 2, expression_end(r, i + 2, r->count), anew ? NULL : &name->token);
  name->unknown = name->unknown && !anew;
  set_unknown(name, from);
}

static int past_semicolon(const CodeReader *r, int i, int end) {
  while (i < end && !is(&r->tokens[i], ";"))
    i++;
  return i < end ? i + 1 : end;
}

// Of a loop whose condition is from `condition` on.
static void read_loop_variable(CodeReader *r, Name *name, int condition, int close) {
  const int step = past_semicolon(r, condition, close);
  const Token *end = unknown_in(r, condition, step, &name->token);
  if (end && !end_is_known(r, condition, step, &name->token))
    set_unknown(name, end);
  set_unknown(name, unknown_in(r, step, close, &name->token));
}

// for (int i = a; i < b; i += c), or without int: its variables, and whether they are known. Returns the bracket that ends the head.
static int read_for(CodeReader *r, int i) {
  const int open = i + 1, close = past_group(r, open) - 1, until = past_statement(r, i);
  const int condition = past_semicolon(r, open, close), begin = r->names;
  int first;
  bool shared;
  if (declaration(r, open + 1, &first, &shared)) {
    declare_all(r, first, close, until, false);
    for (int n = begin; n < r->names; n++)
      read_loop_variable(r, &r->name[n], condition, close);
  } else {
    read_assignment(r, open + 1);
    Name *name = is(&r->tokens[open + 2], "=") ? find(r, &r->tokens[open + 1]) : NULL;
    if (name && !name->array)
      read_loop_variable(r, name, condition, close);
  }
  return close;
}

// ---- functions --------------------------------------------------------------------------------------------------------------

static char *describe_index(CodeReader *r, const Token *array, const Token *index) {
  const Name *name = find(r, index);
  char *text, from[160] = "";
  if (name && name->unknown && name->from.length)
    snprintf(from, sizeof from, " (it depends on %.*s)", name->from.length > 100 ? 100 : name->from.length,
             name->from.at);
  if (asprintf(
          &text,
          "line %d: the index %.*s%s of %.*s is not known at compile time. A local array is in registers only if all "
          "its indices are known. Otherwise it is in slow local memory, which the score does not include\n",
          array->line, index->length, index->at, from, array->length, array->at) < 0)
    fatal_error("no memory for a report");
  return text;
}

// name[i][j] at i.
static char *read_use(CodeReader *r, int i) {
  const Name *name = is_member(r, i) ? NULL : find(r, &r->tokens[i]);
  for (int group = i + 1; name && name->array && is(&r->tokens[group], "["); group = past_group(r, group)) {
    const Token *index = unknown_in(r, group + 1, past_group(r, group) - 1, NULL);
    if (index)
      return describe_index(r, &r->tokens[i], index);
  }
  return NULL;
}

// A function's parameters, of which a kernel's are not known; `open` is their bracket.
static void declare_parameters(CodeReader *r, int open, int close, bool kernel, int until) {
  for (int i = open + 1; i < close;) {
    const int end = expression_end(r, i, close);
    int last = -1;
    for (int k = i; k < end && !is(&r->tokens[k], "=") && !is(&r->tokens[k], "["); k++)
      last = is_name(&r->tokens[k]) ? k : last;
    if (last >= 0) {
      Name *name = declare(r, &r->tokens[last], until);
      name->unknown = kernel;
    }
    i = end + 1;
  }
}

// Whether a function of the device begins at i, with __global__ or __device__; then its parameters and its body.
static bool function(const CodeReader *r, int i, int *open, int *body) {
  if (!is(&r->tokens[i], "__global__") && !is(&r->tokens[i], "__device__"))
    return false;
  for (; i < r->count && !is(&r->tokens[i], ";") && !is(&r->tokens[i], "=") && !is(&r->tokens[i], "{"); i++) {
    if (is(&r->tokens[i], "__launch_bounds__"))
      i = past_group(r, i + 1) - 1;
    else if (is(&r->tokens[i], "(")) {
      *open = i;
      *body = past_group(r, i);
      return is(&r->tokens[*body], "{");
    }
  }
  return false;
}

// Behind a bracket: of an if's or a loop's head, and not of a cast.
static bool statement_begins(const CodeReader *r, int i) {
  static const char *const before[] = {"{", "}", ";", "else", "do", NULL};
  static const char *const with_head[] = {"for", "while", "if", "switch", "constexpr", NULL};
  if (is_any(&r->tokens[i - 1], before))
    return true;
  if (!is(&r->tokens[i - 1], ")"))
    return false;
  int depth = 0, open = i - 1;
  do {
    depth += is(&r->tokens[open], ")") - is(&r->tokens[open], "(");
  } while (depth > 0 && --open > 0);
  return open > 0 && is_any(&r->tokens[open - 1], with_head);
}

static char *read_body(CodeReader *r, int body) {
  const int end = past_group(r, body);
  char *why = NULL;
  for (int i = body; i < end && !why; i++) {
    const Token *t = &r->tokens[i];
    int first;
    bool shared;
    r->depth += is(t, "{") - is(t, "}");
    leave_scopes(r, i);
    if (is(t, "for") && is(&r->tokens[i + 1], "(")) {
      i = read_for(r, i) - 1;
      continue;
    }
    if (i > body && statement_begins(r, i) && declaration(r, i, &first, &shared))
      declare_all(r, first, end, 0, shared);
    if (is_name(t)) {
      why = read_use(r, i);
      read_assignment(r, i);
    }
  }
  r->names = 0;
  r->depth = 0;
  return why;
}

char *forbidden_in_registers(const char *source) {
  CodeReader r = {0};
  char *why = NULL;
  read_tokens(&r, source);
  for (int i = 0; i < r.count && !why; i++) {
    int open, body;
    if (!function(&r, i, &open, &body))
      continue;
    declare_parameters(&r, open, body - 1, is(&r.tokens[i], "__global__"), past_group(&r, body));
    why = read_body(&r, body);
    i = past_group(&r, body) - 1;
  }
  free(r.tokens);
  return why;
}
