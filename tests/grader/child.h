// SPDX-License-Identifier: MIT
// What the two halves of the child share: child.c, and what places arrays (buffers_tensor.c with the library, buffers_cuda.cu
// for kernels).
#ifndef GRADER_CHILD_H
#define GRADER_CHILD_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct Driver {
  Message request, reply;
  const char *test;
  Counts before;
  int counting;         // 1 while, 2 when ended
  bool failed;          // an error ended `drive`
  bool counted_later;   // `drive` is run once more behind this: nothing is counted yet
  struct Driver *first; // the call before this one, with inputs of its own; NULL: none
};
typedef struct Driver Driver;

// Reports that a driver and its check disagree (a name that was not given, too many items) and ends the child.
void child_bug(const char *what, const char *name) __attribute__((noreturn));
void child_error(Driver *d, const char *text); // an error that the answer raised
Item *child_add(Driver *d, char kind, const char *name);
Item *child_asked(Driver *d, char kind, const char *name);

// The ledger (wire.h). Counting and its record are one step: hold the lock over both.
void ledger_lock(void);
void ledger_unlock(void);
void ledger_write(uint32_t kind, uint64_t value); // with the lock held; nothing where counting has not begun
void ledger_add(uint32_t kind, uint64_t value);   // takes the lock

// The placing half.
void buffers_run(Driver *d);      // drive(d), errors caught and reported
void buffers_count_begin(void);   // peaks start again
void buffers_counts(Counts *now); // since the start

// With the library alone: what the answer has left switched, or open, and its event trace (event_trace.h).
__attribute__((weak)) void buffers_count_end(Driver *d);
void trace_begin(void);
void trace_end(Driver *d);
void trace_waited(void); // the host is about to wait

#ifdef __cplusplus
}
#endif

#endif
