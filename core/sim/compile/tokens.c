// SPDX-License-Identifier: MIT
// The tokens of a file and of the files that it includes, with its macros, matching brackets and declarations.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/compile/kernel.h"

enum { BUCKETS = 1 << 14, MAX_INCLUDED_FILES = 400 };

static void *grown(void *items, size_t bytes) {
  void *bigger = realloc(items, bytes);
  if (bigger == NULL)
    fail(input_name, "out of memory");
  return bigger;
}

static unsigned int hash(const char *p, int length) {
  unsigned int h = 2166136261u;
  for (int i = 0; i < length; i++)
    h = (h ^ (unsigned char)p[i]) * 16777619u;
  return h % BUCKETS;
}

static void add(struct tokens *t, enum token_kind kind, const char *p, size_t length) {
  if (t->count == t->capacity) {
    t->capacity = 2 * t->capacity + 1024;
    t->all = grown(t->all, (size_t)t->capacity * sizeof *t->all);
  }
  struct token *token = &t->all[t->count];
  *token = (struct token){.kind = kind,
                          .p = p,
                          .length = (int)length,
                          .same = -1,
                          .match = -1,
                          .within = -1,
                          .declared = -1,
                          .system = t->system};
  if (kind == TOKEN_WORD) {
    int *last = &t->words[hash(p, token->length)];
    token->same = *last; // of the same bucket at first: token_last and its users compare
    *last = t->count;
  }
  t->count++;
}

static int is_comment(const char *p) {
  return p[0] == '/' && (p[1] == '/' || p[1] == '*');
}

static size_t directive_end(const struct text *in, size_t i) {
  return (size_t)(c_directive_end(in->bytes + i, in->bytes + in->length) - in->bytes);
}

static void read_plain(struct tokens *t, const struct text *in, size_t begin, size_t end) {
  static const enum token_kind kinds[] = {
      [C_WORD] = TOKEN_WORD, [C_NUMBER] = TOKEN_NUMBER, [C_LITERAL] = TOKEN_LITERAL, [C_SIGN] = TOKEN_SIGN};
  struct c_lexer l = c_lexer_of(in->bytes, in->length);
  struct c_token token;
  l.at = in->bytes + begin;
  while (l.at < in->bytes + end && c_next(&l, &token) && token.at < in->bytes + end)
    if (token.kind != C_COMMENT)
      add(t, kinds[token.kind], token.at, token.length);
}

static void read_macro(struct tokens *t, const struct text *in, size_t begin, size_t end) {
  while (begin < end && is_space(in->bytes[begin]))
    begin++;
  const int name = t->count;
  read_plain(t, in, begin, end);
  if (t->count == name || t->all[name].kind != TOKEN_WORD)
    return;
  if (t->macro_count == t->macro_capacity) {
    t->macro_capacity = 2 * t->macro_capacity + 64;
    t->macros = grown(t->macros, (size_t)t->macro_capacity * sizeof *t->macros);
  }
  const struct token *first = &t->all[name];
  const bool arguments = first->p[first->length] == '(';
  int body = name + 1;
  while (arguments && body < t->count && !token_is(t, body, ")"))
    body++;
  t->macros[t->macro_count++] = (struct macro){name, arguments, body + arguments, t->count};
}

// Whether what comes after a line `# 12 "file" 1 3` is of a system header: one of the flags behind the name is 3.
static bool enters_system_header(const char *line, size_t length) {
  const char *end = line + length, *quote = end;
  while (quote > line && *quote != '"')
    quote--;
  for (const char *p = quote; p < end; p++)
    if (*p == '3' && p[-1] == ' ')
      return true;
  return false;
}

static bool is_marker(const char *line) {
  return line[1] == ' ' && isdigit((unsigned char)line[2]);
}

struct reader {
  struct tokens *t;
  char *files[MAX_INCLUDED_FILES];
  struct text texts[MAX_INCLUDED_FILES];
  int file_count, read;
  bool includes;
};

static char *find(const char *from, const char *name, size_t length) {
  const char *slash = strrchr(from, '/');
  const int folder = slash ? (int)(slash + 1 - from) : 0;
  char *path = grown(NULL, strlen(from) + length + 64);
  static const char *const roots[] = {"", "core/", "build/include/", "core/sim/include/", "tests/", "chapters/"};
  sprintf(path, "%.*s%.*s", folder, from, (int)length, name);
  for (size_t r = 0; access(path, R_OK) != 0; r++) {
    if (r == sizeof roots / sizeof *roots) {
      free(path);
      return NULL;
    }
    sprintf(path, "%s%.*s", roots[r], (int)length, name);
  }
  return path;
}

static void include(struct reader *r, const char *from, const char *name) {
  const char *end = strchr(name, '"');
  char *path = end ? find(from, name, (size_t)(end - name)) : NULL;
  bool here = path == NULL;
  r->t->unknown |= path == NULL || r->file_count == MAX_INCLUDED_FILES;
  for (int i = 0; i < r->file_count && !here; i++)
    here = strcmp(r->files[i], path) == 0;
  if (here || r->file_count == MAX_INCLUDED_FILES)
    free(path);
  else
    r->files[r->file_count++] = path;
}

