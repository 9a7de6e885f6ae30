// SPDX-License-Identifier: MIT
// Reads the records of tests/golden/*.txt (make_golden.py describes them).
#ifndef FERRY_TESTS_GOLDEN_H
#define FERRY_TESTS_GOLDEN_H

#include "tensor/tensor.h"

enum { GOLDEN_INPUTS = 12, GOLDEN_OUTPUTS = 4 };

typedef struct GoldenTensor {
  bool present, grad;
  FyDType dtype; // FY_DEFAULT_DTYPE: the case's
  FySize shape;
  int64_t numel;
  double *values;
} GoldenTensor;

typedef struct GoldenCase {
  char op[32], id[48], args[160];
  char raises[320], error[32]; // the text and Python's class of the error that it raises; "": none
  FyDType dtype;               // FY_DEFAULT_DTYPE: every floating one
  int n_in, n_out;
  GoldenTensor in[GOLDEN_INPUTS], out[GOLDEN_OUTPUTS], grad_output, grad[GOLDEN_INPUTS];
} GoldenCase;

// Reads every case of a file of tests/golden; *count says how many. The program ends when the file is not there or
// malformed. The memory is freed by golden_free.
GoldenCase *golden_read(const char *name, int *count);
void golden_free(GoldenCase *cases, int count);

// key=value of a case: as a number, or the fallback.
double golden_number(const GoldenCase *c, const char *key, double fallback);
// key=1,2,-1 as a shape; raises nothing: a missing key ends the program.
FySize golden_shape(const GoldenCase *c, const char *key);
bool golden_has(const GoldenCase *c, const char *key, const char *value);

// A `tensor KEY DTYPE SHAPE : values` line of a training file, on the CPU, owned by the scope.
FyTensor *golden_tensor(const char *name, const char *key);

// The directory of the golden files.
const char *golden_directory(void);

#endif
