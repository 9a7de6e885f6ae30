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

// Its first line stands in what was shown already: the arguments of a launch are compiled twice.
static bool repeats(const char *all, const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t next = diagnostics_line(text + i);
    if (begins_message(text + i, next)) {
      char line[1024];
      snprintf(line, sizeof line, "\n%.*s", (int)next, text + i);
      const char *first = strstr(all, line);
      return first && first + 1 < text + i;
    }
    i += next;
  }
  return false;
}

static bool speaks_of(const char *text, size_t length, const char *word) {
  const char *at = strstr(text, word);
  return at && at < text + length;
}

// Source lines that g++ quotes show the converted text of a launch: not what stands in the file.
static void show(const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t next = diagnostics_line(text + i);
    if (!speaks_of(text + i, next, "cudasim_") && !speaks_of(text + i, next, "cudasim::"))
      fwrite(text + i, 1, next, stderr);
    i += next;
  }
}

void nvcc_show_messages(const char *path) {
  char *text = file_read(path, NULL);
  bool shown = false;
  for (int turn = 0; text && turn < 2 && !shown; turn++)
    for (size_t i = 0; text[i];) {
      size_t length = message_length(text + i);
      bool ours = speaks_of(text + i, length, "cudasim");
      if (turn == 1)
        fwrite(text + i, 1, length, stderr);
      else if (!ours && !repeats(text, text + i, length)) {
        show(text + i, length);
        shown |= speaks_of(text + i, length, "error: ");
      }
      i += length;
    }
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
