// SPDX-License-Identifier: MIT
// Where a program crashed: functions, files and lines, on stderr. What tells it may be called by a signal handler: it allocates
// nothing, takes no lock and does without stdio.
#ifndef SIM_CRASH_H
#define SIM_CRASH_H

// Says where a program that ends by SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT was, in a kernel also which thread of
// the grid. A handler that is there stays. Any thread; once.
void sim_crash_init(void);

// After a fault at `pc`: the call stack with its lines, and the innermost one's text. NULL: from the caller on.
void sim_crash_tell_stack(const void *pc);
// The line of `pc` and its text, and nothing of its callers.
void sim_crash_tell_line(const void *pc);
// Where the processor was, from a handler's third argument; NULL: it does not say.
const void *sim_crash_pc(const void *context);

// From now on addresses instead of lines, one row of SIM_CRASH_ADDRESSES and numbers: another process looks up their lines.
void sim_crash_tell_addresses(void);
#define SIM_CRASH_ADDRESSES "  at program +0x"

#endif
