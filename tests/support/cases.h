// SPDX-License-Identifier: MIT
// How each case of the golden files is computed with Ferry's public functions.
#ifndef FERRY_TESTS_CASES_H
#define FERRY_TESTS_CASES_H

#include "golden.h"

typedef struct CaseAdapter {
  const char *op; // as in the golden files
  // Computes the case from its inputs into out (at most GOLDEN_OUTPUTS), returns how many.
  int (*run)(const GoldenCase *c, FyTensor *const *in, FyTensor **out);
  // The in-place form, changing and returning in[0]; NULL when there is none.
  FyTensor *(*in_place)(const GoldenCase *c, FyTensor *const *in);
} CaseAdapter;

extern const CaseAdapter case_adapters[];
extern const int case_adapter_count;

const CaseAdapter *case_adapter(const char *op); // NULL when there is none

#endif