// The tokens of a text without its macros, each with its brackets.
static void read_text(struct reader *r, const struct text *in, const char *name, bool keep_directives) {
  size_t plain = 0;
  bool line_begins = true;
  for (size_t i = 0; i < in->length;) {
    size_t after = skip_opaque(in, i);
    if (after != i) {
      line_begins = line_begins && is_comment(in->bytes + i);
      i = after;
    } else if (in->bytes[i] == '#' && line_begins) {
      const size_t end = directive_end(in, i);
      const char *p = skip_spaces(in->bytes + i + 1);
      read_plain(r->t, in, plain, i);
      if (!r->includes && is_marker(in->bytes + i))
        r->t->system = enters_system_header(in->bytes + i, end - i);
      if (keep_directives)
        add(r->t, TOKEN_DIRECTIVE, in->bytes + i, end - i);
      if (r->includes && strncmp(p, "include", 7) == 0 && *skip_spaces(p + 7) == '"')
        include(r, name, skip_spaces(p + 7) + 1);
      i = plain = end;
    } else {
      line_begins = in->bytes[i] == '\n' || (line_begins && is_space(in->bytes[i]));
      i++;
    }
  }
  read_plain(r->t, in, plain, in->length);
}

static void read_macros(struct tokens *t, const struct text *in) {
  for (size_t i = 0; i < in->length; i++) {
    i += strspn(in->bytes + i, " \t");
    if (in->bytes[i] == '#') {
      const size_t end = directive_end(in, i);
      const char *p = skip_spaces(in->bytes + i + 1);
      if (strncmp(p, "define", 6) == 0)
        read_macro(t, in, (size_t)(p + 6 - in->bytes), end);
      i = end;
    } else {
      while (i < in->length && in->bytes[i] != '\n')
        i++;
    }
  }
}

static bool is_namespace(const struct tokens *t, int brace) {
  int i = brace - 1;
  if (i > 0 && t->all[i].kind == TOKEN_LITERAL && token_is(t, i - 1, "extern"))
    return true;
  while (i >= 0 && (t->all[i].kind == TOKEN_WORD || token_is(t, i, "::")) && !token_is(t, i, "namespace"))
    i--;
  return i >= 0 && token_is(t, i, "namespace");
}

static void match_brackets(struct tokens *t, int from) {
  int *open = grown(NULL, ((size_t)t->count + 1) * sizeof *open), count = 0, depth = 0;
  for (int i = from; i < t->count; i++) {
    struct token *token = &t->all[i];
    token->within = count > 0 ? open[count - 1] : -1;
    token->depth = depth;
    if (token->kind != TOKEN_SIGN || token->length != 1)
      continue;
    if (strchr("([{", *token->p)) {
      open[count++] = i;
      depth += *token->p == '{' && !is_namespace(t, i);
    } else if (strchr(")]}", *token->p) && count > 0) {
      const int other = open[--count];
      depth -= *t->all[other].p == '{' && !is_namespace(t, other);
      token->match = other;
      token->within = t->all[other].within;
      token->depth = depth;
      t->all[other].match = i;
    }
  }
  free(open);
}

static bool is_of_simulator(const char *file) {
  return strstr(file, "core/sim/include/") != NULL;
}

static void note_declaration(struct tokens *t, int i) {
  int *last = &t->declarations[hash(t->all[i].p, t->all[i].length)];
  t->all[i].declared = *last;
  *last = i;
}

// The statement at whose end the word stands begins with typedef.
static bool is_typedef(const struct tokens *t, int i) {
  while (i > 0 && !token_is(t, i, ";") && !token_is(t, i, "}") && !token_is(t, i, "{") && !token_is(t, i, "typedef"))
    i--;
  return token_is(t, i, "typedef");
}

// A function with its body anywhere, a type anywhere, anything in the whole text.
static bool declares(const struct tokens *t, int i) {
  static const char *const types[] = {"struct", "class", "union", "enum", NULL};
  static const char *const before_names[] = {"*", "&", ">", ",", "]", NULL};
  static const char *const before_members[] = {"::", "{", "}", ";", "~", NULL};
  static const char *const after_types[] = {"{", ":", ";", NULL}, *const after_names[] = {"(", "=", ";", ",",
                                                                                          "[", "{", ":", NULL};
  const int before = token_before(t, i), next = token_next(t, i), within = t->all[i].within;
  if (before < 0 || t->all[i].kind != TOKEN_WORD || t->all[i].system)
    return false;
  if (token_in(t, before, types))
    return token_in(t, next, after_types);
  if (token_is(t, before, "using") || (token_is(t, next, ";") && is_typedef(t, i)))
    return !token_is(t, before, "using") || token_is(t, next, "=");
  const bool word = t->all[before].kind == TOKEN_WORD && !known_keyword(t, before);
  const bool typed = word || token_in(t, before, before_names);
  if (token_is(t, next, "(") && (typed || token_in(t, before, before_members)) && known_body(t, i) >= 0)
    return true;
  return typed && token_in(t, next, after_names) && t->all[i].depth == 0 && (within < 0 || token_is(t, within, "{"));
}

