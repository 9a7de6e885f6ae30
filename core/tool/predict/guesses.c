// SPDX-License-Identifier: MIT
// The learner's guesses: work/.predictions, a line for each, oldest first. A guess is only added, never changed.
//
//   22.2 try=1 when=1763812345 guess=16 truth=8
#include "tool/predict/predict.h"
#include "tool/commands.h"
#include "tool/print/text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PREDICTIONS ".predictions"

// ---- numbers -------------------------------------------------------------------------------------------------------------------

// Without the commas of 1,000,000, blanks at both ends and a % or x.
static bool plain_number(const char *text, char *plain, size_t bytes) {
  size_t used = 0;
  for (const char *at = text + strspn(text, " \t"); *at; at++) {
    const bool groups =
        *at == ',' && used > 0 && isdigit((unsigned char)plain[used - 1]) && strspn(at + 1, "0123456789") == 3;
    if (groups)
      continue;
    if (used + 1 == bytes)
      return false;
    plain[used++] = *at;
  }
  while (used > 0 && strchr(" \t\r\n%", plain[used - 1]))
    used--;
  plain[used] = '\0';
  return used > 0;
}

static bool part(const char **at, double *number) {
  char *end;
  *at += strspn(*at, " ");
  const char *digits = *at + strspn(*at, "+-");
  if (!isdigit((unsigned char)*digits) && *digits != '.')
    return false; // strtod takes "nan" and "inf"
  if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
    return false;
  *number = strtod(*at, &end);
  const bool some = end > *at;
  *at = end + strspn(end, " ");
  return some;
}

bool guess_parse(const char *text, double *number) {
  char plain[64];
  const char *at = plain;
  double second;
  if (!plain_number(text, plain, sizeof plain) || !part(&at, number))
    return false;
  const char sign = *at;
  if (sign == '/' || sign == '^') {
    at++;
    if (!part(&at, &second))
      return false;
    *number = sign == '/' ? *number / second : pow(*number, second);
  }
  return *at == '\0' && isfinite(*number);
}

const char *guess_problem(const Question *q, const char *text, double *number) {
  static char problem[256];
  char most[64];
  text += strspn(text, " \t");
  if (!guess_parse(text, number)) {
    snprintf(problem, sizeof problem, "\"%.40s\" is not a number. Enter one such as 1000, 12 %%, 4/3 or 2^10.", text);
    return problem;
  }
  if (*number < 0)
    return "a count, a share or a ratio is never negative. Enter a number from 0.";
  const double limit = q->most > 0 ? q->most : MOST_GUESS;
  if (*number <= limit)
    return NULL;
  number_words(limit, most, sizeof most);
  snprintf(problem, sizeof problem, "%s is more than is possible here. The most is %s, in %s.", text, most, q->unit);
  return problem;
}

void number_words(double number, char *words, size_t bytes) {
  char digits[64];
  snprintf(digits, sizeof digits, fabs(number) >= 1000 && number == rint(number) ? "%.0f" : "%.4g", number);
  size_t whole = strspn(digits, "-0123456789"), used = 0;
  for (size_t i = 0; digits[i] && used + 2 < bytes; i++) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0 && digits[i - 1] != '-' && !strchr(digits, 'e'))
      words[used++] = ',';
    words[used++] = digits[i];
  }
  words[used] = '\0';
}

double guess_factor(const Guess *g) {
  if (g->guess == g->truth)
    return 1;
  return g->guess > g->truth ? g->guess / g->truth : g->truth / g->guess;
}

void guess_distance(const Guess *g, char *words, size_t bytes) {
  const char *side = g->guess > g->truth ? "high" : "low";
  const double factor = guess_factor(g), percent = 100 * fabs(g->guess / g->truth - 1);
  if (g->guess == g->truth)
    snprintf(words, bytes, "exactly right");
  else if (!isfinite(factor))
    snprintf(words, bytes, "too %s by %.4g", side, fabs(g->guess - g->truth));
  else if (factor >= 2)
    snprintf(words, bytes, "%.2g times too %s", factor < 100 ? factor : rint(factor), side);
  else if (percent < 1)
    snprintf(words, bytes, "right to 1 %%");
  else
    snprintf(words, bytes, "%.0f %% too %s", percent, side);
}

// ---- the file ----------------------------------------------------------------------------------------------------------------

static bool read_line(const char *line, Guess *g) {
  char rest[2];
  *g = (Guess){0};
  return sscanf(line, "%15s try=%d when=%lld guess=%lf truth=%lf%1[^\n]", g->id, &g->number, &g->when, &g->guess,
                &g->truth, rest) == 5 &&
         g->number > 0 && g->guess >= 0 && isfinite(g->guess) && isfinite(g->truth);
}

static int read_file(Guess *guesses, bool *damaged) {
  char *text = work_read(PREDICTIONS, damaged), *rest = text;
  int count = 0;
  for (char *line; rest && (line = strsep(&rest, "\n"));) {
    if (!*line && !rest)
      break;
    const bool is_one = count < MOST_GUESSES && read_line(line, &guesses[count]);
    *damaged |= !is_one;
    count += is_one;
  }
  free(text);
  return count;
}

int guesses_read(Guess guesses[MOST_GUESSES]) {
  bool damaged;
  char path[4096];
  const int count = read_file(guesses, &damaged);
  work_path(path, sizeof path, PREDICTIONS);
  if (damaged)
    fprintf(stderr,
            "ferry: %s is damaged; %d guesses could be read. The next guess keeps the damaged file beside a new one.\n",
            path, count);
  return count;
}

static bool write_file(const Guess *guesses, int count) {
  char path[4096];
  Text text = {0};
  for (const Guess *g = guesses; g < guesses + count; g++)
    text_add(&text, "%s try=%d when=%lld guess=%.17g truth=%.17g\n", g->id, g->number, g->when, g->guess, g->truth);
  work_path(path, sizeof path, PREDICTIONS);
  const bool written = file_write(path, text.at, text.used);
  if (!written)
    fprintf(stderr, "ferry predict: your guess could not be written to %s: %s\n", path, file_problem());
  text_free(&text);
  return written;
}

bool guess_add(Guess *new) {
  static Guess guesses[MOST_GUESSES + 1];
  bool damaged;
  const int lock = work_lock(), count = read_file(guesses, &damaged);
  new->number = 1;
  for (int i = 0; i < count; i++)
    if (strcmp(guesses[i].id, new->id) == 0 && guesses[i].number >= new->number)
      new->number = guesses[i].number + 1;
  if (damaged)
    work_set_aside(PREDICTIONS);
  guesses[count] = *new;
  bool written = count < MOST_GUESSES && write_file(guesses, count + 1);
  if (count == MOST_GUESSES)
    fprintf(stderr, "ferry predict: there are %d guesses, and no more can be kept. Start again: --reset\n", count);
  work_unlock(lock);
  return written;
}

bool guesses_reset(char *kept, size_t bytes) {
  char path[4096], stamp[32];
  const time_t now = time(NULL);
  struct tm local;
  work_path(path, sizeof path, PREDICTIONS);
  *kept = '\0';
  if (access(path, F_OK) != 0)
    return true;
  strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
  snprintf(kept, bytes, "%s.%s", path, stamp);
  const int lock = work_lock();
  for (int n = 2; access(kept, F_OK) == 0 && n < 100; n++)
    snprintf(kept, bytes, "%s.%s.%d", path, stamp, n);
  const bool renamed = rename(path, kept) == 0;
  work_unlock(lock);
  if (!renamed)
    perror(path);
  return renamed;
}
