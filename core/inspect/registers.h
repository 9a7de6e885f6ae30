// SPDX-License-Identifier: MIT
// The registers of a kernel's threads (registers.c).
#ifndef INSPECT_REGISTERS_H
#define INSPECT_REGISTERS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// In a mangled name, a kernel's name follows its length. The name of a template's launch stands for all its instances.
static inline bool registers_have_name(const char *mangled, const char *launch) {
  char wanted[256];
  const int length = (int)strcspn(launch, "<");
  snprintf(wanted, sizeof wanted, "%d%.*s", length, length, launch);
  return strstr(mangled, wanted) != NULL;
}

// Of the kernel with this mangled name; where that is NULL or unknown, the maximum over kernels named like the launch `name`. 0: unknown.
int registers_of(const char *mangled, const char *name);

#endif
