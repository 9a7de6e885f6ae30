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
    grader_panic("no memory for a report");
  return text;
}

// Without line breaks that a backslash hides, as the compiler joins lines before it looks for words.
static char *joined(const char *source) {
  char *text = malloc(strlen(source) + 1), *to = text;
  if (!text)
    grader_panic("no memory for an answer");
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

static bool is_refused(const char *word, size_t length) {
  static const char *const whole[] = {"asm", "__asm", "__asm__", "_Pragma", "__pragma", "alloca"};
  static const char *const within[] = {"no_sanitize", "no_instrument", "__builtin_", "__atomic_", "__sync_"};
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
  return false;
}

char *unseen_in_source(const char *source) {
  char *text = joined(source), *why = NULL, word[128];
  if (strstr(text, "##") || strstr(text, "%:%:"))
    why = say("%s is not for an open exercise: a word must be what it is\n", "##");
  for (const char *at = text; !why && *at;) {
    size_t length = 0;
    while (is_word((unsigned char)at[length]))
      length++;
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    if (length > 0 && is_refused(at, length))
      why = say("%s is not for an open exercise: what it does could not be counted, and so not be scored\n", word);
    at += length > 0 ? length : 1;
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
