// SPDX-License-Identifier: MIT
// The registers of a kernel's threads, from the file that FERRY_INSPECT_REGISTERS names: what ptxas -v printed. They limit how many
// blocks are resident on a modeled GPU.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/registers.h"

int registers_of(const char *mangled, const char *name) {
  const char *path = getenv("FERRY_INSPECT_REGISTERS");
  FILE *in = path ? fopen(path, "r") : NULL;
  char line[4096], function[2048] = "";
  int exact = 0, most = 0;
  while (in && fgets(line, sizeof line, in)) {
    const char *compiling = strstr(line, "entry function '"), *used = strstr(line, "Used ");
    if (compiling)
      snprintf(function, sizeof function, "%.*s", (int)strcspn(compiling + 16, "'"), compiling + 16);
    const int registers = used ? atoi(used + 5) : 0;
    if (registers > 0 && mangled && strcmp(function, mangled) == 0)
      exact = registers;
    if (registers > most && registers_have_name(function, name))
      most = registers;
  }
  if (in)
    fclose(in);
  return exact ? exact : most;
}