static void note_declarations(struct tokens *t) {
  for (int i = 0; i < t->text_count; i++)
    if (declares(t, i))
      note_declaration(t, i);
}

void tokens_read(struct tokens *t, const struct text *in, bool includes) {
  struct reader r = {.t = t, .includes = includes};
  t->words = grown(NULL, BUCKETS * sizeof *t->words);
  t->declarations = grown(NULL, BUCKETS * sizeof *t->declarations);
  for (int i = 0; i < BUCKETS; i++)
    t->words[i] = t->declarations[i] = -1;
  read_text(&r, in, input_name, true);
  t->main_count = t->count;
  for (; r.read < r.file_count; r.read++) { // texts stay: tokens point into them
    r.texts[r.read] = read_file(r.files[r.read]);
    t->system = is_of_simulator(r.files[r.read]);
    read_text(&r, &r.texts[r.read], r.files[r.read], false);
  }
  t->system = false;
  t->text_count = t->count;
  match_brackets(t, 0);
  note_declarations(t);
  if (includes)
    read_macros(t, in);
  for (int i = 0; i < r.file_count; i++) {
    t->system = is_of_simulator(r.files[i]);
    read_macros(t, &r.texts[i]);
  }
  t->system = false;
  for (int m = 0; m < t->macro_count; m++)
    if (!t->all[t->macros[m].name].system)
      note_declaration(t, t->macros[m].name);
}

int tokens_add(struct tokens *t, const struct text *in) {
  struct reader r = {.t = t};
  const int from = t->count;
  read_text(&r, in, input_name, true);
  match_brackets(t, from);
  return from;
}

void tokens_free(struct tokens *t) { // the process ends soon after
  free(t->all);
  free(t->macros);
  free(t->words);
  free(t->declarations);
}

bool token_is(const struct tokens *t, int i, const char *spelling) {
  return i >= 0 && i < t->count && strncmp(t->all[i].p, spelling, (size_t)t->all[i].length) == 0 &&
         spelling[t->all[i].length] == '\0';
}

bool token_in(const struct tokens *t, int i, const char *const *spellings) {
  for (; *spellings; spellings++)
    if (token_is(t, i, *spellings))
      return true;
  return false;
}

bool token_same(const struct tokens *t, int a, int b) {
  return t->all[a].length == t->all[b].length && memcmp(t->all[a].p, t->all[b].p, (size_t)t->all[a].length) == 0;
}

bool token_begins(const struct tokens *t, int i, const char *prefix) {
  const size_t length = strlen(prefix);
  return (size_t)t->all[i].length >= length && memcmp(t->all[i].p, prefix, length) == 0;
}

int token_next(const struct tokens *t, int i) {
  do
    i++;
  while (i < t->count && t->all[i].kind == TOKEN_DIRECTIVE);
  return i;
}

int token_before(const struct tokens *t, int i) {
  do
    i--;
  while (i >= 0 && t->all[i].kind == TOKEN_DIRECTIVE);
  return i;
}

int token_last(const struct tokens *t, int word) {
  return t->words[hash(t->all[word].p, t->all[word].length)];
}

int token_declaration(const struct tokens *t, int word) {
  return t->declarations[hash(t->all[word].p, t->all[word].length)];
}

bool token_declared(const struct tokens *t, int i) {
  for (int d = token_declaration(t, i); d >= 0; d = t->all[d].declared)
    if (token_same(t, d, i))
      return true;
  return false;
}

int token_argument_end(const struct tokens *t, int begin, int close) {
  int i = begin;
  while (i < close && !token_is(t, i, ",")) {
    const int angles = token_is(t, i, "<") ? token_past_angles(t, i) : i;
    i = angles != i ? angles : t->all[i].match > i ? t->all[i].match + 1 : i + 1;
  }
  return i;
}

struct range token_within_brackets(const struct tokens *t, struct range e) {
  while (e.end - e.begin > 2 && token_is(t, e.begin, "(") && t->all[e.begin].match == e.end - 1)
    e = (struct range){e.begin + 1, e.end - 1};
  return e;
}

int token_past_angles(const struct tokens *t, int i) {
  int depth = 0;
  for (int at = i; at < t->count; at++) {
    if (token_is(t, at, "<"))
      depth++;
    else if (token_is(t, at, ">"))
      depth--;
    else if (token_is(t, at, "("))
      at = t->all[at].match > at ? t->all[at].match : at;
    else if (t->all[at].kind == TOKEN_SIGN && !token_is(t, at, "::") && !token_is(t, at, ",") &&
             !token_is(t, at, "*") && !token_is(t, at, "&") && !token_is(t, at, "+") && !token_is(t, at, "-") &&
             !token_is(t, at, "/") && !token_is(t, at, "..."))
      return i;
    if (depth == 0)
      return at + 1;
  }
  return i;
}
