// SPDX-License-Identifier: MIT
// A lexer for C and C++ text: comments, string and character literals (raw ones and their prefixes included), numbers with digit
// separators, words, signs. For cu2cpp, `./ferry nvcc` and the grader. It allocates nothing and never fails: a literal without an end is
// a token too.
#ifndef C_TOKENS_H
#define C_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

int is_word(char c); // a letter, a digit, an underscore
int is_space(char c);

enum c_token_kind { C_WORD, C_NUMBER, C_LITERAL, C_COMMENT, C_SIGN };

struct c_token {
  enum c_token_kind kind;
  const char *at;
  size_t length;
  int line;    // of its first character, from 1
  bool first;  // no token but comments before it on its line
  bool raw;    // R"(...)", whose prefix is part of the token
  bool closed; // a literal or comment that has its end
};

// The text between two pointers, with a NUL at `end`.
struct c_lexer {
  const char *at, *end;
  int line;
  bool line_begins;
};

struct c_lexer c_lexer_of(const char *text, size_t length);

// The next token; false at the end of the text. `>>` is two signs, since it may end template arguments.
bool c_next(struct c_lexer *l, struct c_token *token);

// After a token that is the # of a directive: skips the rest of the directive, continued lines and comments included.
void c_skip_directive(struct c_lexer *l);
const char *c_directive_end(const char *at, const char *end);

// The end of the comment or literal that begins at `at`, which may be anywhere in the text from `begin` to `end`; `at` if none does.
const char *c_opaque_end(const char *begin, const char *at, const char *end);

#endif
