// SPDX-License-Identifier: MIT
// A test that starts itself as several ranks: without arguments it is the test, with `--rank CASE` one rank of a case.
#ifndef FERRY_TESTS_DISTRIBUTED_RANKS_H
#define FERRY_TESTS_DISTRIBUTED_RANKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct RankCase {
  const char *name;
  void (*body)(void); // in each rank; exits with another status than 0, or by a signal, where something is wrong
} RankCase;

// To be called first in main: runs the case that the arguments name and ends the program; returns for the test itself.
void run_rank(int argc, char **argv, const RankCase *cases, int count);

// Why ranks cannot be started here, NULL when they can.
const char *cannot_start_ranks(void);

// The case in n processes, by mpirun, with `environment` ("NAME=VALUE ...", may be "") added; returns the exit status.
// With `go_on` mpirun lets the others go on when one fails. After `seconds` all are ended, and the status is 124.
int start_ranks(int n, const char *name, const char *environment, bool go_on, int seconds);
extern char ranks_said[1 << 17]; // standard output and error of all
extern double ranks_took;        // seconds

// Fails the test, with what was said, unless it ends well, or unless the text was said.
void expect_ranks(int n, const char *name, const char *environment);
void expect_said(const char *text);

// In a rank: ends it, with the place, unless the condition holds.
#define must(condition) must_be((condition), #condition, __FILE__, __LINE__)
void must_be(bool condition, const char *text, const char *file, int line);

// The same numbers in every rank and run.
uint32_t mix(uint32_t a, uint32_t b);

#define needs_ranks()                                                                                                  \
  do {                                                                                                                 \
    if (cannot_start_ranks()) {                                                                                        \
      print_message("%s\n", cannot_start_ranks());                                                                     \
      skip();                                                                                                          \
    }                                                                                                                  \
  } while (0)

#endif
