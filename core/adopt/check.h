// SPDX-License-Identifier: MIT
// What the differential test (check.c) calls, and one call of it.
#ifndef FERRY_ADOPT_CHECK_H
#define FERRY_ADOPT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

enum { CHECK_SIZES = 3, CHECK_INPUTS = 3, CHECK_MOST_ELEMENTS = 300000 };

// `inputs` has the shape of each input, as letters: "mk kn" is a matrix of m x k elements and one of k x n. The sizes m, n, k are
// drawn from 1 to most[0], most[1], most[2]; 0: there is no such size.
typedef struct CheckKind {
  const char *op, *name, *names, *inputs; // names: of the inputs, a letter each
  int64_t most[CHECK_SIZES];
  bool odd;                      // NaN, infinities and large numbers occur, too
  int what;                      // which function is called: calls.c
  int64_t multiple[CHECK_SIZES]; // the sizes are drawn times this; 0: as they are
} CheckKind;

typedef struct CheckCall {
  const CheckKind *kind;
  int64_t size[CHECK_SIZES]; // before the multiplication
  uint64_t seed;             // of the values
  bool odd;
} CheckCall;

typedef struct CheckDifference {
  bool failed; // `got` is an error or a crash
  int64_t wrong, elements;
  char where[64], expected[64], got[600];
} CheckDifference;

extern const CheckKind check_kinds[];
extern const int check_kind_count;

int64_t check_elements(const CheckCall *c); // of all inputs and of the work that they make

// Computes the call on both devices. Whether the results differ.
bool check_run(const CheckCall *c, CheckDifference *d);

void check_print_inputs(const CheckCall *c); // a line: names, shapes, dtypes, and the values of few elements

#endif
