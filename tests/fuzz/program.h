// SPDX-License-Identifier: MIT
// The line language of random programs, and the machine that runs them. README.md says what a program looks like.
#ifndef FERRY_TESTS_FUZZ_PROGRAM_H
#define FERRY_TESTS_FUZZ_PROGRAM_H

#include "ferry.h"

enum { MAX_ARGUMENTS = 12, MAX_RESULTS = 16, MAX_TENSORS = 512, MAX_OBJECTS = 32, MAX_STREAMS = 8, MAX_DEVICES = 4 };

typedef struct Argument {
  const char *name, *value;
} Argument;

// One line: `t3 t4 = max_dim a=t1 dim=0 keepdim=1`. `values` is what stands behind ` : `.
typedef struct Statement {
  char *text; // owned; the others point into it
  const char *name, *values;
  const char *outputs[MAX_RESULTS];
  Argument arguments[MAX_ARGUMENTS];
  int n_outputs, n_arguments;
  // What running it left.
  FyTensor *results[MAX_RESULTS];
  void *object;
  int n_results;
  // Room for a list of tensors among the arguments.
  FyTensor *items[MAX_RESULTS];
} Statement;

typedef struct Hook {
  int calls;
  FyTensor *seen[2]; // copies of the last two gradients, counted
  double scale;      // 0 when it only looks on
} Hook;

typedef struct Guard {
  enum { GRAD_GUARD, STREAM_GUARD } kind;
  FyGradGuard grad;
  FyStreamGuard stream;
} Guard;

// What a program has made so far.
typedef struct Machine {
  FyDevice device; // what `dev` stands for
  FyTensor *tensors[MAX_TENSORS];
  FyModule *modules[MAX_OBJECTS];
  FyOptimizer *optimizers[MAX_OBJECTS];
  FyStream *streams[MAX_DEVICES][MAX_STREAMS];
  Hook *hooks[MAX_OBJECTS];
  int n_hooks;
  FyTensor *given[MAX_OBJECTS]; // whose .grad the program set or took hold of, counted
  int n_given;
  Guard guards[MAX_OBJECTS];
  int n_guards;
} Machine;

extern Machine machine;

// Splits a line; returns false when it is malformed.
bool parse_statement(Statement *s, const char *line);
void free_statement(Statement *s);

const char *argument(const Statement *s, const char *name); // NULL when it is not given
FyDevice device_named(const char *name);
FyDType dtype_named(const char *name);
const char *device_text(FyDevice device); // "dev" for the machine's
int slot_of(const char *name);            // 12 of "t12", -1 for anything else

// Runs the statement and writes what came of it to `out`: nothing, `skip N`, or `raise N KIND TEXT`; then a line for each
// tensor it made. N is its index in the program.
void run_statement(Statement *s, int index, FILE *out);

// Every tensor, gradient and hook that the program has left, as lines.
void report(FILE *out);

// Back to an empty machine, before its scope closes.
void clear_machine(void);

// Compares a line that came out with a recorded one: equal but for the rounding of numbers.
bool same_line(const char *got, const char *want);

#endif
