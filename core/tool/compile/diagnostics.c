// SPDX-License-Identifier: MIT
// Compilers' messages made fit to read. What they quote comes from an answer, so each piece has a limit.
#include "tool/compile/diagnostics.h"
#include "tool/print/usage.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 3, MOST_MESSAGES = 200, LINE_BYTES = 300, RAW_BYTES = 4000 };

// A message and what belongs to it: from its first line to the next one's.
typedef struct Said {
  const char *at, *words; // its first line; what follows "error: "
  size_t length;          // with quoted lines and notes
  bool error, own;
} Said;

typedef struct Reading {
  Said said[MOST_MESSAGES];
  int count, errors;
} Reading;

size_t diagnostics_line(const char *text) {
  const char *end = strchr(text, '\n');
  return end ? (size_t)(end - text) + 1 : strlen(text);
}

// What follows `kind` (": error: ") in a line that begins with a place, NULL: it is no such line.
static const char *after_kind(const char *line, size_t length, const char *kind) {
  const char *at = line[0] == ' ' ? NULL : memmem(line, length, kind, strlen(kind));
  return at ? at + strlen(kind) : NULL;
}

static bool belongs_to_the_next(const char *line, size_t length) {
  return strncmp(line, "In file included from", 21) == 0 || strncmp(line, "                 from ", 22) == 0 ||
         memmem(line, length, ": In function ", 14) || memmem(line, length, ": In lambda ", 12) ||
         memmem(line, length, ": At ", 5) || memmem(line, length, "required from", 13);
}

static void read_messages(Reading *r, const char *said, const char *title) {
  Said *open = NULL;
  bool leads_in = false; // lines that say where the next one stands: an error, or a note on the one before
  size_t length;
  for (const char *line = said; *line; line += length) {
    length = diagnostics_line(line);
    const char *words = after_kind(line, length, ": error: ");
    bool error = words || (words = after_kind(line, length, ": fatal error: "));
    if (words || (words = after_kind(line, length, ": warning: "))) {
      if (r->count == MOST_MESSAGES)
        return;
      open = &r->said[r->count++];
      *open = (Said){.at = line, .words = words, .error = error};
      open->own = strncmp(line, title, strlen(title)) == 0 && line[strlen(title)] == ':';
      r->errors += error;
      leads_in = false;
    } else if (after_kind(line, length, ": note: ")) {
      leads_in = false;
    } else if (belongs_to_the_next(line, length)) {
      leads_in = true;
    }
    if (open && !leads_in)
      open->length = (size_t)(line + length - open->at);
  }
}

// ---- one message ---------------------------------------------------------------------------------------------------------

// Without "{aka ...}", "[with ...]" and the option that made it an error.
static void put_words(FILE *to, const char *text, size_t length) {
  static const char *const dropped[] = {" {aka ", " [with ", " [-Werror"};
  char line[LINE_BYTES];
  size_t used = 0;
  for (size_t i = 0; i < length && text[i] != '\n' && used + 1 < sizeof line; i++) {
    for (size_t k = 0; k < sizeof dropped / sizeof dropped[0]; k++)
      if (strncmp(text + i, dropped[k], strlen(dropped[k])) == 0) {
        char end = dropped[k][1] == '{' ? '}' : ']';
        const char *stop = memchr(text + i, end, length - i);
        i = stop ? (size_t)(stop - text) + 1 : length;
        k = (size_t)-1; // another may follow
      }
    if (i < length && text[i] != '\n')
      line[used++] = text[i];
  }
  fprintf(to, "%.*s", (int)used, line);
}

// The name before "<<<" in the message's quoted line.
static bool launched(const Said *s, char *name, size_t bytes) {
  const char *at = memmem(s->at, s->length, "<<<", 3), *end;
  if (!at)
    return false;
  while (at > s->at && at[-1] == ' ')
    at--;
  for (end = at; at > s->at && (at[-1] == '_' || (at[-1] >= '0' && at[-1] <= '9') || (at[-1] | 32) >= 'a') &&
                 (unsigned char)at[-1] < 0x80;)
    at--;
  snprintf(name, bytes, "%.*s", (int)(end - at), at);
  return end > at;
}

// "no match for call to (cudasim::launcher<...": what is wrong with the arguments. False: it is something else.
static bool put_launch(FILE *to, const Said *s) {
  char name[128];
  int takes, given, argument;
  const char *count = memmem(s->at, s->length, "candidate expects ", 18);
  const char *type = memmem(s->at, s->length, "no known conversion for argument ", 33);
  if (!memmem(s->words, s->length - (size_t)(s->words - s->at), "cudasim::launch", 15) ||
      !launched(s, name, sizeof name))
    return false;
  if (count && sscanf(count, "candidate expects %d argument%*[s], %d provided", &takes, &given) == 2) {
    fprintf(to, "%s takes %d arguments, %d given", name, takes, given);
    return true;
  }
  if (count && sscanf(count, "candidate expects %d argument, %d provided", &takes, &given) == 2) {
    fprintf(to, "%s takes %d argument, %d given", name, takes, given);
    return true;
  }
  if (type && sscanf(type, "no known conversion for argument %d", &argument) == 1) {
    fprintf(to, "%s, argument %d: no conversion", name, argument);
    const char *from = strstr(type, " from ");
    if (from)
      put_words(to, from, diagnostics_line(from));
    return true;
  }
  return false;
}

