// SPDX-License-Identifier: MIT
#include "sim/compile/c_tokens.h"

#include <ctype.h>
#include <string.h>

int is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

int is_space(char c) {
  return isspace((unsigned char)c);
}

// ---- comments and literals -----------------------------------------------------------------------------------------------

// The bytes of a backslash and the line break after it; 0: there is none at `at`.
static size_t splice(const char *at) {
  return at[0] != '\\' ? 0 : at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static const char *line_end(const char *at, const char *end) {
  while (at < end && *at != '\n')
    at += splice(at) ? splice(at) : 1;
  return at < end ? at : end;
}

static const char *comment_end(const char *at, const char *end, bool *closed) {
  *closed = true;
  if (at[1] == '/')
    return line_end(at, end);
  for (const char *p = at + 2; p + 1 < end; p++)
    if (p[0] == '*' && p[1] == '/')
      return p + 2;
  *closed = false;
  return end;
}

// A literal without its quote ends before the line break.
static const char *quoted_end(const char *at, const char *end, bool *closed) {
  const char quote = *at++;
  while (at < end && *at != quote && *at != '\n')
    at += splice(at) ? splice(at) : *at == '\\' && at + 1 < end ? 2 : 1;
  at = at < end ? at : end;
  *closed = at < end && *at == quote;
  return *closed ? at + 1 : at;
}

// `quote`: of R"delimiter(. NULL: it is no raw string.
static const char *raw_end(const char *quote, const char *end, bool *closed) {
  enum { LONGEST_DELIMITER = 16 };
  const char *name = quote + 1;
  const size_t length = strcspn(name, "()\\\" \t\r\n\v\f");
  if (length > LONGEST_DELIMITER || name[length] != '(')
    return NULL;
  for (const char *p = name + length; p + length + 1 < end; p++)
    if (*p == ')' && memcmp(p + 1, name, length) == 0 && p[length + 1] == '"') {
      *closed = true;
      return p + length + 2;
    }
  *closed = false;
  return end;
}

static bool is_raw_prefix(const char *word, size_t length) {
  static const char *const prefixes[] = {"R", "u8R", "uR", "UR", "LR"};
  for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
    if (length == strlen(prefixes[p]) && memcmp(word, prefixes[p], length) == 0)
      return true;
  return false;
}

static bool is_comment(const char *at) {
  return at[0] == '/' && (at[1] == '/' || at[1] == '*');
}

// ---- at any place of a text ----------------------------------------------------------------------------------------------

static const char *word_begin(const char *begin, const char *at) {
  while (at > begin && is_word(at[-1]))
    at--;
  return at;
}

// The ' at `at` is within a number: 1'000, 0xff'ff.
static bool is_digit_separator(const char *begin, const char *at) {
  const char *word = word_begin(begin, at);
  while (word > begin + 1 && word < at && word[-1] == '\'' && is_word(word[-2]))
    word = word_begin(begin, word - 1);
  return word < at && isdigit((unsigned char)*word) && is_word(at[1]);
}

const char *c_opaque_end(const char *begin, const char *at, const char *end) {
  bool closed;
  if (is_comment(at))
    return comment_end(at, end, &closed);
  if (at[0] == 'R' && at[1] == '"') {
    const char *word = word_begin(begin, at), *raw = raw_end(at + 1, end, &closed);
    if (raw && is_raw_prefix(word, (size_t)(at + 1 - word)))
      return raw;
  }
  if (*at == '"' || (*at == '\'' && !is_digit_separator(begin, at)))
    return quoted_end(at, end, &closed);
  return at;
}

// ---- token by token ------------------------------------------------------------------------------------------------------

struct c_lexer c_lexer_of(const char *text, size_t length) {
  return (struct c_lexer){.at = text, .end = text + length, .line = 1, .line_begins = true};
}

static size_t sign_length(const char *p) {
  static const char *const signs[] = {"<<<", ">>>", "<<=", ">>=", "...", "->*", "::", "->", "++",
                                      "--",  "+=",  "-=",  "*=",  "/=",  "%=",  "&=", "|=", "^=",
                                      "==",  "!=",  "<=",  ">=",  "&&",  "||",  "<<"};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (strncmp(p, signs[i], strlen(signs[i])) == 0)
      return strlen(signs[i]);
  return 1;
}

// 1'000, 1.5e-3f, 0x1p-3. Unlike in the standard's "preprocessing number", 0xe-x are three tokens.
static const char *number_end(const char *at) {
  const bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
  const char *const exponents = hex ? "pP" : "eE", *p = at + 1;
  while (is_word(*p) || *p == '.' || (*p == '\'' && is_word(p[1])) ||
         ((*p == '+' || *p == '-') && strchr(exponents, p[-1])))
    p++;
  return p;
}

static void skip_gap(struct c_lexer *l) {
  while (l->at < l->end && (is_space(*l->at) || splice(l->at))) {
    const size_t step = splice(l->at) ? splice(l->at) : 1;
    l->line += l->at[step - 1] == '\n';
    l->line_begins |= step == 1 && *l->at == '\n';
    l->at += step;
  }
}

bool c_next(struct c_lexer *l, struct c_token *token) {
  skip_gap(l);
  if (l->at >= l->end)
    return false;
  const char *at = l->at, *end = at;
  *token = (struct c_token){.kind = C_SIGN, .at = at, .line = l->line, .first = l->line_begins, .closed = true};
  if (is_comment(at)) {
    token->kind = C_COMMENT;
    end = comment_end(at, l->end, &token->closed);
  } else if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]))) {
    token->kind = C_NUMBER;
    end = number_end(at);
  } else if (is_word(*at)) {
    while (is_word(*end))
      end++;
    const char *raw =
        *end == '"' && is_raw_prefix(at, (size_t)(end - at)) ? raw_end(end, l->end, &token->closed) : NULL;
    token->kind = raw ? C_LITERAL : C_WORD;
    token->raw = raw != NULL;
    end = raw ? raw : end;
  } else if (*at == '"' || *at == '\'') {
    token->kind = C_LITERAL;
    end = quoted_end(at, l->end, &token->closed);
  } else {
    end = at + sign_length(at);
  }
  token->length = (size_t)(end - at);
  for (; l->at < end; l->at++)
    l->line += *l->at == '\n';
  l->line_begins &= token->kind == C_COMMENT;
  return true;
}

const char *c_directive_end(const char *at, const char *end) {
  bool closed;
  while (at < end && *at != '\n')
    at = is_comment(at) ? comment_end(at, end, &closed) : at + (splice(at) ? splice(at) : 1);
  return at < end ? at : end;
}

void c_skip_directive(struct c_lexer *l) {
  for (const char *end = c_directive_end(l->at, l->end); l->at < end; l->at++)
    l->line += *l->at == '\n';
}
