#include "unseen.h"
#include "case.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A thread has at most 255 registers of 4 bytes. g++ needs some room besides, and keeps arrays on its stack that nvcc would not.
enum { MOST_STACK = 2048 };

static char *say(const char *format, const char *what) {
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

static bool is_word(int c) {
  return isalnum(c) || c == '_';
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

// ---- what the compiler takes for one word --------------------------------------------------------------------------------------

// Behind a comment that begins here; `at`, where none does.
static const char *after_comment(const char *at) {
  if (strncmp(at, "//", 2) == 0)
    return at + strcspn(at, "\n");
  if (strncmp(at, "/*", 2) != 0)
    return at;
  const char *end = strstr(at + 2, "*/");
  return end ? end + 2 : at + strlen(at);
}

// Behind a string or a character that begins here; `at`, where none does, or where it does not end on its line.
static const char *after_literal(const char *at) {
  const char quote = *at;
  if (quote != '"' && quote != '\'')
    return at;
  for (const char *end = at + 1; *end && *end != '\n'; end++)
    if (*end == '\\' && end[1] && end[1] != '\n')
      end++;
    else if (*end == quote)
      return end + 1;
  return at;
}

// Behind a number such as 1'000'000 or 1.5e-3f.
static const char *after_number(const char *at) {
  if (!isdigit((unsigned char)at[*at == '.']))
    return at;
  while (is_word((unsigned char)*at) || *at == '.' || (*at == '\'' && is_word((unsigned char)at[1])))
    at++;
  return at;
}

// R"(...)": the compiler takes it as it is in the file, with the line breaks that a backslash hides elsewhere.
static bool is_raw_string(const char *word, size_t length) {
  return word[length] == '"' && length > 0 && length <= 3 && word[length - 1] == 'R';
}

static bool begins_directive(const char *at) {
  return *at == '#' || strncmp(at, "%:", 2) == 0;
}

static size_t word_length(const char *at) {
  size_t length = 0;
  while (is_word((unsigned char)at[length]))
    length++;
  return length;
}

static char *refuse_word(const char *at, size_t length, bool directive) {
  char text[128];
  snprintf(text, sizeof text, "%.*s", (int)length, at);
  if (is_raw_string(at, length))
    return say("%s is not for an open exercise: write the string without it\n", text);
  return is_refused(at, length, directive)
             ? say("%s is not for an open exercise: what it does could not be counted, and so not be scored\n", text)
             : NULL;
}

// The words of a string in a directive: it may be a header's name.
static char *refuse_in_literal(const char *at, const char *end) {
  char *why = NULL;
  while (!why && at < end) {
    const size_t length = word_length(at);
    why = length > 0 ? refuse_word(at, length, true) : NULL;
    at += length > 0 ? length : 1;
  }
  return why;
}

// Comments and strings may have any word in them.
char *unseen_in_source(const char *source) {
  char *text = joined(source), *why = NULL;
  bool line_begins = true, directive = false;
  for (const char *at = text; !why && *at;) {
    const char *comment = after_comment(at), *literal = after_literal(at), *number = after_number(at);
    const size_t length = word_length(at);
    directive = *at != '\n' && (directive || (line_begins && begins_directive(at)));
    line_begins = *at == '\n' || (line_begins && (isspace((unsigned char)*at) || comment > at));
    if (comment > at) {
      at = comment;
    } else if (literal > at) {
      why = directive ? refuse_in_literal(at, literal) : NULL;
      at = literal;
    } else if (number > at) {
      at = number;
    } else if (length > 0) {
      why = refuse_word(at, length, directive);
      at += length;
    } else {
      if (strncmp(at, "##", 2) == 0 || strncmp(at, "%:%:", 4) == 0)
        why = say("%s is not for an open exercise: a word must be what it is\n", "##");
      at++;
    }
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
char *unseen_on_stack(const Exercise *e, const char *usage) {
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
      why =
          say("a thread has too many variables of its own (%s): it has 255 registers of 4 bytes, and what does not fit "
              "is slow memory, which the score does not know\n",
              what);
    }
    at += length + (at[length] == '\n');
  }
  return why;
}
