// SPDX-License-Identifier: MIT
#include "forbidden.h"
#include "case.h"
#include "sim/compile/c_tokens.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A thread has at most 255 registers of 4 bytes. g++ needs some room besides, and keeps arrays on its stack that nvcc would not.
enum { MOST_STACK = 2048 };

static char *format_text(const char *format, const char *what) {
  char *text;
  if (asprintf(&text, format, what) < 0)
    fatal_error("no memory for a report");
  return text;
}

// Without line breaks that a backslash hides, as the compiler joins lines before it looks for words.
static char *joined(const char *source) {
  char *text = malloc(strlen(source) + 1), *to = text;
  if (!text)
    fatal_error("no memory for an answer");
  for (const char *from = source; *from;) {
    size_t gap = *from == '\\' ? 1 + strspn(from + 1, " \t\r") : 0;
    if (gap && from[gap] == '\n')
      from += gap + 1;
    else
      *to++ = *from++;
  }
  *to = '\0';
  return text;
}

// Also the runtime's own names, which are for its headers, and the processor's instructions as functions. `directive`: it may be part of
// a header's name.
static bool is_refused(const char *word, size_t length, bool directive) {
  static const char *const whole[] = {"asm", "__asm", "__asm__", "_Pragma", "__pragma", "alloca"};
  static const char *const within[] = {"no_sanitize", "no_instrument", "__builtin_", "__atomic_",
                                       "__sync_",     "cudasim_",      "CUDASIM_",   "__tsan_",
                                       "__ubsan_",    "__sanitizer_",  "weakref"};
  static const char *const first[] = {"_mm", "_movdir", "_directstore", "_tile_"};
  char text[128];
  if (length >= sizeof text)
    return false;
  snprintf(text, sizeof text, "%.*s", (int)length, word);
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
    if (strcmp(text, whole[i]) == 0)
      return true;
  for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
    if (strstr(text, within[i]))
      return true;
  for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
    if (strncmp(text, first[i], strlen(first[i])) == 0)
      return true;
  return directive && (strstr(text, "intrin") || strncmp(text, "arm_", 4) == 0);
}

static bool begins_directive(const char *at) {
  return *at == '#' || strncmp(at, "%:", 2) == 0;
}

static char *refuse_word(const char *at, size_t length, bool directive) {
  char text[128];
  snprintf(text, sizeof text, "%.*s", (int)length, at);
  return is_refused(at, length, directive)
             ? format_text("%s is not allowed in a performance challenge: the inspector could not count what it does\n",
                           text)
             : NULL;
}

// The compiler takes R"(...)" as it is in the file, with the line breaks that a backslash hides elsewhere.
static char *refuse_raw(const struct c_token *t) {
  char prefix[8];
  snprintf(prefix, sizeof prefix, "%.*s", (int)strcspn(t->at, "\""), t->at);
  return format_text("%s is not allowed in a performance challenge: write the string without this prefix\n", prefix);
}

// The words of a string in a directive: it may be a header's name.
static char *refuse_in_literal(const struct c_token *t) {
  char *why = NULL;
  for (const char *at = t->at; !why && at < t->at + t->length;) {
    size_t length = 0;
    while (is_word(at[length]))
      length++;
    why = length > 0 ? refuse_word(at, length, true) : NULL;
    at += length > 0 ? length : 1;
  }
  return why;
}

static char *refuse_token(const struct c_token *t, bool directive) {
  if (t->raw)
    return refuse_raw(t);
  if (t->kind == C_LITERAL)
    return directive ? refuse_in_literal(t) : NULL;
  if (t->kind == C_WORD)
    return refuse_word(t->at, t->length, directive);
  if (strncmp(t->at, "##", 2) == 0 || strncmp(t->at, "%:%:", 4) == 0)
    return format_text("%s is not allowed in a performance challenge: write the whole name\n", "##");
  return NULL;
}

// Comments and strings may contain any word. A quote without its end hides nothing: what comes after it is checked.
char *forbidden_in_source(const char *source) {
  char *text = joined(source), *why = NULL;
  struct c_lexer lexer = c_lexer_of(text, strlen(text));
  struct c_token t;
  bool directive = false;
  while (!why && c_next(&lexer, &t)) {
    if (t.kind == C_COMMENT)
      continue;
    directive = t.first ? begins_directive(t.at) : directive;
    why = refuse_token(&t, directive);
    if (t.kind == C_LITERAL && !t.closed)
      lexer.at = t.at + 1;
  }
  free(text);
  return why;
}

static bool is_the_hosts(const Exercise *e, const char *line) {
  for (int i = 0; i < MAX_FUNCTIONS && e->functions[i]; i++) {
    const char *name = strstr(line, e->functions[i]);
    if (name && name > line && name[-1] == ' ' && name[strlen(e->functions[i])] == '(')
      return true;
  }
  return false;
}

// "answer.cpp:12:17:void work(float*, int)	4208	static"
char *forbidden_on_stack(const Exercise *e, const char *usage) {
  char line[2048], *why = NULL;
  for (const char *at = usage; *at && !why;) {
    size_t length = strcspn(at, "\n");
    snprintf(line, sizeof line, "%.*s", length < sizeof line ? (int)length : 0, at);
    char *bytes = strchr(line, '\t'), *kind = bytes ? strchr(bytes + 1, '\t') : NULL, what[200];
    const long taken = bytes ? strtol(bytes + 1, NULL, 10) : 0;
    const bool open_ended = kind && strcmp(kind + 1, "dynamic") == 0;
    if (bytes && (taken > MOST_STACK || open_ended) && !is_the_hosts(e, line)) {
      *bytes = '\0';
      const char *name = strrchr(line, ':');
      snprintf(what, sizeof what, "%.120s: %ld bytes%s", name ? name + 1 : line, taken, open_ended ? " and more" : "");
      why = format_text(
          "a thread has too many local variables (%s). It has 255 registers of 4 bytes; the rest goes to slow local "
          "memory, which the score does not include\n",
          what);
    }
    at += length + (at[length] == '\n');
  }
  return why;
}
