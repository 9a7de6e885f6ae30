// SPDX-License-Identifier: MIT
// The machine code of an instrumented program, as objdump lists it, and what a GPU would execute of it (mix.c, integers.c).
#ifndef INSPECT_INSTRUMENT_LISTING_H
#define INSPECT_INSTRUMENT_LISTING_H

#include <stdbool.h>
#include <stdint.h>

typedef enum Step {
  STEP_NOTHING,
  STEP_BLOCK,    // the call at the beginning of a basic block
  STEP_ADDRESS,  // loads the address of a following instruction, as an inlined block event begins
  STEP_STORED,   // and stores a register, as it ends
  STEP_HANDLER,  // the call of a failed bounds check
  STEP_ACCESS,   // the call at an access to memory, whose address is in rdi
  STEP_SYNC,     // a call that a GPU does not make conditional: of a barrier, or of a function that is not inlined
  STEP_FUNCTION, // no instruction: a function begins here
  STEP_END,      // a jump or return: control does not go on to the next instruction
  STEP_RETURN,
  STEP_BRANCH,
  STEP_ADD,
  STEP_MULTIPLY,
  STEP_FP32,
  STEP_FMA,
  STEP_ADD64,
  STEP_MULTIPLY64,
  STEP_FP64,
  STEP_SPECIAL,
  STEP_QUOTIENT, // a division of float32
  STEP_SHUFFLE,
  STEP_DIVISION,
  STEPS
} Step;

typedef struct Instruction {
  uint64_t at, to; // to: the target of a branch
  Step step;
  char name[12];
  const char *operands;
} Instruction;

typedef struct Listing {
  Instruction *list;
  int count;
} Listing;

// The first instruction at or after this address.
int listing_find(const Listing *l, uint64_t at);
// Whether a branch to this address is the failure of a bounds check, which is not in the source.
bool listing_is_handler(const Listing *l, uint64_t at);

// Counts the integer instructions of the function from `first` to `end`: adds those of instruction n to `integers`[n], of which the
// caller sums up each basic block.
void integers_count(const Listing *l, int first, int end, int *integers);

#endif
