// SPDX-License-Identifier: MIT
#include "tool/print/usage.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int usage_error(const char *command, const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "ferry %s: ", command);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n(see ./ferry %s --help)\n", command);
  return EXIT_USAGE;
}

void fatal_error(const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "ferry: grader error: ");
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n");
  exit(EXIT_GRADER);
}
