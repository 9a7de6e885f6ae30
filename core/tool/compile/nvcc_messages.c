// SPDX-License-Identifier: MIT
// g++'s messages as a reader of the source wants them. A launch that is wrong is told twice: of the call that the user wrote, and
// of what the simulator makes of it. The second is left out, unless it is all there is.
#include "tool/compile/nvcc.h"
#include "tool/compile/files.h"
#include "tool/compile/diagnostics.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins_message(const char *line, size_t length) {
  static const char *const kinds[] = {": error: ", ": fatal error: ", ": warning: "};
  if (line[0] == ' ')
    return false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const char *at = strstr(line, kinds[k]);
    if (at && at < line + length)
      return true;
  }
  return false;
}

// "In file included from", "In function", "required from": they come before the message that they belong to.
static bool leads_in(const char *line, size_t length) {
  static const char *const words[] = {"In file included from ", "                 from ", ": In ", ":   required ",
                                      ": At "};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    const char *at = strstr(line, words[k]);
    if (at && at < line + length)
      return true;
  }
  return false;
}

// The length of the message at `text`: what leads in, the line itself, its notes.
static size_t message_length(const char *text) {
  size_t length = 0;
  bool begun = false;
  while (text[length]) {
    const char *line = text + length;
    size_t next = diagnostics_line(line);
    bool begins = begins_message(line, next);
    if (begun && (begins || leads_in(line, next)))
      break;
    begun |= begins;
    length += next;
  }
  return length;
}

static bool speaks_of(const char *text, size_t length, const char *word) {
  return memmem(text, length, word, strlen(word)) != NULL;
}

// The first line of a message: "file:12:3: error: ...".
static const char *first_line(const char *text, size_t length) {
  size_t i = 0;
  while (i < length && !begins_message(text + i, diagnostics_line(text + i)))
    i += diagnostics_line(text + i);
  return i < length ? text + i : text;
}

// Of "file:12:3: " the bytes before the column's colon.
static size_t place_length(const char *line) {
  const char *colon = strchr(line, ':');
  return colon ? (size_t)(colon - line) + 1 + strcspn(colon + 1, ":\n") : 0;
}

// An error was shown of the same line: what comes next in it is mostly a consequence. The arguments of a launch are compiled twice.
static bool follows(const char *all, const char *text, size_t length) {
  const char *line = first_line(text, length);
  const size_t place = place_length(line);
  for (const char *at = all; at < text; at += diagnostics_line(at))
    if (begins_message(at, diagnostics_line(at)) && strncmp(at, line, place + 1) == 0 &&
        !speaks_of(at, diagnostics_line(at), "warning: "))
      return true;
  return false;
}

static bool is_foreign(const char *line, size_t length) {
  static const char *const places[] = {"core/sim/include/", "<command-line>", "cudasim launch:"};
  for (size_t k = 0; k < sizeof places / sizeof *places; k++)
    if (speaks_of(line, length, places[k]))
      return true;
  return strncmp(line, "/usr/", 5) == 0;
}

// Without lines that only say in which function it is, and without notes on headers that the reader did not write; what such a
// note says of an argument is kept. Source lines that g++ quotes show the converted text of a launch: not what stands in the file.
static void show(const char *text, size_t length) {
  bool hidden = false;
  for (size_t i = 0; i < length;) {
    const char *line = text + i;
    const size_t next = diagnostics_line(line);
    const bool begins = begins_message(line, next);
    if (line[0] != ' ') {
      hidden = !begins && (is_foreign(line, next) || speaks_of(line, next, ": In "));
      const char *argument = memmem(line, next, "initializing argument", 21);
      if (hidden && argument)
        fprintf(stderr, "  note: %.*s", (int)(next - (size_t)(argument - line)), argument);
    }
    if (!hidden && !speaks_of(line, next, "cudasim_") && !speaks_of(line, next, "cudasim::"))
      fwrite(line, 1, next, stderr);
    i += next;
  }
}

// "no matching function for call to launch_call(...)": a value of the configuration, of which the compiler's note names the place.
static bool show_configuration(const char *text, size_t length) {
  static const char cannot[] = ": note:   cannot convert ";
  const char *note = memmem(text, length, cannot, sizeof cannot - 1), *line = note;
  if (!note || !speaks_of(text, length, "launch"))
    return false;
  while (line > text && line[-1] != '\n')
    line--;
  fprintf(stderr, "%.*s: error: ", (int)(note - line), line);
  size_t i = (size_t)(note - text) + strlen(": note:   ");
  do {
    fwrite(text + i, 1, diagnostics_line(text + i), stderr);
    i += diagnostics_line(text + i);
  } while (i < length && text[i] == ' ');
  return true;
}

// What a header of the simulator asserts: told of the reader's line, which needs what CUDA does not have.
static bool show_assertion(const char *text, size_t length) {
  static const char failed[] = ": error: static assertion failed: ", here[] = ":   required from here";
  const char *assertion = memmem(text, length, failed, sizeof failed - 1), *place = NULL;
  for (size_t i = 0; assertion && text + i < assertion; i += diagnostics_line(text + i))
    if (speaks_of(text + i, diagnostics_line(text + i), here))
      place = text + i;
  if (!place || !speaks_of(text, (size_t)(assertion - text), "core/sim/include/"))
    return false;
  const char *message = assertion + sizeof failed - 1;
  fprintf(stderr, "%.*s: error: %.*s", (int)(strstr(place, here) - place), place, (int)diagnostics_line(message),
          message);
  return true;
}

// Those of the reader's text, and, in a second turn, if there are none, those of what became of it. With errors, no warnings.
static void show_all(const char *text) {
  const bool failed = strstr(text, "error: ") != NULL;
  bool shown = false;
  for (int turn = 0; turn < 2 && !shown; turn++)
    for (size_t i = 0; text[i];) {
      const size_t length = message_length(text + i);
      const bool asserted = turn == 0 && show_assertion(text + i, length);
      const bool ours = asserted || speaks_of(text + i, length, "cudasim"),
                 error = speaks_of(text + i, length, "error: ");
      if (turn == 1 && error && !shown && !show_configuration(text + i, strlen(text + i)))
        fwrite(text + i, 1, length, stderr);
      else if (turn == 0 && !ours && (error || !failed) && !follows(text, text + i, length))
        show(text + i, length);
      shown |= error && (turn == 1 || asserted || !ours);
      i += length;
    }
}

void nvcc_show_messages(const char *path) {
  char *text = file_read(path, NULL);
  char *in_cuda = text ? diagnostics_in_cuda(text) : NULL;
  if (in_cuda)
    show_all(in_cuda);
  free(in_cuda);
  free(text);
}

void nvcc_keep_errors(const char *path, const char **argv) {
  char *text = file_read(path, NULL);
  const bool marked = text && strstr(text, "#pragma GCC diagnostic error \"-Wdeprecated-declarations\"");
  free(text);
  for (; marked && *argv; argv++)
    if (strcmp(*argv, "-w") == 0)
      *argv = "-Wno-attributes";
}
