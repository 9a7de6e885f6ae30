// SPDX-License-Identifier: MIT
// Counting the integer instructions of a function: values.c has the values and what needs them, integers.c the instructions, machine_flow.c
// the control flow, in which order they are executed.
#ifndef INSPECT_INSTRUMENT_INTEGERS_H
#define INSPECT_INSTRUMENT_INTEGERS_H

#include "inspect/instrument/instrument.h"
#include "inspect/instrument/listing.h"
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 16, SLOTS = 4096, PLACES = REGISTERS + SLOTS, TERMS = 6, BUCKETS = 1 << 12 };
enum { RAX = 0, RCX, RDX, RBX, RSP, RBP, RSI, RDI, NO_REGISTER = -1 };

// Form 0 has no terms: the value is a constant. A negative form is unknown until it is read.
typedef struct Value {
  int form;
  int64_t constant;
} Value;

typedef struct Form {
  int terms;
  struct {
    int atom; // the form that consists of it
    int64_t times;
  } term[TERMS];
  int left, right; // the forms it is the sum of; right 0: a multiple of the left one
  int at;          // the instruction
  int next;        // in its bucket
  bool needed;
  int atom; // of a form of one atom: its number
} Form;

typedef struct Atom {
  char operation[12]; // "": from elsewhere
  Value operand[2];
  bool product, phi;
  Value *incoming; // of a phi
  int *incoming_at, incoming_count;
} Atom;

// A basic block of the machine code.
typedef struct Block {
  int first, end; // instructions
  int to[2];      // blocks; -1: none
  int order;      // in reverse postorder; -1: not reached
  int *from, from_count;
  Value *out; // of the places known by then, at its end
  int places;
} Block;

typedef struct Function {
  const Listing *l;
  int *integers;
  Form *forms;
  int form_count;
  Atom *atoms;
  int atom_count;
  int *buckets;
  Block *blocks;
  int block_count;
  int *rpo, rpo_count;
  int64_t slot[SLOTS]; // distances from the stack pointer
  int slots;
  Value *state;                 // of each place
  int *begin_places;            // of a loop's header: how many places were known at its beginning
  int now;                      // the instruction
  Value flags[2];               // what was compared last, or computed with flags
  bool flags_set, by_immediate; // by_immediate: compared with a constant
} Function;

// ---- values.c --------------------------------------------------------------------------------------------------------------

extern const char value_fixed[]; // an operation that costs nothing
Value value_atom(Function *f, Atom atom);
static inline Value value_constant(int64_t c) {
  return (Value){0, c};
}
static inline bool value_equals(Value a, Value b) {
  return a.form == b.form && a.constant == b.constant;
}
// An operation that is not linear: the same one of the same values has the same result. `product`: of two values.
Value value_operation(Function *f, const char *name, Value a, Value b, bool product);
// times * left + right
Value value_linear(Function *f, Value left, int64_t times, Value right);
bool value_is_phi(const Function *f, Value v);
// Adds the value that a phi has after instruction `at`.
void value_incoming(Function *f, int phi, Value v, int at);
// Something needs the value; `address`: with its constant for free.
void value_need(Function *f, Value v, bool address);
void values_begin(Function *f);
void values_end(Function *f);

// ---- integers.c ------------------------------------------------------------------------------------------------------------

// Executes an instruction on the state.
void integers_execute(Function *f, const Instruction *i);
// The place that an instruction writes: a register, or part of the stack; NO_REGISTER: none.
int integers_written(Function *f, const char *operands);
enum { CLOBBERED = 9 };
extern const int integers_clobbered[CLOBBERED]; // registers that a call may write

#endif
