// SPDX-License-Identifier: MIT
// Lines broken between words, and words that are near to one another.
#include "tool/print/term.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int term_width(void) {
  struct winsize size;
  const char *columns = getenv("COLUMNS");
  int width = 80;
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    width = size.ws_col;
  else if (columns && atoi(columns) > 0)
    width = atoi(columns);
  return width < 40 ? 40 : width > 100 ? 100 : width;
}

static bool takes_a_column(char c) {
  return ((unsigned char)c & 0xC0) != 0x80 && (unsigned char)c >= ' ';
}

int term_columns(const char *text, size_t bytes) {
  int columns = 0;
  for (size_t i = 0; i < bytes && text[i]; i++)
    columns += takes_a_column(text[i]);
  return columns;
}

size_t term_fitting(const char *text, size_t limit, int room) {
  size_t best = 0;
  int columns = 0;
  for (size_t i = 0; i <= limit; i++) {
    if ((i == limit || text[i] == ' ') && i > 0 && (columns <= room || best == 0))
      best = i;
    if (columns > room && best > 0)
      break;
    if (i < limit)
      columns += takes_a_column(text[i]);
  }
  return best;
}

// Words of `text` from column `at` on; lines after the first begin at column `hang`.
static void flow(FILE *to, const char *text, size_t length, int at, int hang) {
  int width = term_width();
  if (hang > width - 20)
    hang = 4;
  while (length > 0) {
    size_t bytes = term_fitting(text, length, width - at);
    // One word that is wider than a line, a ruler for example, is cut, but for a path or an address, which somebody will copy.
    for (bool path = memchr(text, '/', bytes); !path && bytes > 1 && term_columns(text, bytes) > width - at;)
      bytes--;
    fprintf(to, "%.*s\n", (int)bytes, text);
    text += bytes;
    length -= bytes;
    while (length > 0 && *text == ' ') {
      text++;
      length--;
    }
    if (length > 0)
      fprintf(to, "%*s", hang, "");
    at = hang;
  }
}

// Where a line's second column begins: after the first two blanks that follow something. 0: it has none.
static size_t second_column(const char *line, size_t length, size_t begin) {
  for (size_t i = begin; i + 2 < length; i++)
    if (line[i] == ' ' && line[i + 1] == ' ') {
      while (i < length && line[i] == ' ')
        i++;
      return i;
    }
  return 0;
}

void term_wrap(FILE *to, const char *text, int hang) {
  while (*text) {
    size_t length = strcspn(text, "\n"), begin = strspn(text, " ");
    if (begin > length)
      begin = length;
    size_t second = second_column(text, length, begin);
    if (term_columns(text, length) <= term_width()) {
      fprintf(to, "%.*s\n", (int)length, text);
    } else {
      size_t words = second && (int)second < term_width() / 2 ? second : begin;
      fprintf(to, "%.*s", (int)words, text);
      flow(to, text + words, length - words, (int)words, (int)words + (words == begin ? hang : 0));
    }
    text += length + (text[length] == '\n');
  }
}

void term_paragraph(FILE *to, const char *first, int columns, const char *text) {
  fputs(first, to);
  flow(to, text, strlen(text), columns, columns);
}

void term_command(FILE *to, const char *label, const char *command) {
  const char *option = strstr(command, " --");
  const int indent = (int)strspn(label, " ");
  if (option && term_columns(label, strlen(label)) + term_columns(command, strlen(command)) > term_width())
    fprintf(to, "%s%.*s \\\n%*s%s\n", label, (int)(option - command), command, indent + 2, "", option + 1);
  else
    fprintf(to, "%s%s\n", label, command);
}

// How many letters have to be added, left out, changed or exchanged with the next one.
static int distance(const char *a, const char *b) {
  enum { MOST = 40 };
  static int cost[MOST + 1][MOST + 1];
  int m = (int)strnlen(a, MOST), n = (int)strnlen(b, MOST);
  for (int i = 0; i <= m; i++)
    for (int j = 0; j <= n; j++) {
      int least = i == 0 ? j : j == 0 ? i : cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (i > 0 && cost[i - 1][j] + 1 < least)
        least = cost[i - 1][j] + 1;
      if (j > 0 && cost[i][j - 1] + 1 < least)
        least = cost[i][j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && cost[i - 2][j - 2] + 1 < least)
        least = cost[i - 2][j - 2] + 1;
      cost[i][j] = least;
    }
  return cost[m][n];
}

const char *term_meant(const char *word, const char *(*name)(int i), int count) {
  const char *best = NULL;
  size_t length = strlen(word);
  int least = length <= 3 ? 1 : length <= 6 ? 2 : 3;
  for (int i = 0; i < count; i++) {
    const char *one = name(i);
    if (!one)
      continue;
    int cost = distance(word, one);
    if (length >= 3 && strncmp(one, word, length) == 0 && cost > 1)
      cost = 1; // the beginning of it
    if (cost < least + !best) {
      least = cost;
      best = one;
    }
  }
  return best;
}
