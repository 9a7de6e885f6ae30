// SPDX-License-Identifier: MIT
// The registers of a kernel's threads (registers.c).
#ifndef INSPECT_REGISTERS_H
#define INSPECT_REGISTERS_H

// Of the kernel with this mangled name; where that is NULL or unknown, the maximum over kernels named like the launch `name`. 0: unknown.
int registers_of(const char *mangled, const char *name);

#endif