// The remedy, where the library made a type for the compiler to trip over.
static const char *remedy(const Said *s) {
  const size_t length = diagnostics_line(s->words);
  if (memmem(s->words, length, "fy_options_are_written_with_their_names", 39))
    return "Options are written with their names: .device = device. A shape is one argument: fy_shape(3, 3).";
  return NULL;
}

// Of the lines after the first: what the compiler quotes of the learner's file, up to the first note.
static void put_quote(FILE *to, const Said *s, bool launch) {
  size_t length = diagnostics_line(s->at);
  for (const char *line = s->at + length; line < s->at + s->length && line[0] == ' '; line += length) {
    length = diagnostics_line(line);
    const char *bar = memchr(line, '|', length);
    if (bar &&
        (!launch || strspn(line, " ") < (size_t)(bar - line))) // carets under a launch stand under what became of it
      fprintf(to, "%.*s%s", (int)(length < LINE_BYTES ? length : LINE_BYTES), line, length < LINE_BYTES ? "" : "\n");
  }
}

// Notes that say something of the learner's call: what was expected, what was declared before.
static void put_notes(FILE *to, const Said *s) {
  static const char *const useful[] = {"expected ", "previous declaration", "declared here", "suggested alternative"};
  for (const char *line = s->at; line < s->at + s->length; line += diagnostics_line(line)) {
    const char *words = after_kind(line, diagnostics_line(line), ": note: ");
    for (size_t k = 0; words && k < sizeof useful / sizeof useful[0]; k++)
      if (strncmp(words, useful[k], strlen(useful[k])) == 0) {
        fprintf(to, "  ");
        put_words(to, words, diagnostics_line(words));
        fprintf(to, "\n");
        break;
      }
  }
}

static void put_message(FILE *to, const Said *s) {
  const char *place = s->at;
  for (const char *c = s->at; !s->own && c < s->words && *c != ':'; c++)
    place = *c == '/' ? c + 1 : place; // a header's folder says nothing
  size_t length = (size_t)(s->words - place);
  char call[LINE_BYTES + 160];
  FILE *words = fmemopen(call, sizeof call, "w");
  bool launch = words && put_launch(words, s);
  if (words)
    fclose(words);
  if (launch) { // its column is that of what the launch has become
    fprintf(to, "%.*s: error: %s", (int)(strcspn(place, ":") + 1 + strcspn(strchr(place, ':') + 1, ":")), place, call);
  } else {
    fprintf(to, "%.*s", (int)(length < LINE_BYTES ? length : LINE_BYTES), place);
    put_words(to, s->words, diagnostics_line(s->words));
  }
  fprintf(to, "\n");
  if (s->own)
    put_quote(to, s, launch);
  if (!launch)
    put_notes(to, s);
  if (remedy(s))
    fprintf(to, "  %s\n", remedy(s));
}

// ---- all of them -----------------------------------------------------------------------------------------------------------

// One mistake in one line makes several messages; the first says what it is.
static bool same_line(const Said *a, const Said *b) {
  size_t colons = 0, i = 0;
  for (; colons < 2 && a->at[i] && a->at[i] == b->at[i]; i++)
    colons += a->at[i] == ':';
  return colons == 2;
}

static bool follows_another(const Reading *r, int i) {
  for (int k = 0; k < i; k++)
    if (r->said[k].error && same_line(&r->said[k], &r->said[i]))
      return true;
  return false;
}

char *diagnostics_errors(const char *said, const char *title) {
  static Reading r; // large
  char *text = NULL;
  size_t bytes = 0;
  int shown = 0, left = 0;
  char *const in_cuda = diagnostics_in_cuda(said);
  r = (Reading){0};
  read_messages(&r, in_cuda, title);
  FILE *to = open_memstream(&text, &bytes);
  if (!to)
    fatal_error("no memory for the compiler's messages");
  for (int own = 1; own >= 0; own--)
    for (int i = 0; i < r.count; i++) {
      if (!r.said[i].error || r.said[i].own != own || follows_another(&r, i))
        continue;
      if (shown == MOST_SHOWN)
        left++;
      else
        put_message(to, &r.said[i]);
      shown += shown < MOST_SHOWN;
    }
  if (left > 0)
    fprintf(to, "and %d more, which may be consequences of these\n", left);
  if (shown == 0)
    fprintf(to, "%.*s", RAW_BYTES, in_cuda);
  fclose(to);
  free(in_cuda);
  return text;
}

// Which of two warnings is shown: a value that was never set is most often why an answer is wrong, what is not used hardly ever.
static int weight(const Said *s) {
  const size_t length = diagnostics_line(s->words);
  return memmem(s->words, length, "uninitialized", 13) ? 2 : memmem(s->words, length, "[-Wunused", 9) ? 0 : 1;
}

char *diagnostics_warning(const char *said, const char *title) {
  static Reading r;
  char *text = NULL;
  size_t bytes = 0;
  const Said *first = NULL;
  int count = 0;
  r = (Reading){0};
  read_messages(&r, said, title);
  for (int i = 0; i < r.count; i++) {
    if (!r.said[i].own || r.said[i].error)
      continue;
    if (count++ == 0 || weight(&r.said[i]) > weight(first))
      first = &r.said[i];
  }
  if (!first)
    return NULL;
  FILE *to = open_memstream(&text, &bytes);
  if (!to)
    fatal_error("no memory for the compiler's messages");
  put_message(to, first);
  if (count > 1)
    fprintf(to, "and %d more\n", count - 1);
  fclose(to);
  return text;
}
