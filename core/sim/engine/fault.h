// SPDX-License-Identifier: MIT
// Memory faults: in a kernel they become an error of the device, on the host a message.
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>

void sim_fault_init(void);

// Gives the calling thread a stack for the signal handler, so that a kernel may overflow its own.
void sim_fault_prepare_thread(void);

// A kernel's integer division by zero; `context` is a signal handler's third argument.
_Noreturn void sim_divided(const void *context);

// An access through a pointer that is not aligned as its type needs (a power of two). A GPU ends the kernel there, most
// processors do not. Does nothing on the host.
void sim_misaligned(const void *address, unsigned int alignment, bool writes);

#endif
