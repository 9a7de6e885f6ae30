// SPDX-License-Identifier: MIT
// How near the guesses were: a row for each first guess, oldest first, on a logarithmic axis of guess / truth.
#include "tool/predict/predict.h"
#include "tool/commands.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HALF = 20, MOST_ROWS = 40, WINDOW = 5 };

// The column of a ratio: 0 at 1/100, HALF at 1, 2 * HALF at 100. Beyond, the edge.
static int column_of(const Guess *g) {
  const double factor = guess_factor(g), side = g->guess < g->truth ? -1 : 1;
  const double off = isfinite(factor) ? rint(side * HALF * log10(factor) / 2) : side * HALF;
  return HALF + (int)(off < -HALF ? -HALF : off > HALF ? HALF : off);
}

static void print_row(const Guess *g) {
  char day[16] = "-", row[2 * HALF + 2], guess[64], truth[64], words[64];
  const time_t then = (time_t)g->when;
  struct tm local;
  if (localtime_r(&then, &local))
    strftime(day, sizeof day, "%Y-%m-%d", &local);
  memset(row, ' ', sizeof row - 1);
  row[sizeof row - 1] = '\0';
  row[HALF] = '|';
  row[column_of(g)] = g->guess < g->truth && column_of(g) == 0          ? '<'
                      : g->guess > g->truth && column_of(g) == 2 * HALF ? '>'
                                                                        : 'o';
  number_words(g->guess, guess, sizeof guess);
  number_words(g->truth, truth, sizeof truth);
  guess_distance(g, words, sizeof words);
  printf("  %-5s %s  %s  %s\n", g->id, day, row, words);
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_factor(const Guess *const *guesses, int count) {
  double factors[WINDOW];
  for (int i = 0; i < count; i++)
    factors[i] = guess_factor(guesses[i]);
  qsort(factors, (size_t)count, sizeof factors[0], by_value);
  return count % 2 ? factors[count / 2] : sqrt(factors[count / 2 - 1]) * sqrt(factors[count / 2]);
}

void chart_print(const Guess *guesses, int count) {
  static const Guess *first[MOST_GUESSES];
  int firsts = 0;
  for (int i = 0; i < count; i++)
    if (guesses[i].number == 1)
      first[firsts++] = &guesses[i];
  if (firsts == 0) {
    printf("There are no guesses yet. Begin with ./ferry predict\n");
    return;
  }
  printf("Your guesses, guess / measured, oldest first; only the first guess at a question counts\n\n");
  printf("  %-5s %-10s  %-*s%-*s%-*s%-*s%s\n", "", "", HALF / 2, "1/100", HALF / 2, "1/10", HALF / 2, "1", HALF / 2,
         "10", "100");
  if (firsts > MOST_ROWS)
    printf("  (%d older ones are left out)\n", firsts - MOST_ROWS);
  for (int i = firsts > MOST_ROWS ? firsts - MOST_ROWS : 0; i < firsts; i++)
    print_row(first[i]);
  if (firsts >= 2 * WINDOW)
    printf("\nTypical factor between guess and measurement (median): x%.2g for the first %d, x%.2g for the last %d.\n",
           median_factor(first, WINDOW), WINDOW, median_factor(first + firsts - WINDOW, WINDOW), WINDOW);
  else
    printf("\nAfter %d guesses, a line here compares the first %d with the last %d.\n", 2 * WINDOW, WINDOW, WINDOW);
}
